"""What one run may add to a notebook document (fault f32). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jupyter_agent.notebook.document import Output

TEXT_LIMIT = 950_000
"""Bytes of text outputs of one run as an .ipynb stores them, so that a flood grows the file by less than 1 MB."""

LINE_WEIGHT = 14
"""What a line costs beyond its text in an .ipynb: indentation, quotes, escape, comma, newline."""


def weight(text: str) -> int:
    """Bytes of `text` as a notebook file stores it: JSON strings, one a line."""
    escaped = text.count('"') + text.count("\\") + 5 * text.count("\x1b") + text.count("\r")
    return len(text.encode("utf-8", "surrogatepass")) + escaped + LINE_WEIGHT * (text.count("\n") + 1)


def cap_outputs(outputs: Sequence[Output], limit: int = TEXT_LIMIT) -> Sequence[Output]:
    """The outputs with their text bounded: its head and its tail stay, the middle becomes a notice.

    Text is stream text and the plain text of results. Images and other rich data are the user's work and stay whole.
    """
    texts = [_text(output) for output in outputs]
    weights = [weight(text) if text else 0 for text in texts]
    total = sum(weights)
    if total <= limit:
        return outputs
    heads, tails = [0] * len(outputs), [0] * len(outputs)
    room = limit // 2
    for place, text in enumerate(texts):
        heads[place] = len(text) if weights[place] <= room else _fitting(text, room)
        room -= min(weights[place], room)
    room = limit // 2
    for place in reversed(range(len(outputs))):
        text = texts[place]
        left = len(text) - heads[place]
        tails[place] = min(left, len(text) if weights[place] <= room else _fitting(text[::-1], room))
        room -= min(weights[place], room)
    return _cut(outputs, texts, heads, tails)


def _cut(outputs: Sequence[Output], texts: Sequence[str], heads: Sequence[int], tails: Sequence[int]) -> list[Output]:
    dropped = sum(len(text) - head - tail for text, head, tail in zip(texts, heads, tails, strict=True))
    notice = f"\n[… {dropped:,} characters of output left out of the notebook …]\n"
    capped: list[Output] = []
    for output, text, head, tail in zip(outputs, texts, heads, tails, strict=True):
        if head + tail >= len(text):
            capped.append(output)
            continue
        pieces = text[:head] + notice + (text[-tail:] if tail else "")
        if notice or head or tail or set(output.get("data", {})) - {"text/plain"}:
            capped.append(_with_text(output, pieces))
        # One notice says it for everything between head and tail.
        notice = ""
    return capped


def _text(output: Output) -> str:
    value: Any = output.get("text", "") if output.get("output_type") == "stream" else ""
    if output.get("output_type") in ("execute_result", "display_data"):
        value = output.get("data", {}).get("text/plain", "")
    return value if isinstance(value, str) else "".join(map(str, value)) if isinstance(value, list) else ""


def _with_text(output: Output, text: str) -> Output:
    if output.get("output_type") == "stream":
        return {**output, "text": text}
    return {**output, "data": {**output.get("data", {}), "text/plain": text}}


def _fitting(text: str, room: int) -> int:
    """How many leading characters weigh at most `room`."""
    low, high = 0, min(len(text), max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if weight(text[:middle]) <= room else (low, middle - 1)
    return low
