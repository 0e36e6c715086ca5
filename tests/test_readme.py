"""The README says what the program does. Its tables are generated: `python tests/test_readme.py` rewrites them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEST_COMMAND = "python -m pytest -n logical"


def escaped(text: str) -> str:
    """`text` as one cell of a markdown table."""
    return text.replace("|", r"\|")


def tools_table() -> str:
    from jupyter_agent.tools import all_tools

    rows = []
    for tool in all_tools().values():
        found = "" if tool.always else "through `find_tools`"
        rows.append(f"| `{tool.name}` | {escaped(tool.description)} | {found} |")
    return "\n".join(["| tool | what the model reads about it | |", "|---|---|---|", *rows])


def recipes_table() -> str:
    from jupyter_agent.refactor.registry import RECIPES

    rows = []
    for recipe in RECIPES.values():
        parameters = ", ".join(f"`{item.name}`" if item.required else f"[`{item.name}`]" for item in recipe.parameters)
        rows.append(f"| `{recipe.name}` | {escaped(recipe.doc)} | {parameters} |")
    return "\n".join(["| recipe | what it does | `--set` |", "|---|---|---|", *rows])


TABLES = {"tools": tools_table, "recipes": recipes_table}


def with_tables(text: str) -> str:
    """The README's text with each generated table made anew between its marks. Raises ValueError without the marks."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name}: generated -->", f"<!-- /{name} -->"
        head, found, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"README.md lacks {begin} … {end}")
        text = f"{head}{begin}\n{table()}\n{end}{tail}"
    return text


def test_tables_are_those_of_the_program() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == with_tables(text), "run `python tests/test_readme.py`"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_the_test_command_is_the_same_everywhere(name: str) -> None:
    assert TEST_COMMAND in (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path", ["README.md", "CONTRIBUTING.md", "example_notebooks/README.md", "benchmarks/README.md"]
)
def test_links_lead_somewhere(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    missing = [target for target in targets if not ((ROOT / path).parent / target).exists()]
    assert not missing


def test_commands_in_the_readme_exist() -> None:
    from jupyter_agent.cli.parser import build_parser

    named = set(re.findall(r"jupyter agent ([a-z]+)", README.read_text(encoding="utf-8")))
    usage = build_parser().format_help()
    assert named
    assert not {name for name in named if not re.search(rf"^    {name}\b", usage, re.MULTILINE)}


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
