"""Keeps a tool call that a model writes as text off the screen while it streams. Pure but for its own memory."""

from __future__ import annotations

from jupyter_agent.models.protocol import OnDelta
from jupyter_agent.models.textcalls import CALL_FENCES

_OPENERS = ("{", "[{", "[TOOL_CALLS]", "<tool", "<function", "<<<<<")
_LONGEST = max(map(len, _OPENERS))
_FENCE = "```"


class Holdback:
    """Passes prose and code on as it comes; from the first line that may begin a call it keeps everything back until
    the reply is complete."""

    def __init__(self, show: OnDelta) -> None:
        self._show = show
        self._line = ""
        self._line_passes = False
        self._in_code = False
        self._held: list[str] | None = None

    def feed(self, block: str, text: str) -> None:
        if block == "thinking":
            self._show("thinking", text)
            return
        for piece in text.splitlines(keepends=True):
            self._piece(piece)

    def finish(self, *, withheld_were_calls: bool) -> None:
        """The end of the reply: what was kept back is shown unless it was calls."""
        rest = "".join([*(self._held or []), self._line])
        if rest and not withheld_were_calls:
            self._show("text", rest)
        self._held, self._line = None, ""

    def _piece(self, piece: str) -> None:
        if self._held is not None:
            self._held.append(piece)
            return
        if self._line_passes:
            self._show("text", piece)
            self._line_passes = not piece.endswith("\n")
            return
        self._line += piece
        complete = self._line.endswith("\n")
        verdict = self._verdict(self._line.strip(), complete)
        if verdict == "wait":
            return
        line, self._line = self._line, ""
        if verdict == "hold":
            self._held = [line]
        else:
            self._show("text", line)
            self._line_passes = not complete

    def _verdict(self, line: str, complete: bool) -> str:
        """`pass`, `hold` or `wait`, from a line's beginning as far as it came."""
        if line.startswith(_FENCE) or (line and not complete and _FENCE.startswith(line)):
            if not complete:
                return "wait"
            if self._in_code or line.strip("`").strip().lower() not in CALL_FENCES - {"python", "xml"}:
                self._in_code = not self._in_code
                return "pass"
            return "hold"
        if self._in_code or (complete and not line):
            return "pass"
        if any(line.startswith(opener) for opener in _OPENERS):
            return "hold"
        could_become = not complete and len(line) < _LONGEST and any(opener.startswith(line) for opener in _OPENERS)
        return "wait" if could_become else "pass"
