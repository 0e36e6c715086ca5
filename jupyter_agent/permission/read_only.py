"""Which plain commands only read: an allowlist of programs, with rules for the flags that write or run something.

An unknown program or flag rule means no. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jupyter_agent.permission.command import Parsed, Word


@dataclass(frozen=True)
class Rule:
    """`long` and `short` are forbidden flags; `words`: most arguments that are no flags, None for any number.

    `reads` says that contents of files are put out; `globs` that patterns may stand in its arguments: no file name can
    then turn into a flag that does more.
    """

    long: tuple[str, ...] = ()
    short: str = ""
    words: int | None = None
    reads: bool = False
    globs: bool = False


_LISTS, _READS = Rule(globs=True), Rule(reads=True, globs=True)

PROGRAMS: dict[str, Rule] = {
    **dict.fromkeys(("ls", "pwd", "whoami", "id", "stat", "du", "df", "basename", "dirname", "realpath"), _LISTS),
    **dict.fromkeys(("readlink", "uname", "nproc", "uptime", "free", "which", "type", "true", "false", "echo"), _LISTS),
    **dict.fromkeys(("cat", "head", "tail", "wc", "nl", "tac", "rev", "cut", "paste", "join", "comm"), _READS),
    **dict.fromkeys(("fold", "column", "cmp", "diff", "md5sum", "sha1sum", "sha256sum", "cksum", "od"), _READS),
    **dict.fromkeys(("hexdump", "strings", "expand", "unexpand", "fmt"), _READS),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _READS),
    "file": Rule(long=("--compile", "--magic-file", "--uncompress"), short="CmzZ", globs=True),
    "printf": Rule(short="v"),
    "seq": Rule(),
    "sleep": Rule(),
    "cd": Rule(words=1),
    "date": Rule(long=("--set",), short="s"),
    "hostname": Rule(long=("--file", "--boot"), short="Fb", words=0),
    "tr": Rule(words=2),
    "uniq": Rule(words=1, reads=True),
    "tree": Rule(long=("--output",), short="oR"),
    "sort": Rule(
        long=("--output", "--compress-program", "--temporary-directory", "--files0-from"), short="oT", reads=True
    ),
    "rg": Rule(long=("--pre", "--pre-glob", "--hostname-bin", "--search-zip"), short="z", reads=True),
    "jq": Rule(long=("--from-file", "--library-path"), short="fL", reads=True),
    "ps": Rule(),
}
"""Programs that only read, whatever their other flags are (GNU and BSD versions)."""

_FIND_FORBIDDEN = re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls|files0-from)$")
_SED_PRINT = re.compile(r"\d+(?:,(?:\d+|\$))?p|\$p")
_GIT_GLOBAL = frozenset({"--no-pager", "--no-optional-locks"})
_GIT: dict[str, Rule] = {
    "status": Rule(),
    "log": Rule(long=("--output", "--ext-diff", "--textconv")),
    "diff": Rule(long=("--output", "--ext-diff", "--textconv", "--no-index")),
    "show": Rule(long=("--output", "--ext-diff", "--textconv")),
    "rev-parse": Rule(),
    "ls-files": Rule(),
    "ls-tree": Rule(),
    "blame": Rule(),
    "describe": Rule(),
    "shortlog": Rule(long=("--output",)),
    "rev-list": Rule(),
    "merge-base": Rule(),
    "grep": Rule(long=("--open-files-in-pager",), short="O"),
    "branch": Rule(words=0, long=("--edit-description", "--unset-upstream", "--set-upstream-to"), short="dDmMcCuf"),
    "tag": Rule(words=0, long=("--delete", "--sign", "--force"), short="dsfuam"),
    "remote": Rule(words=0),
}
_VERSIONS = frozenset(
    {"python", "python3", "pip", "pip3", "node", "npm", "git", "ruff", "mypy", "pytest", "jupyter", "rg"}
)


def is_read_only(parsed: Parsed, *, inside: Callable[[str], bool], trusted: bool, private: bool = False) -> bool:
    """Whether every command only reads, inside the workspace.

    `inside` tells whether a path argument, or everything a pattern stands for, stays in it (and is not ignored), seen
    from the folder the command starts in; `trusted`: the person trusts the folder, so
    git's configuration in it may be obeyed (fault f64); `private`: some files must not be read, so nothing that puts
    out contents runs unasked.
    """
    if not parsed.plain:
        return False
    for command in parsed.commands:
        if not _command(command, inside, trusted, private):
            return False
        if command[0].text == "cd":
            # From here on relative paths mean something else than what `inside` would look at.
            inside = _nowhere
    return True


def _nowhere(_path: str) -> bool:
    return False


def _command(command: Sequence[Word], inside: Callable[[str], bool], trusted: bool, private: bool) -> bool:
    name, arguments = command[0].text, command[1:]
    if command[0].glob or not all(_stays_inside(word, inside) for word in arguments):
        return False
    texts = [word.text for word in arguments]
    if name in _VERSIONS and texts in (["--version"], ["-V"]):
        return True
    if name == "git":
        return trusted and not any(word.glob for word in arguments) and _git(texts)
    if name == "find":
        return not any(word.glob for word in arguments) and not any(_FIND_FORBIDDEN.match(text) for text in texts)
    if name == "sed":
        return not private and _sed(texts) and not any(word.glob for word in arguments)
    rule = PROGRAMS.get(name)
    if rule is None or (private and rule.reads):
        return False
    if any(word.glob for word in arguments) and not rule.globs:
        return False
    return _allows(rule, texts)


def _stays_inside(word: Word, inside: Callable[[str], bool]) -> bool:
    text = word.text
    value = text.partition("=")[2] if text.startswith("-") else text
    if text.startswith("~") or value.startswith("~"):
        return False
    looks_like_path = "/" in value or ".." in value or not text.startswith("-")
    return not looks_like_path or value == "/dev/null" or inside(value)


def _allows(rule: Rule, arguments: Sequence[str]) -> bool:
    words = 0
    flags = True
    for argument in arguments:
        if flags and argument == "--":
            flags = False
        elif flags and argument.startswith("--"):
            name = argument.partition("=")[0]
            # GNU programs take any unambiguous beginning of a long flag.
            if any(forbidden.startswith(name) or name == forbidden for forbidden in rule.long):
                return False
        elif flags and argument.startswith("-") and len(argument) > 1:
            if set(argument[1:]) & set(rule.short):
                return False
        else:
            words += 1
    return rule.words is None or words <= rule.words


def _git(arguments: list[str]) -> bool:
    while arguments and arguments[0] in _GIT_GLOBAL:
        arguments = arguments[1:]
    if not arguments:
        return False
    rule = _GIT.get(arguments[0])
    return rule is not None and _allows(rule, arguments[1:])


def _sed(arguments: list[str]) -> bool:
    """Only `sed -n 3,9p FILE…`: other scripts can write files and run commands."""
    if len(arguments) < 2 or arguments[0] != "-n" or not _SED_PRINT.fullmatch(arguments[1]):
        return False
    return not any(argument.startswith("-") for argument in arguments[2:])
