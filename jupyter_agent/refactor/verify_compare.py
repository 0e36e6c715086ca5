"""Whether two runs of a cell put out the same, and what a cell's marks say about comparing it. Pure.

nbval's marks (comments and tags) are honoured. Streams are compared whole: how the kernel happened to cut them into
messages, and where stderr fell between other outputs, says nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_agent.effect import unified_diff
from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.refactor.verify_images import image_difference
from jupyter_agent.refactor.verify_tables import same_html, without_random_ids
from jupyter_agent.refactor.verify_text import Rules, normal, same_text
from jupyter_agent.text import clip

NEVER_RERUN = "agent:never-rerun"

DIFF_LIMIT = 4_000
"""Bytes of a difference that is shown."""

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MARKUP = frozenset({"text/html", "image/svg+xml"})
_IGNORED = frozenset({"application/vnd.jupyter.widget-view+json"})
"""A widget's model id is drawn anew in each kernel."""


@dataclass(frozen=True)
class Marks:
    """`skipped` names the mark that forbids to run the cell; `raises`: an error is meant; `compared`: outputs count."""

    skipped: str = ""
    raises: bool = False
    compared: bool = True


def marks(cell: Cell) -> Marks:
    """What the cell's tags and nbval comments ask for."""
    comments = {line.strip().lstrip("#").strip() for line in cell.source.splitlines() if line.strip().startswith("#")}
    nbval = {comment.lower().replace("_", "-") for comment in comments if comment.startswith(("NBVAL_", "PYTEST_"))}
    names = nbval | set(cell.tags)
    skipped = next((name for name in (NEVER_RERUN, "skip-execution", "nbval-skip") if name in names), "")
    ignored = names & {"nbval-ignore-output", "pytest-validate-ignore-output"}
    return Marks(skipped, bool(names & {"raises-exception", "nbval-raises-exception"}), not ignored)


def output_difference(old: Sequence[Output], new: Sequence[Output], rules: Rules) -> str:
    """`""` when two lists of nbformat outputs say the same, else what differs, as a person would want to see it."""
    before, after = _items(old), _items(new)
    for kind in (_STDERR, ""):
        a = [item for item in before if (item.kind == _STDERR) == (kind == _STDERR)]
        b = [item for item in after if (item.kind == _STDERR) == (kind == _STDERR)]
        difference = _list_difference(a, b, rules)
        if difference:
            return clip(difference, DIFF_LIMIT)
    return ""


# ------------------------------------------------------------------------------------------------ pieces of output

_STDERR = "stderr"


@dataclass(frozen=True)
class _Item:
    """A stream (`text`), an error (`text` is its name and message) or a display (`data`)."""

    kind: str
    text: str = ""
    data: Mapping[str, Any] | None = None


def _items(outputs: Iterable[Output]) -> list[_Item]:
    items: list[_Item] = []
    stderr = ""
    for output in outputs:
        kind = output.get("output_type")
        if kind == "stream":
            text = joined(output.get("text"))
            if output.get("name") == _STDERR:
                stderr += text
            elif items and items[-1].kind == "stdout":
                items[-1] = _Item("stdout", items[-1].text + text)
            else:
                items.append(_Item("stdout", text))
        elif kind == "error":
            items.append(_Item("error", f"{output.get('ename', '')}: {output.get('evalue', '')}"))
        else:
            data = output.get("data")
            # A result and a display of the same thing look the same; merging cells turns one into the other.
            items.append(_Item("display", data=data if isinstance(data, Mapping) else {}))
    return [*items, _Item(_STDERR, stderr)] if stderr.strip() else items


def joined(value: Any) -> str:
    """nbformat's multi-line string, which may be a list of its lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _list_difference(old: Sequence[_Item], new: Sequence[_Item], rules: Rules) -> str:
    if [item.kind for item in old] != [item.kind for item in new]:
        return _described(old, new, rules)
    for before, after in zip(old, new, strict=True):
        if before.data is not None and after.data is not None:
            difference = _bundle_difference(before.data, after.data, rules)
        else:
            difference = _text_difference(before.text, after.text, after.kind, rules)
        if difference:
            return difference
    return ""


def _described(old: Sequence[_Item], new: Sequence[_Item], rules: Rules) -> str:
    """Different kinds of outputs: shown as what a person sees of each side."""
    before, after = ("\n".join(_shown(item, rules) for item in items) for items in (old, new))
    return _diff(before, after, "outputs")


def _shown(item: _Item, rules: Rules) -> str:
    if item.data is None:
        return f"{item.kind}: {normal(item.text, rules)}"
    kinds = ", ".join(sorted(item.data))
    return f"display ({kinds}): {normal(joined(item.data.get('text/plain')), rules)}"


def _diff(old: str, new: str, name: str) -> str:
    """How two texts that are known to differ do so; never empty."""
    shown = unified_diff(old.rstrip("\n") + "\n", new.rstrip("\n") + "\n", name)
    return shown or f"{name} differs in blank lines at its end, or in how it came to be"


def _text_difference(old: str, new: str, name: str, rules: Rules) -> str:
    before, after = normal(old, rules), normal(new, rules)
    return "" if same_text(before, after, rules) else _diff(before, after, name)


# ------------------------------------------------------------------------------------------------------ MIME bundles


def _bundle_difference(old: Mapping[str, Any], new: Mapping[str, Any], rules: Rules) -> str:
    if set(old) - _IGNORED != set(new) - _IGNORED:
        return f"the output was {', '.join(sorted(old))} and is {', '.join(sorted(new))}"
    tables = "<table" in joined(old.get("text/html"))
    for mime in sorted(set(old) - _IGNORED):
        # The text form of a data frame whose HTML form is compared by value only repeats it, padded.
        if mime == "text/plain" and tables:
            continue
        difference = _value_difference(mime, old[mime], new[mime], rules)
        if difference:
            return difference
    return ""


def _value_difference(mime: str, old: Any, new: Any, rules: Rules) -> str:
    if mime in _IMAGES:
        before, after = _decoded(old), _decoded(new)
        if before is None or after is None:
            return "" if joined(old) == joined(new) else f"the data of an {mime} output differ"
        return image_difference(before, after)
    if isinstance(old, dict | list) and not _is_lines(old):
        return "" if same_json(old, new, rules) else _diff(_as_json(old), _as_json(new), mime)
    before_text, after_text = joined(old), joined(new)
    if mime in _MARKUP:
        if same_html(before_text, after_text, rules):
            return ""
        before_text, after_text = without_random_ids(before_text), without_random_ids(after_text)
        return _diff(normal(before_text, rules), normal(after_text, rules), mime)
    return _text_difference(before_text, after_text, mime, rules)


def _decoded(value: Any) -> bytes | None:
    try:
        return base64.b64decode(joined(value).encode("ascii"), validate=False)
    except (binascii.Error, UnicodeEncodeError):
        return None


def _is_lines(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)


def same_json(old: Any, new: Any, rules: Rules) -> bool:
    """Whether two JSON values agree: floats within the tolerance, strings by the text rules, all else equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(same_json(old[key], new[key], rules) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(same_json(a, b, rules) for a, b in zip(old, new, strict=True))
    if isinstance(old, str) and isinstance(new, str):
        if old == new:
            return True
        before, after = (normal(without_random_ids(text), rules) for text in (old, new))
        return same_text(before, after, rules)
    if isinstance(old, float) and isinstance(new, float):
        both_nan = math.isnan(old) and math.isnan(new)
        return both_nan or math.isclose(old, new, rel_tol=rules.relative_tolerance, abs_tol=0.0)
    return type(old) is type(new) and bool(old == new)
