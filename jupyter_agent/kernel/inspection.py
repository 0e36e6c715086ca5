"""Requests that describe a kernel's variables, per language, and the reading of their replies. Pure.

Python is described by `describe.py`, sent as text; R and Julia by a snippet that prints one line a variable.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel.protocol import Variable
from jupyter_agent.kernel.snippets import JULIA, R

NAMES_EXPRESSION = "'\\n'.join(name for name in globals() if name[0] != '_')"
"""A user expression of every run: what would be lost if the kernel died is known without asking for it."""

SHELL_NAMES = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})


@dataclass(frozen=True)
class Request:
    language: str
    code: str
    expressions: Mapping[str, str]

    def content(self) -> dict[str, Any]:
        """Of an execute_request that leaves no trace: silent, not in the history, no stdin, no queue aborted."""
        return {
            "code": self.code,
            # A silent request's printed text may be swallowed by kernels that are not IPython's.
            "silent": self.language == "python",
            "store_history": False,
            "user_expressions": dict(self.expressions),
            "allow_stdin": False,
            "stop_on_error": False,
        }


def request(language: str, names: Sequence[str] | None, *, detail: bool) -> Request:
    """Raises KernelError("unsupported") for a language that has no snippet here."""
    if language == "python":
        return Request(language, quiet(), {"variables": _python(names, detail)})
    if language == "r":
        chosen = "ls(envir = globalenv())" if names is None else f"c({', '.join(json.dumps(name) for name in names)})"
        return Request(language, R % chosen, {})
    if language == "julia":
        default = "filter(n -> !(n in (:Base, :Core, :Main, :InteractiveUtils, :IJulia)), names(Main))"
        chosen = default if names is None else f"Symbol[{', '.join(f'Symbol({json.dumps(name)})' for name in names)}]"
        return Request(language, JULIA % chosen, {})
    raise KernelError(
        f"Variables of a {language or 'non-Python'} kernel cannot be listed: this is not supported. "
        "Run code that prints the ones you need.",
        kind="unsupported",
    )


def parse(asked: Request, reply: Mapping[str, Any]) -> list[Variable]:
    """The variables from the reply message (with its `iopub` messages). Raises KernelError when it is not an answer."""
    if asked.language == "python":
        text = _expression(reply["content"], "variables")
        if text is None:
            raise KernelError(
                f"The kernel could not describe its variables: {_reason(reply['content'])}.", kind="unsupported"
            )
        return [Variable(**entry) for entry in json.loads(text)]
    found = []
    for message in reply.get("iopub", ()):
        if message["header"]["msg_type"] == "stream" and message["content"].get("name") == "stdout":
            found.append(str(message["content"].get("text", "")))
    return [_line(line) for line in "".join(found).splitlines() if "\t" in line]


def names_in(reply: Mapping[str, Any]) -> list[str]:
    """The user's names from the reply to a request that carried `NAMES_EXPRESSION`; empty when it has none."""
    text = _expression(reply, "names")
    return sorted(name for name in text.split("\n") if name and name not in SHELL_NAMES) if text else []


@cache
def describe_source() -> str:
    """The text of `describe.py`."""
    return files("jupyter_agent.kernel").joinpath("describe.py").read_text(encoding="utf-8")


def _python(names: Sequence[str] | None, detail: bool) -> str:
    """One expression; the module it makes lives only while it is evaluated, so `dir()` stays as it was (fault n37)."""
    call = f"m['describe_json'](globals(), {list(names) if names is not None else None!r}, {detail!r})"
    return (
        f"(lambda m: (__import__('builtins').exec({describe_source()!r}, m), {call})[1])({{'__name__': 'described'}})"
    )


def quiet() -> str:
    """Code of a silent request that keeps `post_execute` callbacks from running after it (`describe.quiet_once`)."""
    source = describe_source()
    start = source.index("def quiet_once")
    text = "from typing import Any\n" + source[start:] + "\nquiet_once(shell)\n"
    return f"__import__('builtins').exec({text!r}, {{'shell': get_ipython()}})"


def json_expression(content: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The object that a user expression gave as JSON text; None where it failed."""
    text = _expression(content, name)
    return json.loads(text) if text is not None else None


def _expression(content: Mapping[str, Any], name: str) -> str | None:
    """The string value of a user expression, from its repr."""
    result = content.get("user_expressions", {}).get(name, {})
    text = result.get("data", {}).get("text/plain") if result.get("status") == "ok" else None
    if not isinstance(text, str):
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


def _reason(content: Mapping[str, Any]) -> str:
    result = content.get("user_expressions", {}).get("variables", content)
    return f"{result.get('ename', 'no answer')}: {str(result.get('evalue', ''))[:200]}"


def _line(line: str) -> Variable:
    name, kind, shape, size, preview = [*line.split("\t", 4), "", "", "", ""][:5]
    return Variable(name, kind, shape, int(size) if size.strip().isdigit() else None, preview)
