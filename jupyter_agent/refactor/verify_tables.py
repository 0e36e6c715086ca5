"""HTML output compared by what its tables hold, not by how they are marked up. Pure."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from jupyter_agent.refactor.verify_text import Rules, normal, same_text

_RANDOM_IDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\bT_[0-9a-f]{5}(?=_|\b)"), "T_ID"),  # pandas' Styler
    (re.compile(r"\bsk-(container|estimator)-id-\d+"), r"sk-\1-id"),  # scikit-learn's diagrams
    (re.compile(r"\b[mpch][0-9a-f]{10}\b"), "ID"),  # matplotlib's markers and clip paths in SVG
    (re.compile(r"<dc:date>[^<]*</dc:date>"), "<dc:date/>"),
)


_FRAME_STYLE = re.compile(r"<style(?: scoped)?>(?:\s*\.dataframe [^{}]*\{[^{}]*\})+\s*</style>\s*")
"""The layout that pandas puts before each frame, not the same in all its versions; a Styler's own is of `#T_…`."""


class _Tables(HTMLParser):
    """Collects each outermost table as rows of cell texts, and the markup outside of tables."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self.outside: list[str] = []
        self._depth = 0
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self.tables.append([])
                self.outside.append("<table>")
                return
        if not self._depth:
            self.outside.append(self.get_starttag_text() or "")
        elif tag == "tr":
            self.tables[-1].append([])
            self._in_cell = False
        elif tag in ("td", "th"):
            if not self.tables[-1]:
                self.tables[-1].append([])
            self.tables[-1][-1].append("")
            self._in_cell = True
        elif self._in_cell and tag == "img":
            # A picture in a cell is a value.
            self.handle_data(dict(attrs).get("src") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._depth = max(self._depth - 1, 0)
            self._in_cell = self._depth > 0
        elif tag in ("td", "th"):
            self._in_cell = False
        elif not self._depth:
            self.outside.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._depth:
            self.outside.append(data)
        elif self._in_cell:
            self.tables[-1][-1][-1] += data
        elif data.strip():
            self.outside.append(data)  # a caption


def without_random_ids(markup: str) -> str:
    """`markup` with the identifiers that libraries draw anew for each output replaced by constants."""
    for pattern, replacement in _RANDOM_IDS:
        markup = pattern.sub(replacement, markup)
    return markup


def same_html(old: str, new: str, rules: Rules) -> bool:
    """Whether two pieces of HTML show the same: tables cell by cell with the text rules, all else as markup."""
    old, new = (_FRAME_STYLE.sub("", without_random_ids(markup)) for markup in (old, new))
    if old == new:
        return True
    before, after = _parsed(old), _parsed(new)
    if [[len(row) for row in table] for table in before.tables] != [
        [len(row) for row in table] for table in after.tables
    ]:
        return False
    old_cells = [cell for table in before.tables for row in table for cell in row]
    new_cells = [cell for table in after.tables for row in table for cell in row]
    pairs = [*zip(old_cells, new_cells, strict=True), ("".join(before.outside), "".join(after.outside))]
    return all(same_text(normal(a.strip(), rules), normal(b.strip(), rules), rules) for a, b in pairs)


def _parsed(markup: str) -> _Tables:
    parser = _Tables()
    parser.feed(markup)
    parser.close()
    return parser
