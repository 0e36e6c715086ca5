"""to-script: the notebook as a Python file in jupytext's percent format. Pure; the notebook stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_agent.notebook.document import Cell
from jupyter_agent.notebook.flow_known import OTHER_LANGUAGE_MAGICS
from jupyter_agent.notebook.flow_source import to_python
from jupyter_agent.refactor.common import Params
from jupyter_agent.refactor.plan import Context, FileWrite, Plan, make_plan, refused


def to_script(cells: Sequence[Cell], params: Params, context: Context) -> Plan:
    """Write `path` (the notebook's name with `.py`) as jupytext's percent script; magics become comments."""
    if context.language != "python":
        raise refused(f"to-script writes Python scripts, and this notebook is in {context.language}.")
    path = script_path(params.get("path") or context.name.rsplit(".", 1)[0] + ".py", context)
    parts = [_header(context.metadata), *(_cell(cell) for cell in cells)]
    content = "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
    return make_plan(cells, cells, files=[FileWrite(path, content)], notes=[f"{path} is written"])


def script_path(path: str, context: Context) -> str:
    """A relative path of a new `.py` file. Raises NotebookRefused("recipe")."""
    path = path.replace("\\", "/")
    parts = path.split("/")
    if not path.endswith(".py") or path.startswith("/") or any(part in ("", ".", "..") for part in parts):
        raise refused(f"path={path!r}: give a .py file inside the notebook's folder, for example path=tools.py.")
    if path in context.existing:
        raise refused(f"{path} exists already and is not overwritten. Give another path.")
    return path


def _header(metadata: Mapping[str, Any]) -> str:
    lines = ["# ---", "# jupyter:", "#   jupytext:", "#     text_representation:", "#       extension: .py"]
    lines += ["#       format_name: percent", "#       format_version: '1.3'"]
    kernelspec = metadata.get("kernelspec")
    if isinstance(kernelspec, Mapping):
        lines.append("#   kernelspec:")
        for key in ("display_name", "language", "name"):
            if isinstance(kernelspec.get(key), str):
                lines.append(f"#     {key}: {_yaml(kernelspec[key])}")
    return "\n".join([*lines, "# ---"])


def _yaml(text: str) -> str:
    """A YAML scalar: plain where that is safe, else as JSON, which YAML reads too."""
    plain = re.fullmatch(r"[A-Za-z_][\w .()+-]*", text) and text.strip() == text
    reserved = text.lower() in ("true", "false", "yes", "no", "null", "on", "off")
    return text if plain and not reserved else json.dumps(text, ensure_ascii=False)


def _cell(cell: Cell) -> str:
    options = "".join(f" {key}={json.dumps(value, ensure_ascii=False)}" for key, value in _metadata(cell).items())
    if cell.type != "code":
        body = "\n".join(f"# {line}" if line else "#" for line in cell.source.split("\n"))
        return f"# %% [{cell.type}]{options}\n{body}"
    source = to_python(cell.source)
    cell_magic = next((magic for magic in source.magics if magic.name.startswith("%%")), None)
    language = OTHER_LANGUAGE_MAGICS.get(cell_magic.name[2:]) if cell_magic is not None else None
    if cell_magic is not None and source.tree is None and language in ("bash", "r", "javascript", "html", "latex"):
        return _other_language(cell, cell_magic.text, cell_magic.name[2:], options)
    if cell_magic is not None:
        # A cell magic says how the whole cell is run: all of it becomes comments, which jupytext turns back.
        lines = [f"# {line}" if line else "#" for line in cell.source.split("\n")]
        return f"# %%{options}\n" + "\n".join(lines)
    magic_lines = {line for magic in source.magics for line in range(magic.line, magic.end + 1)}
    lines = []
    for number, line in enumerate(cell.source.split("\n"), 1):
        commented = number in magic_lines or re.match(r"#+ %%", line)
        lines.append(f"# {line}" if commented else line)
    return f"# %%{options}\n" + "\n".join(lines)


def _other_language(cell: Cell, arguments: str, name: str, options: str) -> str:
    lines = cell.source.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("%%")) + 1
    magic_arguments = f" magic_args={json.dumps(arguments, ensure_ascii=False)}" if arguments.strip() else ""
    body = [f"# {line}" if line else "#" for line in lines[start:]]
    return "\n".join([f'# %%{options}{magic_arguments} language="{name}"', *body])


def _metadata(cell: Cell) -> dict[str, Any]:
    """Tags and other plain values; what only records a run or a view is left out, as jupytext does."""
    dropped = {"execution", "collapsed", "scrolled", "ExecuteTime", "trusted", "jupyter", "outputId", "id", "vscode"}
    return {key: value for key, value in cell.metadata.items() if key not in dropped and key.isidentifier()}
