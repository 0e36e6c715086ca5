"""Pure text helpers: what a person would see of raw output, cut to a budget, with secrets masked.

Standard library only, no I/O: environments are passed in, never read here.
"""

from __future__ import annotations

import base64
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final, Literal
from urllib.parse import quote, quote_plus, urlsplit

RESULT_LIMIT: Final = 16_000
"""Bytes (UTF-8) of text in one tool result unless the tool documents another cap (DESIGN section 4)."""

# ---------------------------------------------------------------------------------------------- terminal output

# ECMA-48: CSI; OSC, DCS, SOS, PM and APC strings up to BEL or ST; two-character escapes. Every branch consumes what it
# tests and none can back up by more than one character, so matching is linear in the text.
_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-Z\\^-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
)
_MOVES = re.compile(r"[\r\x08]|\x1b\[\d*[AK]")
_TOKENS = re.compile(r"[^\x00-\x08\n-\x1f\x7f\x9b]+|[\r\n\x08]|" + _ESCAPE.pattern)
_OTHER_CONTROLS = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")


def strip_ansi(text: str) -> str:
    """`text` without escape sequences (colours, titles, hyperlinks, cursor movement)."""
    return _ESCAPE.sub("", text) if "\x1b" in text or "\x9b" in text else text


def resolve_carriage_returns(text: str) -> str:
    r"""What stands on the screen after `\r`, `\b`, "erase line" and "cursor up": the last state of each progress bar.

    Text without such movements comes back as it is, `\r\n` line ends as `\n`. Other escape sequences and controls
    are dropped from texts that move the cursor, because overwriting counts visible characters only (one column each).
    """
    text = text.replace("\r\n", "\n")
    if not _MOVES.search(text):
        return text
    lines: list[list[str]] = [[]]
    row = column = 0
    for match in _TOKENS.finditer(text):
        token = match.group()
        if token == "\n":
            row, column = row + 1, 0
            if row == len(lines):
                lines.append([])
        elif token == "\r":
            column = 0
        elif token == "\b":
            column = max(column - 1, 0)
        elif token[0] not in "\x1b\x9b":
            line = lines[row]
            line.extend(" " * (column - len(line)))
            line[column : column + len(token)] = token
            column += len(token)
        elif token[-1] == "K":
            _erase(lines[row], column, token[-2])
        elif token[-1] == "A" and token.startswith("\x1b["):
            row = max(row - int(token[2:-1] or "1"), 0)
    return "\n".join("".join(line) for line in lines)


def _erase(line: list[str], column: int, mode: str) -> None:
    """CSI K: to the end (default), from the start (1), the whole line (2)."""
    if mode == "1":
        line[:column] = " " * min(column, len(line))
    elif mode == "2":
        line.clear()
    else:
        del line[column:]


def as_seen(text: str) -> str:
    """Raw output as a person would read it: progress resolved, escape sequences and other controls removed."""
    return _OTHER_CONTROLS.sub("", strip_ansi(resolve_carriage_returns(text)))


# ------------------------------------------------------------------------------------------------------- cutting


def clip(text: str, limit: int = RESULT_LIMIT, *, handle: str | None = None, more: str = "") -> str:
    """`text` in at most `limit` UTF-8 bytes: head and tail, and between them a notice of what was cut.

    With `handle` the notice says that `read_output` shows the rest; `more` says how to see it by other means. Cuts fall
    on line ends where one is near. A limit too small for the notice gives the head.
    """
    if len(text) <= limit and len(_encode(text)) <= limit:
        return text
    if handle is not None:
        more = f"read_output(handle={json.dumps(handle)}) shows all of it" + (f"; {more}" if more else "")
    # The numbers of the final notice are not known yet: reserve room for the longest.
    room = limit - len(_encode(_notice(len(text), len(text), more)))
    if room < 32:
        return _head(text, limit)
    head = _head(text, room * 2 // 3)
    tail = _tail(text[len(head) :], room - len(_encode(head)))
    cut = text[len(head) : len(text) - len(tail)]
    return head + _notice(len(cut), cut.count("\n"), more) + tail


def _notice(characters: int, lines: int, more: str) -> str:
    return f"\n[… {characters:,} characters ({lines:,} lines) cut here{'; ' if more else ''}{more} …]\n"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _head(text: str, size: int) -> str:
    """The longest start of at most `size` bytes, shortened to a line end if one is in its last quarter."""
    head = _encode(text[:size])[:size].decode("utf-8", "ignore") if size > 0 else ""
    line_end = head.rfind("\n")
    return head[:line_end] if line_end >= len(head) * 3 // 4 > 0 else head


def _tail(text: str, size: int) -> str:
    tail = _encode(text[-size:])[-size:].decode("utf-8", "ignore") if size > 0 else ""
    line_end = tail.find("\n")
    return tail[line_end + 1 :] if 0 <= line_end < len(tail) // 4 else tail


# ------------------------------------------------------------------------------------------------- approval previews

# Characters that print as nothing or as a blank and are in none of the categories below.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(map(chr, range(0xFE00, 0xFE10)))
_BLANKS = re.compile(r"[ \t]{8,}")
_WIDEST_BLANK: Final = 64
_TALLEST_BLANK: Final = 8


def visible(text: str) -> str:
    r"""`text` with everything that could hide part of it spelled out (fault f63); newlines stay.

    Bidirectional and zero-width characters, controls, odd spaces, private-use characters and lone surrogates become
    `\u202e`-like escapes; blanks more than 64 columns wide and more than 8 empty lines in a row, which push text out
    of sight, become a count such as `[5,000 × tab]`. Nothing is left out.
    """
    escaped = "".join(character if _plain(character) else _escape(character) for character in text)
    lines: list[str] = []
    empty = 0
    for line in escaped.split("\n"):
        line = _BLANKS.sub(_spell_blanks, line)
        if line.strip(" \t"):
            if empty > _TALLEST_BLANK:
                lines[-empty:] = [f"[{empty:,} × empty line]"]
            empty = 0
        else:
            empty += 1
        lines.append(line)
    return "\n".join(lines)


def _plain(character: str) -> bool:
    if " " <= character <= "~" or character in "\n\t":
        return True
    category = unicodedata.category(character)
    return category[0] != "C" and category[0] != "Z" and character not in _BLANK and character < "\U000e0100"


def _escape(character: str) -> str:
    code = ord(character)
    if character == "\r":
        return "\\r"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _spell_blanks(match: re.Match[str]) -> str:
    run = match.group()
    tabs = run.count("\t")
    if len(run) + 7 * tabs <= _WIDEST_BLANK:
        return run
    counts = ((tabs, "tab"), (len(run) - tabs, "space"))
    return "".join(f"[{count:,} × {name}]" for count, name in counts if count)


# -------------------------------------------------------------------------------------------------------- tokens

TextKind = Literal["python", "markdown", "notebook", "table", "numbers", "base64"]

# Characters per token, measured November 2026 on the recent model family.
_CHARACTERS_PER_TOKEN: Final[Mapping[TextKind, float]] = {
    "python": 2.9,
    "markdown": 2.8,
    "notebook": 2.45,
    "table": 2.7,
    "numbers": 1.6,
    "base64": 1.05,
}
_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def estimate_tokens(text: str, kind: TextKind = "markdown") -> int:
    """Tokens of `text` without asking the model: a mean per kind; Chinese, Japanese, Korean count one a character.

    Calibrate on the last `usage` where that is known.
    """
    wide = len(_CJK.findall(text)) if not text.isascii() else 0
    return wide + math.ceil((len(text) - wide) / _CHARACTERS_PER_TOKEN[kind])


# ------------------------------------------------------------------------------------------------------- secrets

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?)?(?:KEYS?|TOKENS?|SECRETS?|PASS|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|AUTHORIZATION|"
    r"COOKIES?|PAT|DSN|SIGNATURE|SAS|JWT|BEARER)(?:_|\d*$)|_PWD$|APIKEY|ACCESSKEY|CONNECTION_?STRING|PGPASSWORD",
    re.IGNORECASE,
)
_PLACE_NAME = re.compile(r"(?:_FILE|_PATH|_DIR|_SOCK|_SOCKET|_HOST|_PORT|_URL|_URI)$", re.IGNORECASE)
SHORTEST_SECRET: Final = 8
MOST_HELD: Final = 8
"""How many times the length of the longest form a stream holds back at most."""


def looks_secret(name: str) -> bool:
    """Whether an environment variable of this name is taken to hold a secret."""
    return "WEBHOOK" in name.upper() or (bool(_SECRET_NAME.search(name)) and not _PLACE_NAME.search(name))


class Secrets:
    """The secret values of an environment, found by name, and of URLs by their password part.

    `mask` replaces each value of at least 8 characters by `[secret NAME]`: as it is, quoted for URLs and JSON, in
    hexadecimal and in base64 (either alphabet, at any offset of a larger text, wrapped or not).
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        """`values` maps the name that the mask shows to the value."""
        self.values = dict(values)
        forms: dict[str, str] = {}
        wrapped: dict[str, str] = {}
        for name, value in values.items():
            for part in _parts(value):
                forms.update((form, name) for form in _literal_forms(part))
                wrapped.update((form, name) for form in _base64_forms(part))
        # Longest first: a value that contains another one is masked whole.
        self._literal = sorted(forms.items(), key=lambda item: -len(item[0]))
        self._wrapped = [
            (form, name, re.compile(r"(?:\r?\n|\\n)?".join(map(re.escape, form)))) for form, name in wrapped.items()
        ]
        longest = max((len(form) for form in (*forms, *wrapped)), default=0)
        self._longest = longest + longest // 8
        """Characters that a masked form can take up at most, line breaks of wrapped base64 included."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Secrets:
        values = {name: value for name, value in environment.items() if looks_secret(name)}
        for name, value in environment.items():
            if name not in values and "://" in value and (password := _url_password(value)):
                values[name] = password
        return cls(values)

    def mask(self, text: str) -> str:
        """`text` with every form of every value replaced by `[secret NAME]`."""
        for form, name in self._literal:
            if form in text:
                text = text.replace(form, f"[secret {name}]")
        if not self._wrapped:
            return text
        squeezed = text.replace("\r", "").replace("\n", "").replace("\\n", "")
        for form, name, pattern in self._wrapped:
            if form in squeezed:
                text = pattern.sub(f"[secret {name}]".replace("\\", r"\\"), text)
        return text

    def cut(self, text: str) -> int:
        """Where `text` may be divided so that no value is cut, whatever comes after it: its end, or a place before."""
        end = cut = len(text) - self._begun(text[max(len(text) - self._longest, 0) :])
        # A value that is there whole may reach over the beginning of one that is not yet. In a long run of values that
        # overlap (a value of equal characters) there is no such place, and not everything can be held.
        while (before := self._start_of_what_crosses(text, cut)) < cut:
            cut = before
            if end - cut > MOST_HELD * self._longest:
                return end
        return cut

    def _begun(self, end: str) -> int:
        """How many characters at the end may be the beginning of a value in one of its forms."""
        held = max((_overlap(end, form) for form, _ in self._literal), default=0)
        if self._wrapped and end:
            # Also without the line breaks in between, the last of which may be there by half.
            broken = {place for match in _BREAK.finditer(end) for place in range(*match.span())}
            places = [place for place in range(len(end)) if place not in broken]
            squeezed = "".join(end[place] for place in places)
            if overlap := max(_overlap(squeezed, form) for form, _, _ in self._wrapped):
                held = max(held, len(end) - places[-overlap])
        return held

    def _start_of_what_crosses(self, text: str, cut: int) -> int:
        if cut == len(text):
            return cut
        starts = [text.find(form, max(cut - len(form) + 1, 0), cut + len(form) - 1) for form, _ in self._literal]
        for _, _, pattern in self._wrapped:
            found = pattern.finditer(text, max(cut - self._longest, 0))
            starts += [match.start() for match in found if match.start() < cut < match.end()]
        return min((start for start in starts if start >= 0), default=cut)

    def stream(self) -> SecretStream:
        """A masker for text that arrives in pieces."""
        return SecretStream(self)


class SecretStream:
    """Masks text that arrives in pieces: a value cut by a piece's edge is still masked.

    `feed` returns what is safe to pass on, holding back as much as could be the start of a value; `finish` the rest.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._kept = ""

    def feed(self, piece: str) -> str:
        text = self._kept + piece
        cut = self._secrets.cut(text)
        self._kept = text[cut:]
        return self._secrets.mask(text[:cut])

    def finish(self) -> str:
        rest, self._kept = self._secrets.mask(self._kept), ""
        return rest


_BREAK = re.compile(r"\r|\n|\\n|\\\Z")
"""A line break, written out or escaped; at the end also the first half of an escaped one."""


def _overlap(text: str, form: str) -> int:
    """The length of the longest beginning of `form`, but not all of it, that `text` ends with."""
    last = text[-1:]
    for length in range(min(len(form) - 1, len(text)), 0, -1):
        if form[length - 1] == last and text.endswith(form[:length]):
            return length
    return 0


def _parts(value: str) -> Iterable[str]:
    """The value and, of a multi-line one (a private key), its long lines, which outputs show one by one."""
    value = value.strip()
    if len(value) >= SHORTEST_SECRET:
        yield value
    if "\n" in value:
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= 16)


def _literal_forms(value: str) -> set[str]:
    return {
        value,
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        _encode(value).hex(),
        _encode(value).hex().upper(),
    }


def _base64_forms(value: str) -> set[str]:
    """Base64 of the value at each of the three offsets, without the characters that its neighbours influence."""
    forms: set[str] = set()
    data = _encode(value)
    for offset in range(3):
        padded = bytes(offset) + data
        whole = len(padded) // 3 * 3
        skipped = (offset * 4 + 2) // 3
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            form = encode(padded[:whole]).decode("ascii")[skipped:]
            if len(form) >= SHORTEST_SECRET:
                forms.add(form)
    return forms


def _url_password(value: str) -> str | None:
    try:
        return urlsplit(value).password
    except ValueError:
        return None


# --------------------------------------------------------------------------------------- environment of child processes

_ALLOWED = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TMP TEMP TERM COLORTERM COLUMNS LINES NO_COLOR DISPLAY
    WAYLAND_DISPLAY SSH_AUTH_SOCK VIRTUAL_ENV MPLBACKEND MPLCONFIGDIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH MANPATH
    PKG_CONFIG_PATH CC CXX CFLAGS CXXFLAGS LDFLAGS CPATH LIBRARY_PATH GOPATH GOROOT CARGO_HOME RUSTUP_HOME JAVA_HOME
    R_HOME R_LIBS R_LIBS_USER JULIA_DEPOT_PATH JULIA_PROJECT SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE
    CURL_CA_BUNDLE HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY CI HF_HOME SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT
    APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES USERPROFILE USERNAME HOMEDRIVE HOMEPATH NUMBER_OF_PROCESSORS
    PROCESSOR_ARCHITECTURE
    """.split()  # noqa: SIM905 - sixty quoted names would be harder to read
)
_ALLOWED_PREFIXES = tuple(
    """
    LC_ XDG_ PYTHON CONDA_ MAMBA_ PIP_ UV_ NODE_ NPM_CONFIG_ JUPYTER_ IPYTHON GIT_AUTHOR_ GIT_COMMITTER_ CUDA_ NVIDIA_
    HIP_ ROCR_ OMP_ MKL_ OPENBLAS_ NUMBA_ NUMEXPR_ DASK_ SLURM_
    """.split()  # noqa: SIM905
)


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environment` that a child process may have (fault f73): an allow-list, without secrets.

    A name on the list whose name looks secret is left out, and so is a value that holds a password in a URL, except
    for proxies, without which nothing could be fetched.
    """
    allowed: dict[str, str] = {}
    for name, value in environment.items():
        upper = name.upper()
        if upper not in _ALLOWED and not upper.startswith(_ALLOWED_PREFIXES):
            continue
        if looks_secret(name):
            continue
        if "://" in value and not upper.endswith("_PROXY") and _url_password(value):
            continue
        allowed[name] = value
    return allowed
