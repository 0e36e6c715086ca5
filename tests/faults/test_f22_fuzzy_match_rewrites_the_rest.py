"""f22: a block that is found tolerantly is spliced into the file's own bytes; nothing else is normalised."""

from __future__ import annotations

import pytest

from jupyter_agent.edit import edit_bytes

ELSEWHERE = "msg = “it’s”  \n\tx\u00a0= 1 – 2   \nend…\t\n\u200b\n"

TOLERANT = {
    "curly quotes": ("say(“hello”)", 'say("hello")', 'say("bye")', 'say("bye")'),
    "trailing blanks": ("a = 1   ", "a = 1", "a = 2", "a = 2"),
    "indentation": ("    a = 1", "a = 1", "a = 2", "    a = 2"),
    "line numbers": ("a = 1", "5\ta = 1", "5\ta = 2", "a = 2"),
    "no-break space": ("a = 1", "a\u00a0= 1", "a\u00a0= 2", "a = 2"),
}


@pytest.mark.parametrize("name", TOLERANT)
def test_f22_only_the_matched_lines_change(name: str) -> None:
    line, search, replace, expected = TOLERANT[name]
    before = f"{ELSEWHERE}{line}\n{ELSEWHERE}".encode()
    assert edit_bytes(before, [(search, replace)]) == f"{ELSEWHERE}{expected}\n{ELSEWHERE}".encode()


def test_f22_lines_the_block_only_repeats_keep_their_bytes() -> None:
    before = "# It’s “fine”  \nlevel = 1\n".encode()
    assert edit_bytes(before, [('# It\'s "fine"\nlevel = 1', '# It\'s "fine"\nlevel = 2')]) == before.replace(
        b"1", b"2"
    )
