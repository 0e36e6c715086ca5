"""Recognises lines that stand for code that was left out: `# … rest unchanged`, `// ... existing code ...`, `...`.

Strict on purpose: a comment counts only if it says nothing else. Pure; used by every tool that writes text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

# Patterns stay text: `re` compiles them at the first line that looks like a placeholder, which few edits have.
_DOTS = r"\.{3,}|…"
_COMMENT = (
    r"\s*(?:\{?/\*+|<!--|//+|#+(?!!)|--+|;+|%+|\"\"\"|'''|\(\*|\*(?=\s))\s*"
    r"(?P<text>.*?)"
    r"\s*(?:\*+/\}?|--+>|\"\"\"|'''|\*\))?\s*"
)
_BRACKETED = r"\s*(?:\[(?P<square>.*)\]|\((?P<round>.*)\)|<(?P<angle>[^/].*)>|\{(?P<curly>.*)\})\s*"
_BARE = r"\s*((?:\.{3,}|…)\s*[A-Za-z]\w*\s+\w.*)"
"""Dots and several words: `...rest` alone is JavaScript."""
_LONGEST = 200
"""Characters: a longer line says more than that something was left out."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STRONG = _words("rest remainder remaining existing unchanged omitted elided snipped truncated brevity unmodified")
_WEAK = _words("code same previous original other others more before above implementation here as etc snip")
_FILLING = _words(
    "of the this that your our my all and or is are was be remain remains stay stays keep kept goes go continue"
    " continues follows for in from to with rest file function functions method methods class classes body bodies"
    " logic content contents line lines import imports module script component section block definition definitions"
    " field fields property properties test tests case cases cell notebook part parts stuff things no changes change"
    " not shown left out below already exactly just untouched identical similarly similar way how it were been has have"
)
_SENTENCES = (
    r"\b(rest|remainder) of (the|this|your)\b",
    r"\b(rest|remaining|existing|remainder)\b.*\b(code|implementation|here|same)\b",
    r"\w+ .*\b(unchanged|unmodified|omitted|elided|snipped|truncated)\b",
    r"\b(unchanged|unmodified|omitted|elided|snipped|truncated) \w+",
)
_PYTHON = (".py", ".pyi", ".pyx", ".ipynb")


def is_placeholder_comment(line: str) -> bool:
    """Whether `line` is nothing but a comment (or a bracketed note) that stands for code."""
    if len(line) > _LONGEST or not _may_be(line):
        return False
    comment = re.fullmatch(_COMMENT, line)
    if comment is not None:
        return _stands_for_code(comment["text"], note=False)
    bracketed = re.fullmatch(_BRACKETED, line)
    if bracketed is None:
        bare = re.fullmatch(_BARE, line)
        return bare is not None and _stands_for_code(bare[1], note=True)
    text = next(group for group in bracketed.groups() if group is not None)
    return _stands_for_code(text, note=True)


def _may_be(line: str) -> bool:
    """A cheap test that no placeholder fails."""
    return "..." in line or "…" in line or not _STRONG.isdisjoint(re.findall("[a-z]+", line.lower()))


def _stands_for_code(text: str, *, note: bool) -> bool:
    dotted = re.search(_DOTS, text) is not None
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())
    if re.sub(r"[\s\w'.,:;!…()\[\]{}-]+", "", text):
        return False
    if not words:
        return dotted and not note and not re.sub(r"[\s.…()\[\]{}-]+", "", text)
    known = _STRONG | _WEAK | _FILLING
    strange = [word for word in words if word not in known]
    if len(strange) > (1 if re.match(_DOTS, text) else 0):  # "... rest of the page": dots first excuse one noun
        return False
    strong = sum(word in _STRONG for word in words)
    if dotted:
        return strong > 0 or (any(word in _WEAK for word in words) and not note)
    return not note and strong > 0 and _says_so_in_words(words)


def _says_so_in_words(words: Sequence[str]) -> bool:
    """Without dots it takes a sentence: "rest of the code", "existing code here", "remains unchanged"."""
    text = " ".join(words)
    return text in ("unchanged", "omitted") or any(re.search(pattern, text) for pattern in _SENTENCES)


def is_lone_ellipsis(line: str) -> bool:
    return line.strip() in ("...", "…", "....")


def is_elision(line: str) -> bool:
    """A line that may stand for skipped lines where SEARCH and REPLACE both have it."""
    return is_lone_ellipsis(line) or (("..." in line or "…" in line) and is_placeholder_comment(line))


def omission_placeholders(replace: Sequence[str], search: Sequence[str] = (), filename: str | None = None) -> list[int]:
    """The 0-based numbers of the lines of `replace` that stand for code and that `search` does not have."""
    known = Counter(line.strip() for line in search)
    found = []
    for number, line in enumerate(replace):
        if is_placeholder_comment(line) or (is_lone_ellipsis(line) and not _is_python_body(replace, number, filename)):
            if known[line.strip()] > 0:
                known[line.strip()] -= 1
            else:
                found.append(number)
    return found


def _is_python_body(lines: Sequence[str], number: int, filename: str | None) -> bool:
    """Whether the `...` at `number` is the whole body of a Python block, as in a stub."""
    may_be_python = filename is None or filename.lower().endswith(_PYTHON)
    if not may_be_python or lines[number].strip() != "...":
        return False
    depth = _depth(lines[number])
    before = next((line for line in reversed(lines[:number]) if line.strip()), "")
    after = next((line for line in lines[number + 1 :] if line.strip()), None)
    documented = before.rstrip().endswith(('"""', "'''")) and _depth(before) == depth
    opens = before.split("#")[0].rstrip().endswith(":") and _depth(before) < depth
    return (opens or documented) and (after is None or _depth(after) < depth)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
