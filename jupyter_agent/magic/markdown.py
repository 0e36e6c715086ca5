"""A model's Markdown as inert HTML: no raw HTML, no image that loads by itself, no script links (faults f76, f77)."""

from __future__ import annotations

import functools
import html
from typing import Any


@functools.cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image_as_link)
    return parser


def _image_as_link(_renderer: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """Loading an image tells its server that, and what, the model wanted shown: the person decides."""
    source = html.escape(str(tokens[place].attrGet("src") or ""))
    alt = html.escape(tokens[place].content or "image")
    return f'<a href="{source}" rel="noreferrer">{alt} ({source})</a>'


def inert_html(text: str) -> str:
    """The Markdown as HTML in which only text, tables, code and plain links are left."""
    rendered: str = _parser().render(text)
    return f"<div>{rendered}</div>"
