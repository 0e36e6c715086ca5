"""Whether two texts of a cell's output say the same: known noise aside, floats within a stated tolerance. Pure.

Only what is noise by its form is masked here (addresses, the kernel's own paths, IPython's timings, progress bars, the
present moment). Anything else that differs counts as changed; chance is found by running twice, not by guessing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from jupyter_agent.text import as_seen

RELATIVE_TOLERANCE = 1e-9
"""Of two floats, one of which is printed with `FULL_PRECISION` digits or more. Others must be equal as printed."""

FULL_PRECISION = 12
"""Significant digits from which a printed float counts as unrounded, so that its last ones may come out differently."""

CLOCK_SLACK = timedelta(seconds=2)


@dataclass(frozen=True)
class Rules:
    """How outputs are compared.

    `sanitize` are (regular expression, replacement) pairs as nbval applies them: in order, to both sides. `clock` is
    when the newer run began and ended (aware); a moment printed by it that lies in between is noise. `sources` are the
    stripped lines of both sides' code: `warnings` repeats the one that it warns of, and that is no output.
    """

    sanitize: Sequence[tuple[str, str]] = ()
    relative_tolerance: float = RELATIVE_TOLERANCE
    clock: tuple[datetime, datetime] | None = None
    sources: frozenset[str] = frozenset()


_DURATION = r"\d[\d.,]*\s?(?:ns|[uµμ]s|ms|s|sec|min|h|d)\b(?: \d[\d.,]*\s?(?:ms|s|min|h)\b)*"
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        # `<function f at 0x7f…>`: CPython's repr of what has no better one.
        (r"\bat 0x[0-9A-Fa-f]{4,}", "at 0x…"),
        (r"\S*\bipykernel_\d+[/\\]\d+\.py(?::\d+)?", "<cell>"),
        # `warnings` prints where it was called from; the category and the message are what counts.
        (r"^(?:\S[^\n]*?\.py|<cell>):(?:\d+:)? (\w*Warning: )", r"<file>: \1"),
        # %time, %%time, %timeit
        (r"^CPU times: .*$", "CPU times: …"),
        (r"^Wall time: .*$", "Wall time: …"),
        (rf"^{_DURATION} ± {_DURATION} per loop \(mean ± std\. dev\. of .*\)$", "… per loop"),
        (rf"^\d[\d,]* loops?, best of \d+: {_DURATION} per loop$", "… per loop"),
        # what IPython adds to these when the machine is busy
        (r"^The slowest run took [\d.]+ times longer than the fastest\..*\n?", ""),
        (rf"^(?:Compiler|Parser) *: {_DURATION}\n?", ""),
        # %memit
        (r"^peak memory: [\d.]+ \w+, increment: -?[\d.]+ \w+$", "peak memory: …"),
        # tqdm: [00:01<00:00, 9.5it/s]
        (r"\[(?:\d+:)+\d+(?:<(?:\?|(?:\d+:)+\d+))?(?:, +[^\]\n]*)?\]", "[…]"),
        # Keras: 1s 12ms/step
        (r"\b(?:\d+s )?\d+[mu]?s/(step|epoch|sample)\b", r"…/\1"),
    )
)

_UNITS = r"(?:[nuµμm]?s|secs?|seconds?|milliseconds?|mins?|minutes?|h|hours?)"
_TIMED = r"(?:elapsed|took|duration|runtime|seconds|(?:run(?:ning)?|wall|fit|train(?:ing)?) ?time)"
DURATIONS: Sequence[tuple[str, str]] = (
    (rf"(?<![\w.])\d[\d.,]*(?:[eE][-+]?\d+)?\s?{_UNITS}\b", "…"),
    (rf"(?i)\b({_TIMED}\W{{1,12}})\d[\d.,:]*(?:[eE][-+]?\d+)?", r"\1…"),
    (r"\b\d+:\d\d:\d\d(?:\.\d+)?\b", "…"),
)
"""`Rules.sanitize` that masks how long something took. For comparing two runs of the same code: else "30 s" is data."""

_TOKEN = re.compile(
    r"(?P<moment>(?<![\d-])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \d{4}"
    r"|(?<![\d:])\d\d:\d\d:\d\d(?:\.\d+)?(?![\d:]))"
    r"|(?P<number>(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<blank>[ \t]+)"
    r"|(?P<word>\w+|\n|.)",
    re.DOTALL,
)


def normal(text: str, rules: Rules) -> str:
    """`text` as a person sees it, sanitised and with noise masked; blanks at line ends are dropped.

    Raises re.error for a sanitising pattern that is no regular expression.
    """
    text = as_seen(text)
    for pattern, replacement in rules.sanitize:
        text = re.sub(pattern, replacement, text)
    for mask, replacement in _MASKS:
        text = mask.sub(replacement, text)
    if rules.sources and "Warning: " in text:
        text = _without_echo(text, rules.sources)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


_WARNED = re.compile(r"<file>: \w*Warning: ")


def _without_echo(text: str, sources: frozenset[str]) -> str:
    """Without the line of code, indented by two, that stands under a warning."""
    kept: list[str] = []
    warned = False
    for line in text.split("\n"):
        if warned and line.startswith("  ") and line.strip() in sources:
            warned = False
            continue
        warned = warned or _WARNED.match(line) is not None
        kept.append(line)
    return "\n".join(kept)


def same_text(old: str, new: str, rules: Rules) -> bool:
    """Whether two normalised texts agree, token by token."""
    if old == new:
        return True
    old_tokens, new_tokens = list(_TOKEN.finditer(old)), list(_TOKEN.finditer(new))
    if len(old_tokens) != len(new_tokens):
        return False
    tolerated = padded = False
    for before, after in zip(old_tokens, new_tokens, strict=True):
        if before.group() == after.group():
            continue
        kind = before.lastgroup if before.lastgroup == after.lastgroup else None
        agree = {"number": same_number, "moment": is_now}.get(kind or "")
        if agree is not None and agree(before.group(), after.group(), rules):
            tolerated = True
        elif kind == "blank":
            padded = True
        else:
            return False
    # Columns are padded to the widest number: blanks may differ only where a number was allowed to.
    return tolerated or not padded


def same_number(old: str, new: str, rules: Rules) -> bool:
    """Whether two printed numbers are one unrounded float within the tolerance; integers and rounded ones are not."""
    if not all(any(mark in text for mark in ".eE") for text in (old, new)):
        return False
    if max(_digits(old), _digits(new)) < FULL_PRECISION:
        return False
    return math.isclose(float(old), float(new), rel_tol=rules.relative_tolerance, abs_tol=0.0)


def _digits(number: str) -> int:
    return len(re.sub(r"[eE].*|\D", "", number).lstrip("0"))


def is_now(old: str, new: str, rules: Rules) -> bool:
    """Whether `new` is a moment of the run and `old` an earlier one in the same form: a clock was printed.

    Of a time of day without a date it is not known whether it was earlier, so `old` may be any.
    """
    if rules.clock is None or _form(old) != _form(new):
        return False
    for zone in (None, UTC):
        begin = (rules.clock[0] - CLOCK_SLACK).astimezone(zone).replace(tzinfo=None)
        end = (rules.clock[1] + CLOCK_SLACK).astimezone(zone).replace(tzinfo=None)
        before, after = _moment(old, end), _moment(new, end)
        if before is None or after is None:
            return False
        if len(new) == len("2026-01-31"):
            begin = datetime.combine(begin, time())
        if begin <= after <= end and (before <= after or new[2] == ":"):
            return True
    return False


def _form(moment: str) -> str:
    """`moment` with its numbers and names replaced by constants; a day of one digit is padded with a blank."""
    return re.sub(r"[A-Z][a-z]{2}", "Abc", re.sub(r" *\d+", "9", moment))


def _moment(text: str, day: datetime) -> datetime | None:
    """The naive moment that `text` names, in UTC if it has an offset; a time of day is taken on `day`."""
    try:
        if text[2] == ":":
            moment = datetime.fromisoformat(f"{day:%Y-%m-%d} {text}")
        elif text[0].isdigit():
            moment = datetime.fromisoformat(text.replace(",", "."))
        else:
            moment = datetime.strptime(text, "%a %b %d %H:%M:%S %Y")
    except ValueError:
        return None
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
