"""Builds the refusals: which block, why, every place, the closest region as the text is now. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_agent.edit.lines import Text, encode
from jupyter_agent.edit.model import Span, Window
from jupyter_agent.errors import EditRefused, Place

CONTEXT_LINES = 10
"""Lines shown before and after the closest region."""

_REGION_LINES = 60
_LINE_WIDTH = 300
_PLACES_SHOWN = 30
_UNCHANGED = "Nothing was changed."


def printable(line: str) -> str:
    """The line with undecodable bytes as `\\xNN`, so that a message can be sent anywhere."""
    return encode(line).decode("utf-8", "backslashreplace")


def numbered(text: Text, span: Span, first: int) -> str:
    """The whole lines of `span`, the first of which is line `first`, with their numbers, long ones cut."""
    shown = []
    for number, line in enumerate(text.lines(span), first):
        content = printable(line.content)
        content = content if len(content) <= _LINE_WIDTH else content[:_LINE_WIDTH] + " … (line cut)"
        shown.append(f"{number:6}\t{content}")
    return "\n".join(shown)


def _around(text: Text, span: Span, line: int) -> str:
    """`span`, which starts at `line`, cut where it is long, with the lines around it, numbered."""
    start, end = span.start, text.line_end(span.start)
    while start > 0 and line > 1 and text.data.count(b"\n", start, span.start) < CONTEXT_LINES:
        start, line = text.line_start(start - 1), line - 1
    wanted = min(text.data.count(b"\n", span.start, span.end), _REGION_LINES) + CONTEXT_LINES
    for _ in range(wanted):
        if end + 1 >= len(text.data):
            break
        end = text.line_end(end + 1)
    return numbered(text, Span(start, text.content_end(end)), line)


def places(text: Text, spans: Sequence[Span]) -> tuple[Place, ...]:
    """The 1-based lines of `spans`, which must be in order."""
    firsts = text.lines_at([span.start for span in spans])
    return tuple(
        Place(first, text.line_at(span.end, (span.start, first))) for first, span in zip(firsts, spans, strict=True)
    )


def _list(found: Sequence[Place]) -> str:
    shown = ", ".join(
        f"line {place.start}" if place.start == place.end else f"lines {place.start}-{place.end}"
        for place in found[:_PLACES_SHOWN]
    )
    return shown + (f" and {len(found) - _PLACES_SHOWN} more places" if len(found) > _PLACES_SHOWN else "")


def empty_search() -> EditRefused:
    return EditRefused(
        "empty_search",
        "SEARCH is empty or blank, so it names no place. To insert, SEARCH for a line next to the place and repeat it"
        " in REPLACE; to write a whole file, use write_file.",
    )


def no_change() -> EditRefused:
    return EditRefused("no_change", "REPLACE is what the text already says there, so the edit would change nothing.")


def omission(lines: Sequence[str], numbers: Sequence[int]) -> EditRefused:
    shown = "; ".join(f"line {number + 1}: {printable(lines[number]).strip()}" for number in numbers[:5])
    return EditRefused(
        "omission_placeholder",
        f"REPLACE has a placeholder where code should be ({shown}). It would be written as it is and the code it stands"
        " for would be lost. Write the lines out, or make SEARCH smaller so that it leaves them alone.",
    )


def unencodable(part: str) -> EditRefused:
    return EditRefused("encoding", f"{part} holds characters (lone surrogates) that no file can hold. Send plain text.")


def legacy_encoding() -> EditRefused:
    return EditRefused(
        "encoding",
        "The file is not UTF-8 and REPLACE adds characters beyond ASCII, which would mix two encodings in one file."
        " Use ASCII only, or convert the file to UTF-8 first.",
    )


def ambiguous(text: Text, spans: Sequence[Span], tier: str, wanted: int) -> EditRefused:
    found = places(text, spans)
    how = "" if tier == "exact" else f" (tolerating {tier})"
    if wanted == 1:
        message = (
            f"SEARCH is found in {len(spans)} places{how}: {_list(found)}. Add neighbouring lines until it is unique,"
            " give start_line and end_line, or set replace_all if every place is meant."
        )
        return EditRefused("ambiguous", message, found)
    message = f"SEARCH is found in {len(spans)} places{how}, expected {wanted}: {_list(found)}."
    return EditRefused("count", message + " Correct expected_count or SEARCH.", found)


def overlapping_places(text: Text, spans: Sequence[Span]) -> EditRefused:
    found = places(text, spans)
    return EditRefused(
        "ambiguous",
        f"SEARCH overlaps itself in the text ({_list(found)}), so not every place can be replaced. Use a block that"
        " covers the whole repetition.",
        found,
    )


def word_and_line(text: Text, spans: Sequence[Span]) -> EditRefused:
    found = places(text, spans)
    return EditRefused(
        "ambiguous",
        f"SEARCH is one word that is a whole line in some places and part of a line in others ({_list(found)}), so"
        " replace_all can mean either. Send the lines that shall change.",
        found,
    )


def overlap(text: Text, first: tuple[int, Span], second: tuple[int, Span]) -> EditRefused:
    found = places(text, sorted([first[1], second[1]], key=lambda span: span.start))
    return EditRefused(
        "overlap",
        f"Blocks {first[0] + 1} and {second[0] + 1} change the same lines ({_list(found)}). All blocks are placed in"
        " the text as it is before the edit: merge these two into one block.",
        found,
    )


def already_applied(place: Place) -> EditRefused:
    return EditRefused(
        "already_applied",
        f"The edit is already in the text: REPLACE stands at {_list([place])}. Nothing is left to do for this block.",
        [place],
    )


def unrepairable(text: Text, span: Span, reason: str) -> EditRefused:
    found = places(text, [span])
    return EditRefused(
        "indentation_unrepairable",
        f"SEARCH is at {_list(found)} only if its indentation is ignored, and REPLACE cannot be re-indented safely:"
        f" {reason}. Send both with the file's own indentation. As the text is now:\n"
        + _around(text, span, found[0].start),
        found,
    )


def too_tolerant(text: Text, span: Span, how: str, penalty: int, limit: int) -> EditRefused:
    found = places(text, [span])
    return EditRefused(
        "tolerance",
        f"SEARCH is at {_list(found)} only with too many differences ({how}; penalty {penalty}, limit {limit})."
        " Read these lines again and send SEARCH as they are.",
        found,
    )


def not_found(text: Text, search: Sequence[str], window: Window, hints: Sequence[str], kind: str) -> EditRefused:
    from jupyter_agent.edit.closest import closest_region

    where = ""
    if window.first_line != 1 or window.last_line is not None:
        where = f" in lines {window.first_line}-{window.last_line or text.line_count()}"
    message = " ".join([f"SEARCH is not in the text{where}.", *hints])
    region = closest_region(text, search, window)
    if region is None:
        return EditRefused(kind, f"{message} Read the file again and send its lines as they are.")
    place = places(text, [region])[0]
    closest = _around(text, region, place.start)
    message += f" The closest lines are {place.start}-{place.end}; as the text is now:\n{closest}"
    return EditRefused(kind, message, (), closest)


def combined(failures: Sequence[tuple[int, EditRefused]], blocks: int) -> EditRefused:
    """One refusal for all blocks that failed; its kind, places and region are the first one's."""
    first = failures[0][1]
    if blocks == 1:
        message = f"{_UNCHANGED} {first.message}"
    else:
        parts = [f"Block {number + 1} of {blocks}: {failure.message}" for number, failure in failures]
        message = f"{_UNCHANGED} " + "\n\n".join(parts)
    return EditRefused(first.kind, message, first.places, first.closest)
