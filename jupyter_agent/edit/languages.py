"""Which language a file or a cell is in, and its tree-sitter parser. Grammars are imported when first used.

A grammar whose wheel is not installed is no error: there is then no parser, and nothing is checked.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

_GRAMMARS = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "css": ("tree_sitter_css", "language"),
    "go": ("tree_sitter_go", "language"),
    "html": ("tree_sitter_html", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "json": ("tree_sitter_json", "language"),
    "julia": ("tree_sitter_julia", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "sql": ("tree_sitter_sql", "language"),
    "toml": ("tree_sitter_toml", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "yaml": ("tree_sitter_yaml", "language"),
}
"""Language to the module of its wheel and the function in it. Markdown is left out: any text is valid."""

_SUFFIXES = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".json", ".jsonc", ".webmanifest", ".geojson"), "json"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".html", ".htm"), "html"),
    **dict.fromkeys((".sh", ".bash"), "bash"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
    ".c": "c",
    ".css": "css",
    ".go": "go",
    ".java": "java",
    ".jl": "julia",
    ".php": "php",
    ".rb": "ruby",
    ".rs": "rust",
    ".scala": "scala",
    ".sql": "sql",
    ".toml": "toml",
    ".tsx": "tsx",
}
"""`.h` is missing on purpose: it may be C or C++."""

_CELL_LANGUAGES = {
    **dict.fromkeys(("bash", "sh"), "bash"),
    **dict.fromkeys(("javascript", "js"), "javascript"),
    **dict.fromkeys(("html", "HTML", "svg", "SVG"), "html"),
    **dict.fromkeys(("python", "python3", "pypy"), "python"),
    "ruby": "ruby",
    "sql": "sql",
    "bigquery": "sql",
    "julia": "julia",
}
_OTHER_TEXT = frozenset(
    ("latex", "markdown", "perl", "python2", "script", "cython", "R", "cmd", "powershell", "pwsh", "writefile", "file")
)
_CELL_MAGIC = re.compile(r"\s*^%%(?P<name>[\w.!]+)[ \t]*(?P<arguments>.*)", re.MULTILINE)


def language_of_file(filename: str) -> str | None:
    """The language by the file's suffix, None where it is unknown."""
    dot = filename.rfind(".")
    return _SUFFIXES.get(filename[dot:].lower()) if dot >= 0 else None


def language_of_cell(source: str) -> tuple[str | None, int]:
    """The language of a cell's body by its `%%magic`, and the number of lines before the body.

    `ipython` where the cell is Python with IPython's syntax, None where the language cannot be checked.
    """
    magic = _CELL_MAGIC.match(source)
    if magic is None:
        return "ipython", 0
    name, arguments = magic["name"], magic["arguments"].split()
    before = source.count("\n", 0, magic.end()) + 1
    if name in ("writefile", "file"):
        return language_of_file(arguments[-1]) if arguments else None, before
    if name == "script" and arguments:
        name = arguments[0]
    if name in _CELL_LANGUAGES:
        return _CELL_LANGUAGES[name], before
    return (None, before) if name in _OTHER_TEXT or name.startswith("!") else ("ipython", 0)


@cache
def parser_of(language: str) -> Parser | None:
    """The parser of `language`, None where its grammar is not installed."""
    import importlib

    if language not in _GRAMMARS:
        return None
    module_name, function = _GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser

        grammar = importlib.import_module(module_name)
    except ImportError:
        return None
    return Parser(Language(getattr(grammar, function)()))
