"""Sees what code shows inside this very process, while it is shown as ever: streams, displays, results, tracebacks.

Methods of the shell's own objects are wrapped for the time of one run and put back. Only what comes from that run is
taken: code in its context, and threads that are not the main one.
"""

from __future__ import annotations

import asyncio
import base64
import builtins
import contextlib
import getpass
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

Feed = Callable[[str, dict[str, Any]], None]

SHOWN_HEAD, SHOWN_TAIL = 75_000, 25_000
"""Characters of stream text, first and last, that one run shows in the cell that asked (fault f32); the execution's own
outputs keep more, and its spill file the whole."""

JOINED = 16_384
"""Characters of what is printed in one go that are told at once."""

inside: ContextVar[bool] = ContextVar("jupyter_agent_run", default=False)
"""True in the context of code that we run, and of the tasks it starts."""

_MISSING = object()


class StdinNotImplementedError(RuntimeError):
    """Named as ipykernel names it, so that both read the same."""


def _refuse(prompt: object = "", *args: object, **kwargs: object) -> str:
    raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")


@contextlib.contextmanager
def captured(
    shell: Any, feed: Feed, *, show_tracebacks: bool = True, results_as_displays: bool = False
) -> Iterator[None]:
    """Feed the messages a kernel would send about this run, in order. Tracebacks are shown as stderr text, if at all:
    an `error` output in the cell that asked would make papermill and others take that cell for failed. With
    `results_as_displays` results are shown without a number: nbclient gives the cell that asked the number of its last
    `execute_result`, which is the number of another input."""
    capture = _Capture(shell, feed, show_tracebacks, results_as_displays)
    with contextlib.ExitStack() as stack:
        for name in ("stdout", "stderr"):
            stack.enter_context(_replaced(getattr(sys, name), "write", capture.writer(name)))
        publisher, hook = shell.display_pub, shell.displayhook
        stack.enter_context(_replaced(publisher, "publish", capture.publish))
        stack.enter_context(_replaced(publisher, "clear_output", capture.clear_output))
        stack.enter_context(_replaced(hook, "write_format_data", capture.write_format_data))
        for name in ("write_output_prompt", "finish_displayhook"):
            stack.enter_context(_replaced(hook, name, capture.muted(getattr(hook, name))))
        stack.enter_context(_replaced(shell, "_showtraceback", capture.show_traceback))
        stack.enter_context(_no_input(shell))
        stack.callback(capture.end)
        yield


@contextlib.contextmanager
def _no_input(shell: Any) -> Iterator[None]:
    """Refuse input(): the person is at the prompt of the agent, not of the code it runs."""
    kernel = getattr(shell, "kernel", None)
    with contextlib.ExitStack() as stack:
        if kernel is not None and hasattr(kernel, "_allow_stdin"):
            # A trait: it has no entry in the instance's own dictionary that could be put back.
            stack.callback(setattr, kernel, "_allow_stdin", kernel._allow_stdin)
            kernel._allow_stdin = False
        else:
            stack.enter_context(_replaced(builtins, "input", _refuse))
            stack.enter_context(_replaced(getpass, "getpass", _refuse))
        yield


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Set an attribute for a while; afterwards it is as it was, unless the code itself replaced it meanwhile."""
    before = vars(owner).get(name, _MISSING)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if vars(owner).get(name, _MISSING) is value:
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


class _Capture:
    def __init__(self, shell: Any, feed: Feed, show_tracebacks: bool, results_as_displays: bool) -> None:
        self._shell = shell
        self._feed = feed
        self._show_tracebacks = show_tracebacks
        self._results_as_displays = results_as_displays
        self._muted = False
        self._main = threading.get_ident()
        self._printed = _Printed(feed)
        self._shown: dict[str, _Shown] = {}
        self._publish = shell.display_pub.publish
        self._clear_output = shell.display_pub.clear_output
        self._write_format_data = shell.displayhook.write_format_data

    def _ours(self) -> bool:
        return inside.get() or threading.current_thread() is not threading.main_thread()

    def writer(self, name: str) -> Callable[[str], Any]:
        write = getattr(sys, name).write
        shown = self._shown[name] = _Shown(write)
        printed, main = self._printed, self._main

        def tee(text: str) -> Any:
            if self._muted or not isinstance(text, str) or not self._ours():
                return write(text)
            if threading.get_ident() == main:
                printed.add(name, text)
            else:
                self._feed("stream", {"name": name, "text": text})
            shown.write(text)
            return len(text)

        return tee

    def _tell(self, kind: str, content: dict[str, Any]) -> None:
        if threading.get_ident() == self._main:
            self._printed.flush()
        self._feed(kind, content)

    def end(self) -> None:
        """Tell what is still held back, and show what a flood ended with."""
        self._printed.flush()
        for shown in self._shown.values():
            shown.end()

    def muted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` without what it prints counting as the code's output."""

        def quiet(*args: Any, **kwargs: Any) -> Any:
            before, self._muted = self._muted, True
            try:
                return function(*args, **kwargs)
            finally:
                self._muted = before

        return quiet

    def publish(self, data: Any, metadata: Any = None, *args: Any, **kwargs: Any) -> Any:
        if self._ours():
            content = {"data": _encoded(data), "metadata": metadata or {}, "transient": kwargs.get("transient") or {}}
            self._tell("update_display_data" if kwargs.get("update") else "display_data", content)
        return self.muted(self._publish)(data, metadata, *args, **kwargs)

    def clear_output(self, wait: bool = False) -> Any:
        if self._ours():
            self._tell("clear_output", {"wait": wait})
        return self.muted(self._clear_output)(wait)

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> Any:
        if self._ours():
            count = self._shell.displayhook.prompt_count
            content = {"data": _encoded(format_dict), "metadata": md_dict or {}, "execution_count": count}
            self._tell("execute_result", content)
            if self._results_as_displays:
                return self.muted(self._publish)(format_dict, md_dict or {})
        return self.muted(self._write_format_data)(format_dict, md_dict)

    def show_traceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        lines = [str(line) for line in stb] if isinstance(stb, list | tuple) else [str(stb)]
        self._tell("error", {"ename": etype.__name__, "evalue": _text(evalue), "traceback": lines})
        if self._show_tracebacks:
            self.muted(sys.stderr.write)("\n".join(lines) + "\n")


class _Printed:
    """Joins what code prints in one go: to fold each of a million pieces would cost more than the printing."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._name = ""
        self._parts: list[str] = []
        self._size = 0

    def add(self, name: str, text: str) -> None:
        if name != self._name:
            self.flush()
            self._name = name
        if not self._parts:
            # Told at the latest when the code gives way; `end` tells what is left.
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().call_soon(self.flush)
        self._parts.append(text)
        self._size += len(text)
        if self._size >= JOINED:
            self.flush()

    def flush(self) -> None:
        if self._parts:
            text = "".join(self._parts)
            self._parts, self._size = [], 0
            self._feed("stream", {"name": self._name, "text": text})


class _Shown:
    """Passes on the head of a stream, and at the end its tail with a notice of what lies between."""

    def __init__(self, write: Callable[[str], Any]) -> None:
        self._write = write
        self._room = SHOWN_HEAD
        self._left_out = 0
        self._tail: list[str] = []
        self._held = 0

    def write(self, text: str) -> None:
        rest = text
        if self._room:
            head, rest = text[: self._room], text[self._room :]
            self._room -= len(head)
            self._write(head)
        if rest:
            self._left_out += len(rest)
            self._tail.append(rest)
            self._held += len(rest)
            if self._held > 8 * SHOWN_TAIL:
                self._shorten()

    def _shorten(self) -> str:
        tail = "".join(self._tail)[-SHOWN_TAIL:]
        self._tail, self._held = [tail], len(tail)
        return tail

    def end(self) -> None:
        tail = self._shorten()
        if self._left_out > len(tail):
            self._write(f"\n[… {self._left_out - len(tail):,} characters of output are not shown here …]\n")
        if tail:
            self._write(tail)


def _encoded(data: Any) -> dict[str, Any]:
    """A MIME bundle as messages carry it: bytes in base64."""
    if not isinstance(data, Mapping):
        return {}
    return {
        str(mime): base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
        for mime, value in data.items()
    }


def _text(value: Any) -> str:
    """`str(value)` of an exception of the person's, which may itself fail."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__} without text>"
