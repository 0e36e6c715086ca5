"""Code in a throw-away copy of a live Python kernel: the request that does it there, and what its reply means.

`forked.py` and `forked_copy.py` do the work, sent as text to a kernel of its own or called in this process.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jupyter_agent.errors import KernelError
from jupyter_agent.kernel import inspection
from jupyter_agent.kernel.execution import Error, Verdict

MEMORY = 4 * 2**30
"""Bytes that a copy may allocate beyond what the kernel has, unless a quarter of the machine's memory is less."""

OFFER = (
    "Run it in the live kernel under names of its own (scratch=false), or offer the person a fresh kernel "
    "(verify_notebook runs the whole notebook in one)."
)
IMPORT = "from jupyter_agent.kernel.forked_copy import become_copy\n"


@dataclass(frozen=True)
class ScratchRequest:
    """An execute_request that makes the copy, waits for its end and leaves no trace in the kernel."""

    code: str
    seconds: float
    memory: int

    def content(self) -> dict[str, Any]:
        values = f"get_ipython(), {self.code!r}, {self.seconds!r}, {self.memory!r}"
        expression = f"{_module()}.scratch({values})"
        return {
            # A figure that a cell of the person's left open must not be shown and closed by this request.
            "code": inspection.quiet(),
            "silent": True,
            "store_history": False,
            "user_expressions": {"scratch": expression},
            "allow_stdin": False,
            "stop_on_error": False,
        }

    def verdict(self, reply: Mapping[str, Any], shown: Error | None) -> Verdict:
        """From the reply's content; `shown` is the error among the outputs."""
        ended = inspection.json_expression(reply, "scratch")
        if ended is None:
            if reply.get("status") == "aborted":
                return Verdict("aborted")
            result = reply.get("user_expressions", {}).get("scratch", reply)
            if result.get("ename") == "KeyboardInterrupt":
                return Verdict("interrupted", ("KeyboardInterrupt", "", []))
            reason = f"{result.get('ename', 'no answer')}: {str(result.get('evalue', ''))[:200]}"
            return Verdict("aborted", advice=f"No copy of this kernel could be made ({reason}). {OFFER}")
        return judge(ended, shown, self.seconds)


def request(language: str, code: str, seconds: float, memory: int | None = None) -> ScratchRequest:
    """`seconds` and `memory` (bytes) bound the copy. Raises KernelError("unsupported") for other languages."""
    if language != "python":
        raise KernelError(
            f"A copy can be made of Python kernels only, and this one speaks {language or 'another language'}. {OFFER}",
            kind="unsupported",
        )
    return ScratchRequest(code, seconds, memory or memory_limit())


def judge(ended: Mapping[str, Any], shown: Error | None, seconds: float) -> Verdict:
    """The verdict on what `relay` returned."""
    status, reason, count = ended.get("status"), str(ended.get("reason", "")), ended.get("count")
    if status == "ok":
        return Verdict("ok", count=count)
    if status == "error":
        return Verdict("error", shown or ("Error", reason, []), count=count)
    if status == "timeout":
        advice = "The copy was ended with everything it had started; the kernel itself was not touched."
        return Verdict("error", ("TimeoutError", f"still running after {seconds:g} s", []), advice, count)
    if status == "interrupted":
        return Verdict("interrupted", ("KeyboardInterrupt", "", []), count=count)
    if status == "refused":
        return Verdict("aborted", advice=f"Not run in a scratch copy: {reason}. {OFFER}")
    return Verdict("error", ("ScratchEnded", reason, []), "The kernel itself was not touched.", count)


def memory_limit() -> int:
    """Bytes that a copy may allocate beyond what the kernel has."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return MEMORY
    return min(MEMORY, whole // 4)


@cache
def _module() -> str:
    """An expression for the module `forked` made of its text. It is kept in `sys.modules`, not in the namespace, since
    compiling it takes longer than forking."""
    text, more = copy_source(), process_source()
    name = f"_scratch_{hashlib.sha256((text + more).encode()).hexdigest()[:12]}"
    make = (
        f"(lambda m, run: (run({text!r}, m.__dict__), run({more!r}, m.__dict__), "
        f"__import__('sys').modules.__setitem__({name!r}, m), m)[-1])"
        f"(__import__('types').ModuleType({name!r}), __import__('builtins').exec)"
    )
    return f"(__import__('sys').modules.get({name!r}) or {make})"


@cache
def copy_source() -> str:
    return _source("forked_copy.py")


@cache
def process_source() -> str:
    """`forked.py`, to be executed in a namespace in which `copy_source` was executed."""
    text = _source("forked.py")
    assert IMPORT in text
    return text.replace(IMPORT, "")


def _source(name: str) -> str:
    return files("jupyter_agent.kernel").joinpath(name).read_text(encoding="utf-8")


async def scratch_here(
    shell: Any,
    code: str,
    seconds: float,
    feed: Callable[[str, dict[str, Any]], None],
    stopped: Callable[[], bool],
    shown: Callable[[], Error | None],
) -> Verdict:
    """The same for the kernel that this very process is: forks here, waits without blocking the loop.

    Called on the main thread; `feed` is called on the loop. `shown` gives the error among the outputs in the end.
    """
    from jupyter_agent.kernel import forked

    links = forked.descriptors().values() if sys.platform.startswith("linux") else ()
    reason = forked.objection(code, shell.user_ns, sys.modules, links)
    if reason:
        return judge({"status": "refused", "reason": reason}, None, seconds)
    loop = asyncio.get_running_loop()

    def send(kind: str, content: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(feed, kind, content)

    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    copy = forked.Copy(shell, code, seconds, memory_limit())
    relaying = asyncio.ensure_future(asyncio.to_thread(copy.relay, seconds, send, stopped))
    try:
        ended = await asyncio.shield(relaying)
    except asyncio.CancelledError:
        copy.kill()
        await relaying
        raise
    # What the thread sent last is on its way through the loop.
    await asyncio.sleep(0)
    return judge({**ended, "count": shell.execution_count}, shown(), seconds)
