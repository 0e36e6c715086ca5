"""nbval's sanitising patterns, where the project's pytest configuration names a file of them. Reads files only."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from pathlib import Path

from jupyter_agent.errors import UsageError
from jupyter_agent.refactor.verify_copy import project_of

Patterns = tuple[tuple[str, str], ...]

_OPTIONS = ("--nbval-sanitize-with", "--sanitize-with")
_INI_SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}


def project_patterns(path: Path | None) -> Patterns:
    """The (regular expression, replacement) pairs that `pytest --nbval` would apply to the notebook at `path`.

    The nearest folder from the notebook's up to its project's whose pytest configuration has nbval's option counts.
    Raises UsageError for a file that is missing or holds what is no regular expression.
    """
    if path is None:
        return ()
    folder = path.resolve().parent
    project = project_of(folder)
    for candidate in (folder, *folder.parents):
        named = _named_in(candidate)
        if named is not None:
            return read_patterns(candidate / named)
        if candidate == project:
            break
    return ()


def read_patterns(file: Path) -> Patterns:
    """The pairs of `regex: …` and `replace: …` lines of a file, as nbval reads them. Raises UsageError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The sanitising patterns in {file} cannot be read: {error}. Correct pytest's addopts."
        ) from None
    found = re.findall(r"^regex: (.*)$\n^replace: (.*)$", text, flags=re.MULTILINE)
    for pattern, _ in found:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(f"{file}: {pattern!r} is no regular expression ({error}). Correct it.") from None
    return tuple(found)


def _named_in(folder: Path) -> str | None:
    """The file that the pytest configuration in `folder` gives to nbval, relative to it."""
    for name, section in _INI_SECTIONS.items():
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(folder / name, encoding="utf-8")
            found = _in_options(parser.get(section, "addopts", fallback=""))
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
        if found is not None:
            return found
    try:
        tables = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        options = tables.get("tool", {}).get("pytest", {}).get("ini_options", {}).get("addopts", "")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError):
        return None
    return _in_options(options if isinstance(options, str) else shlex.join(map(str, options)))


def _in_options(options: str) -> str | None:
    try:
        words = shlex.split(options)
    except ValueError:
        return None
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in _OPTIONS:
            return value if equals else next(iter(words[position + 1 :]), None)
    return None
