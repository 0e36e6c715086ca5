"""Comments that stand for code are found, comments that say something are not."""

from __future__ import annotations

import pytest

from jupyter_agent.edit.placeholders import omission_placeholders

PLACEHOLDERS = [
    "# ...",
    "# …",
    "    # ... rest unchanged",
    "# rest of the code",
    "# Rest of the function remains the same",
    "// ... existing code ...",
    "// existing code here",
    "//...",
    "/* ... */",
    "/* rest of the file unchanged */",
    "<!-- ... rest of the page ... -->",
    "-- ... remaining columns omitted",
    "; ... rest ...",
    "{/* ... existing code ... */}",
    "% ... rest of the document",
    "# (remaining methods unchanged)",
    "# unchanged",
    "# ... (rest of the code omitted for brevity) ...",
    "# [... rest of implementation ...]",
    "[... rest of the code ...]",
    "(rest of methods ...)",
    "... rest of the code ...",
    "    ...existing code...",
]
SPEAKING = [
    "# handle the rest of the arguments",
    "# loading other files...",
    "# keep existing rows...",
    "# TODO: ...",
    "# keep in sync with the server",
    "# Other methods",
    "// the same as Array.prototype.map",
    "# unchanged rows are skipped here by the caller",
    "x = 1  # ... rest unchanged",
    "#!/bin/sh",
    "# see https://example.org/...",
    "# existing users keep their password",
    "[...items]",
    "...rest",
    "  ...existing, a,",
    "(...)",
    "print('...')",
    "# 1 ... 10",
    "#include <rest.h>",
    "# -----",
    "",
]


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_placeholder(line: str) -> None:
    assert omission_placeholders(["a()", line]) == [1]
    assert omission_placeholders(["a()", line], ["b()", line]) == []


@pytest.mark.parametrize("line", SPEAKING)
def test_no_placeholder(line: str) -> None:
    assert omission_placeholders([line]) == []


@pytest.mark.parametrize(
    ("lines", "filename", "found"),
    [
        (["def f():", "    ..."], None, []),
        (["class P(Protocol):", "    def a(self) -> int:  # one", '        """Doc."""', "        ..."], "p.pyi", []),
        (["def f():", "    ...", "    return 1"], "a.py", [1]),
        (["..."], "a.py", [0]),
        (["function f() {", "    ...", "}"], "a.js", [1]),
        (["if a:", "    ..."], "a.sh", [1]),
    ],
)
def test_lone_ellipsis(lines: list[str], filename: str | None, found: list[int]) -> None:
    assert omission_placeholders(lines, filename=filename) == found


def test_each_line_of_search_excuses_one() -> None:
    assert omission_placeholders(["# ...", "# ..."], ["# ..."]) == [1]
