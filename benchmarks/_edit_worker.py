"""Times one edit engine, in the interpreter that has it: `python _edit_worker.py ENGINE`, a JSON case a line on stdin.

Answers each case with a JSON line: `seconds` of the engine's call alone, `outcome`, and `peak` bytes where asked for.
The engines get the text in memory, so that none is timed for its way of reading and writing files.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

Blocks = Sequence[tuple[str, str]]
Engine = Callable[[str, Blocks], Callable[[], str]]
"""Prepares a run for a text and its blocks: what is returned is what is timed, and says what came out."""


def program(lines: int) -> list[str]:
    """Distinct lines of about 30 characters: a class whose methods have six lines each."""
    method = (
        "    def method_{0}(self, value):",
        "        total_{0} = value + {0}",
        "        if total_{0} > {1}:",
        "            total_{0} -= self.step",
        "        return self.keep(total_{0})",
        "",
    )
    return [method[number % 6].format(number // 6, number % 97) for number in range(lines)]


def blocks_of(source: list[str], scenario: str, count: int) -> Blocks:
    """`count` blocks of four lines, evenly spread, that change one line each."""
    found = []
    for number in range(count):
        start = len(source) * (2 * number + 1) // (2 * count) // 6 * 6
        search = source[start : start + 4]
        replace = [line.replace("value +", "value -") for line in search]
        if scenario == "indentation":
            search, replace = [line[4:] for line in search], [line[4:] for line in replace]
        if scenario == "no match":
            search = [line.replace("total_", "totals_") for line in search]
        found.append(("\n".join(search), "\n".join(replace)))
    return found


@lru_cache(maxsize=1)
def case(name: str, lines: int, count: int) -> tuple[str, Blocks]:
    """The text and the blocks of one case; `lines` and `count` are given for the ordinary ones."""
    if name == "60 equal lines, 4 ambiguous blocks":
        return "pad = 0\n" * 60, [("pad = 0", "pad = 1")] * 4
    if name == "2,000 equal lines, block of one":
        return "pad = 0\n" * 2000, [("pad = 0", "pad = 1")]
    if name == "2,000 equal lines, block of 600":
        return "pad = 0\n" * 2000, [("\n".join(["  pad = 0"] * 600), "pad = 1")]
    if name == "600-line block without a match":
        source = program(10_000)
        return "\n".join(source) + "\n", [("\n".join(source[3000:3599]) + "\nabsent", "pad = 1")]
    source = program(lines)
    return "\n".join(source) + "\n", blocks_of(source, name, count)


def ours(text: str, blocks: Blocks) -> Callable[[], str]:
    from jupyter_agent.edit import EditRefused, edit_bytes

    data = text.encode()

    def run() -> str:
        try:
            edit_bytes(data, blocks)
        except EditRefused as refused:
            return refused.kind
        return "applied"

    return run


def wcgw(text: str, blocks: Blocks) -> Callable[[], str]:
    from wcgw.client.file_ops.search_replace import search_replace_edit

    marked = "\n".join(f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE" for old, new in blocks).split("\n")

    def run() -> str:
        try:
            search_replace_edit(marked, text, lambda _: None)
        except Exception as error:  # its own and, on long blocks, RecursionError
            return type(error).__name__
        return "applied"

    return run


def aider(text: str, blocks: Blocks) -> Callable[[], str]:
    from aider.coders.editblock_coder import do_replace, find_similar_lines

    def run() -> str:
        content, failed = text, 0
        for old, new in blocks:
            changed = do_replace(Path(__file__), content, old + "\n", new + "\n", ("```", "```"))
            if changed:
                content = changed
            else:
                failed += 1
                find_similar_lines(old, content)
        return f"{failed} failed" if failed else "applied"

    return run


def main(engine: Engine) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        run = engine(*case(request["name"], request["lines"], request["count"]))
        if request.get("memory"):
            tracemalloc.start()
        gc.collect()
        start = time.perf_counter()
        outcome = run()
        answer = {"seconds": time.perf_counter() - start, "outcome": outcome}
        if request.get("memory"):
            answer["peak"] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main({"ours": ours, "wcgw": wcgw, "aider": aider}[sys.argv[1]])
