"""Cell outputs for the model: text as a reader sees it, images as image blocks, never base64 as text. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.notebook.images import MEDIA_TYPES, Image, load_image
from jupyter_agent.notebook.tables import has_table, html_to_text
from jupyter_agent.notebook.tracebacks import error_line, traceback_text
from jupyter_agent.text import as_seen, clip

Json = dict[str, Any]
Detail = Literal["summary", "full", "none"]

Keep = Callable[[str], str | None]
"""Stores a text that is not shown whole; the handle that `read_output` pages through, None where it cannot be kept."""

SUMMARY = 400
"""Bytes of one output's text in a summary."""
MOST_IMAGES = 8
"""Images shown in one result; further ones are named only."""

_REPR_ONLY = re.compile(r"^<[\w.]+ (?:object|at 0x)[^\n]*>$|^<IPython\.core\.display\.\w+ object>$|^<Axes: |^<Figure ")
_BINARY = re.compile(r"^(?:image|audio|video|font)/|^application/(?:pdf|octet-stream|zip|vnd\.apache)")


@dataclass(frozen=True)
class Shown:
    """One output as it will be shown: `text`, and the image that goes with it."""

    text: str
    image: Image | None = None


def show(output: Output, counts: Mapping[int, str] | None = None) -> Shown:
    """The whole of one output. `counts` maps execution counts to cell ids, for tracebacks."""
    kind = output.get("output_type")
    if kind == "stream":
        text = as_seen(_text(output.get("text", "")))
        return Shown(text if output.get("name") != "stderr" else f"[stderr]\n{text}")
    if kind == "error":
        return Shown(traceback_text(output, counts))
    if kind in ("display_data", "execute_result"):
        return _show_bundle(output.get("data") or {})
    return Shown(f"[output of the unknown type {kind!r}]")


def _show_bundle(data: Mapping[str, Any]) -> Shown:
    plain = as_seen(_text(data.get("text/plain", "")))
    for media_type in MEDIA_TYPES:
        if media_type in data:
            image = load_image(media_type, data[media_type])
            if isinstance(image, str):
                return Shown(image if _REPR_ONLY.match(plain) else f"{image}\n{plain}".rstrip())
            return Shown(image.label if _REPR_ONLY.match(plain) or not plain else f"{image.label} {plain}", image)
    html = _text(data.get("text/html", ""))
    if html and (has_table(html) or not plain or _REPR_ONLY.match(plain)):
        text = as_seen(html_to_text(html))
        if text:
            return Shown(text)
    for mime in ("text/markdown", "text/latex"):
        if mime in data and (not plain or _REPR_ONLY.match(plain)):
            return Shown(as_seen(_text(data[mime])))
    rest = [mime for mime in data if mime not in ("text/plain", "text/html", "text/markdown", "text/latex")]
    if plain and (not rest or not _REPR_ONLY.match(plain)):
        return Shown(plain)
    if "application/json" in data:
        return Shown(json.dumps(data["application/json"], ensure_ascii=False))
    named = "; ".join(_placeholder(mime, data[mime]) for mime in rest)
    return Shown(f"{named} {plain}".strip() if named or plain else "[empty output]")


def _placeholder(mime: str, value: Any) -> str:
    size = len(value) if isinstance(value, str) else len(_text(value) or json.dumps(value))
    return f"[{mime}, {size:,} characters, not shown as text]"


def output_blocks(
    outputs: Sequence[Output],
    counts: Mapping[int, str] | None = None,
    *,
    limit: int | None = None,
    images: int = MOST_IMAGES,
    handle: str | None = None,
    more: str = "",
    keep: Keep | None = None,
) -> list[Json]:
    """Outputs as content blocks of the Messages API: one text block for neighbouring texts, image blocks in place.

    `limit`: bytes of text over all outputs, shared out to the longest ones last; `handle` and `more` as in `text.clip`,
    for the notice where text is cut; without a handle `keep` makes one of the whole text. At most `images` images are
    shown, the rest named.
    """
    shown = [show(output, counts) for output in outputs]
    texts = _within(shown, limit, handle, more, keep)
    blocks: list[Json] = []
    for item, text in zip(shown, texts, strict=True):
        text = text.rstrip("\n")
        show_image = item.image is not None and images > 0
        if item.image is not None and not show_image:
            text = f"{text} (not shown: too many images)"
        if text:
            if blocks and blocks[-1]["type"] == "text":
                blocks[-1]["text"] += "\n" + text
            else:
                blocks.append({"type": "text", "text": text})
        if item.image is not None and show_image:
            images -= 1
            blocks.append(item.image.block())
    return blocks


def _within(shown: Sequence[Shown], limit: int | None, handle: str | None, more: str, keep: Keep | None) -> list[str]:
    texts = [item.text for item in shown]
    if limit is None:
        return texts
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in texts]
    # Short texts stay whole: each gets an equal share, and what they leave goes to the longer ones.
    left, share = limit, limit
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            break
        left -= size
    if handle is None and keep is not None and any(size > share for size in sizes):
        handle = keep("\n".join(text.rstrip("\n") for text in texts if text.strip("\n")))
    return [
        text if size <= share else clip(text, share, handle=handle, more=more)
        for text, size in zip(texts, sizes, strict=True)
    ]


def summary_lines(outputs: Sequence[Output], counts: Mapping[int, str] | None = None) -> list[str]:
    """Each output in a line or a few: enough to know what is there, images and long texts by their size."""
    lines: list[str] = []
    for index, output in enumerate(outputs):
        if output.get("output_type") == "error":
            lines.append(f"[{index}] error: {error_line(output, counts)}")
            continue
        text = show(output, counts).text.strip("\n")
        total = text.count("\n") + 1
        if len(text.encode("utf-8", "surrogatepass")) > SUMMARY:
            head = "\n".join(line[:120] for line in text[: SUMMARY // 2].split("\n")[:3])
            tail = text[-SUMMARY // 4 :].split("\n", 1)[-1]
            text = f"{head}\n… {total:,} lines, {len(text):,} characters in all …\n{tail}"
        lines.append(f"[{index}] {text}" if text else f"[{index}] (blank)")
    return lines


def gist(outputs: Sequence[Output]) -> str:
    """All outputs in a few words, for an outline: `stdout 3 lines, image, error NameError`. Does not decode images."""
    parts: list[str] = []
    for output in outputs[:20]:
        kind = output.get("output_type")
        if kind == "stream":
            count = _text(output.get("text", "")).count("\n") or 1
            parts.append(f"{output.get('name', 'stream')} {count:,} line{'s' if count > 1 else ''}")
        elif kind == "error":
            parts.append(f"error {output.get('ename', '')}".strip())
        else:
            parts.append(_gist_of_bundle(output.get("data") or {}))
    counted = [f"{parts.count(part)} × {part}" if parts.count(part) > 1 else part for part in dict.fromkeys(parts)]
    more = f", {len(outputs) - 20:,} more" if len(outputs) > 20 else ""
    return ", ".join(counted) + more


def _gist_of_bundle(data: Mapping[str, Any]) -> str:
    if any(mime.startswith("image/") for mime in data):
        return "image"
    if has_table(_text(data.get("text/html", ""))[:20_000]):
        return "table"
    if any("widget" in mime for mime in data):
        return "widget"
    plain = _text(data.get("text/plain", "")).strip()
    first = plain.split("\n", 1)[0]
    return f"{first[:40]}…" if len(plain) > 40 else plain or next(iter(data), "empty output")


def brief_outputs(outputs: Sequence[Output], limit: int = 16_000) -> list[Output]:
    """nbformat outputs bounded for the event stream: long texts clipped, binary data replaced by its size."""
    brief: list[Output] = []
    for output in outputs:
        made = {key: value for key, value in output.items() if key != "metadata"}
        if "text" in made:
            made["text"] = clip(_text(made["text"]), limit)
        if isinstance(made.get("data"), dict):
            made["data"] = {mime: _brief(mime, value, limit) for mime, value in made["data"].items()}
        brief.append(made)
    return brief


def _brief(mime: str, value: Any, limit: int) -> Any:
    if _BINARY.match(mime) and mime != "image/svg+xml":
        return f"[{len(_text(value)):,} characters]"
    if isinstance(value, str):
        return clip(value, limit)
    text = json.dumps(value)
    return value if len(text) <= limit else f"[{len(text):,} characters]"


def count_to_id(cells: Sequence[Cell]) -> dict[int, str]:
    """Execution count to cell id, where it names one cell; `In[n]` of a count used twice stays unresolved."""
    found: dict[int, str] = {}
    twice: set[int] = set()
    for cell in cells:
        if cell.execution_count is not None:
            if cell.execution_count in found:
                twice.add(cell.execution_count)
            found[cell.execution_count] = cell.id
    return {count: cell for count, cell in found.items() if count not in twice}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "".join(map(str, value)) if isinstance(value, list) else ""
