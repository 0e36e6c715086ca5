"""HTML outputs as compact text: tables as rows of values, the rest as its words. Pure, standard library."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_HIDDEN = {"style", "script", "head", "title", "template", "svg"}
_BREAKS = {"p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "section"}


def html_to_text(html: str) -> str:
    """What a reader sees: cells of a table row joined by ` | `, other text with its line breaks."""
    parser = _Reader()
    parser.feed(html)
    parser.close()
    return parser.text()


def has_table(html: str) -> bool:
    return re.search(r"<table\b", html, re.IGNORECASE) is not None


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._words: list[str] = []
        self._row: list[str] | None = None
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag == "tr":
            self._end_line()
            self._row = []
        elif tag in ("td", "th"):
            self._words = []
            span = dict(attrs).get("colspan")
            self._span = min(int(span), 100) if span and span.isdigit() else 1
        elif tag in _BREAKS and self._row is None:
            self._end_line()

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(self._hidden - 1, 0)
        elif tag in ("td", "th") and self._row is not None:
            self._row += [" ".join("".join(self._words).split()), *[""] * (self._span - 1)]
            self._words = []
        elif tag == "tr" and self._row is not None:
            self._lines.append(" | ".join(self._row).rstrip())
            self._row = None
            self._words = []
        elif tag in _BREAKS and self._row is None:
            self._end_line()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._words.append(data)

    def _end_line(self) -> None:
        line = " ".join("".join(self._words).split())
        if line:
            self._lines.append(line)
        self._words = []

    def text(self) -> str:
        if self._row is not None:
            self._lines.append(" | ".join(self._row).rstrip())
        self._end_line()
        return "\n".join(self._lines)
