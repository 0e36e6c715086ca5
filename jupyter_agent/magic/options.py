"""What follows `%agent`: a subcommand, or options and a request."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from jupyter_agent.errors import UsageError

MODES = ("plan", "review", "accept-edits", "auto")
COMMANDS = {
    "status": "the conversation, its notebook, model, mode and cost",
    "undo": "[TURN]  take back what the last turn changed, or that turn",
    "diff": "[TURN]  what the last turn changed",
    "history": "earlier conversations",
    "resume": "ID  go on with an earlier conversation",
    "model": "[NAME]  show or set the model",
    "mode": "[MODE]  show or set the mode: plan, review, accept-edits, auto",
    "connect": "[URL TOKEN]  the way to this kernel's Jupyter server (gateways)",
    "help": "this text",
}
OPTIONS: dict[str, tuple[str, str]] = {
    "--mode": ("MODE", "plan, review, accept-edits or auto, for this conversation"),
    "--model": ("NAME", "the model"),
    "--new": ("", "start a new conversation"),
    "--max-turns": ("N", "model replies at most"),
    "--budget": ("USD", "money at most"),
    "--allow": ("RULE", "settle asks in advance: TOOL or TOOL(GLOB); may be repeated"),
    "--quiet": ("", "show only the answer and the closing line"),
    "--no-outputs": ("", "keep the outputs of cells from the model, for this conversation"),
    "--no-variables": ("", "keep the kernel's variables from the model, for this conversation"),
    "--notebook": ("PATH", "work on this notebook, in this kernel"),
}
_WITH_ONE_WORD = {"undo", "diff", "resume", "model", "mode"}


@dataclass(frozen=True)
class Request:
    """`command` is a subcommand with its words in `words`, or `""` for a request in `text` with `options`."""

    command: str = ""
    words: tuple[str, ...] = ()
    text: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def parse(line: str, body: str) -> Request:
    """The request. Raises UsageError for an unknown option or a wrong value."""
    words = line.split()
    if not body.strip() and words and _is_command(words):
        return Request(words[0], tuple(words[1:]))
    options, text = _options(line)
    text = "\n".join(part for part in (text, body.strip("\n")) if part.strip())
    if not text.strip() and not options:
        return Request("help")
    return Request(text=text, options=options)


def _is_command(words: list[str]) -> bool:
    """A subcommand alone, or with as much as it takes: `undo the last edit` is a request, `undo 3` is not."""
    name, rest = words[0], words[1:]
    if name not in COMMANDS:
        return False
    if name == "connect":
        return not rest or (len(rest) <= 2 and ":" in rest[0])
    return not rest or (len(rest) == 1 and name in _WITH_ONE_WORD)


def _options(line: str) -> tuple[dict[str, Any], str]:
    """Leading options and the words behind them."""
    options: dict[str, Any] = {}
    rest = line.strip()
    while rest.startswith("--"):
        name, _, rest = rest.partition(" ")
        name, has_value, value = name.partition("=")
        if name == "--":
            break
        if name not in OPTIONS:
            raise UsageError(f"%agent has no option {name}. It has {', '.join(OPTIONS)}.")
        if not OPTIONS[name][0]:
            options[name[2:].replace("-", "_")] = True
        else:
            if not has_value:
                value, rest = _word(rest)
            if not value:
                raise UsageError(f"{name} needs a value: {OPTIONS[name][1]}.")
            key, parsed = name[2:].replace("-", "_"), _value(name, value)
            options[key] = [*options.get(key, []), parsed] if name == "--allow" else parsed
        rest = rest.lstrip()
    return options, rest


def _word(text: str) -> tuple[str, str]:
    """The first word, quoted if it has blanks, and the rest."""
    match = re.match(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"']\S*))(?=\s|$)""", text)
    if match is None:
        raise UsageError("A quotation mark is not closed." if text.strip() else "An option lacks its value.")
    return next(group for group in match.groups() if group is not None), text[match.end() :]


def _value(name: str, text: str) -> Any:
    if name == "--mode" and text not in MODES:
        raise UsageError(f"{text!r} is no mode. The modes are {', '.join(MODES)}.")
    if name in ("--max-turns", "--budget"):
        try:
            number = int(text) if name == "--max-turns" else float(text)
        except ValueError:
            number = 0
        if not number > 0:
            raise UsageError(f"{name} takes a number greater than 0, not {text!r}.")
        return number
    return text


def help_text() -> str:
    """The text of `%agent help`."""
    lines = [
        "%agent TEXT            ask in one line",
        "%%agent [OPTIONS]      ask in the lines below",
        "",
        "Options:",
        *(f"  {f'{name} {value}'.strip():<20} {text}" for name, (value, text) in OPTIONS.items()),
        "",
        "Commands:",
        *(f"  %agent {name:<13} {text}" for name, text in COMMANDS.items()),
        "",
        "The last result is in `_agent`: .text .changes .verified .undo() .conversation",
    ]
    return "\n".join(lines)
