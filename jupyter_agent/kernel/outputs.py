"""Folds kernel messages into nbformat outputs, bounded in size.

Touches nothing but the spill file, which is written only when text is left out and a folder was given for it.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

from jupyter_agent.kernel.protocol import Output
from jupyter_agent.text import strip_ansi

TEXT_LIMIT = 900_000
"""Weight of the text that one execution keeps, so that a flood grows the notebook by less than 1 MB (fault f32)."""

RICH_LIMIT = 50_000_000
"""Bytes of rich data (images, HTML, widgets) that one execution keeps; plots are the person's work: the cap is wide."""

COUNT_LIMIT = 5_000
"""Outputs that one execution keeps."""

LINE_WEIGHT = 14
"""What a line costs beyond its text in an .ipynb: indentation, quotes, escape, comma, newline."""

Json = Mapping[str, Any]


def weight(text: str) -> int:
    """Bytes of `text` as a notebook file stores stream text: a list of lines, indented, in JSON."""
    escaped = text.count('"') + text.count("\\") + 5 * text.count("\x1b") + text.count("\r")
    return len(text.encode("utf-8", "surrogatepass")) + escaped + LINE_WEIGHT * text.count("\n")


@dataclass(eq=False)
class _Item:
    """One output. A stream's text is kept in pieces so that a long one is cut and appended to without copying."""

    output: Output
    pieces: deque[tuple[str, int]] | None = None
    rich: int = 0
    text: int = 0
    room: Literal["head", "kept", "tail", "gone"] = "head"

    @classmethod
    def stream(cls, name: str) -> _Item:
        return cls({"output_type": "stream", "name": name}, deque())

    def add(self, text: str, size: int) -> None:
        assert self.pieces is not None
        self.pieces.append((text, size))
        self.text += size

    def as_output(self) -> Output:
        if self.pieces is None:
            return self.output
        return {**self.output, "text": "".join(text for text, _ in self.pieces)}


class Outputs:
    """The outputs of one execution as messages arrive, in nbformat 4 form.

    Streams are coalesced, `clear_output` (also `wait`) and display ids are honoured. Text beyond `TEXT_LIMIT` loses its
    middle: the first half stays, the last half moves along, a notice stands between; the whole stream text then
    goes to a file in `spill_folder`. Images and other rich data stay up to `RICH_LIMIT`.
    """

    def __init__(self, spill_folder: Path | None = None, *, text_limit: int = TEXT_LIMIT) -> None:
        self._half = text_limit // 2
        self._spill_folder = spill_folder
        self._spill: TextIO | None = None
        self.spill_path: str | None = None
        self.error: tuple[str, str, list[str]] | None = None
        self._capturing: set[str] = set()
        self._clear()

    def _clear(self) -> None:
        self._head: list[_Item] = []
        self._kept: list[_Item] = []
        self._tail: deque[_Item] = deque()
        self._head_text = self._tail_text = self._rich = 0
        self._left_out = 0
        self._rich_left_out = 0
        self._cutting = False
        self._clear_next = False
        self._displays: dict[str, list[_Item]] = {}
        if self._spill is not None:
            self._spill.seek(0)
            self._spill.truncate()

    @property
    def truncated(self) -> bool:
        return self._left_out > 0 or self._rich_left_out > 0

    def fold(self, message_type: str, content: Json) -> bool:
        """Take in one iopub message; true when the outputs changed. Unknown and malformed messages change nothing.

        What is shown while an output widget of ipywidgets captures is that widget's, as in any front end.
        """
        if message_type in ("comm_open", "comm_msg", "comm_close"):
            self._watch_captures(message_type, content)
            return False
        if self._capturing:
            return False
        if message_type == "clear_output":
            if content.get("wait"):
                self._clear_next = True
                return False
            self._clear()
            return True
        if message_type == "update_display_data":
            return self._update(content)
        if message_type == "stream":
            text = content.get("text")
            if not isinstance(text, str) or not text:
                return False
            self._before_output()
            self._stream("stderr" if content.get("name") == "stderr" else "stdout", text)
            return True
        item = self._item(message_type, content)
        if item is None:
            return False
        self._before_output()
        self._append(item)
        display_id = _display_id(content)
        if message_type != "error" and display_id is not None:
            self._displays.setdefault(display_id, []).append(item)
        return True

    def _watch_captures(self, message_type: str, content: Json) -> None:
        """An output widget captures while the `msg_id` in its state is not empty."""
        widget, data = content.get("comm_id"), content.get("data")
        state = data.get("state") if isinstance(data, dict) else None
        if isinstance(state, dict) and "msg_id" in state and state["msg_id"] and message_type != "comm_close":
            self._capturing.add(str(widget))
        elif message_type == "comm_close" or (isinstance(state, dict) and "msg_id" in state):
            self._capturing.discard(str(widget))

    def outputs(self) -> list[Output]:
        """The outputs as they stand. Neighbouring parts of one stream are joined; the notice is stream text."""
        items = [*self._head, *self._notice(), *self._kept, *self._tail]
        joined: list[Output] = []
        for output in (item.as_output() for item in items):
            last = joined[-1] if joined else None
            if last and output["output_type"] == last["output_type"] == "stream" and output["name"] == last["name"]:
                last["text"] += output["text"]
            elif output["output_type"] != "stream" or output["text"]:
                joined.append(output)
        return joined

    def close(self) -> None:
        """Close the spill file; the outputs stay readable."""
        if self._spill is not None:
            self._spill.close()
            self._spill = None

    # ---------------------------------------------------------------------------------------------- what is kept

    def _before_output(self) -> None:
        if self._clear_next:
            self._clear()

    def _item(self, message_type: str, content: Json) -> _Item | None:
        if message_type in ("display_data", "execute_result"):
            data, metadata = _bundle(content)
            output: Output = {"output_type": message_type, "data": data, "metadata": metadata}
            if message_type == "execute_result":
                output["execution_count"] = content.get("execution_count")
            return self._weighed(_Item(output))
        if message_type == "error":
            self.error = error_of(content)
            trace = [_cut(str(line), self._half // 4) for line in content.get("traceback") or []]
            evalue = _cut(str(content.get("evalue", "")), self._half // 4)
            output = {
                "output_type": "error",
                "ename": str(content.get("ename", "")),
                "evalue": evalue,
                "traceback": trace,
            }
            item = _Item(output)
            item.text = sum(weight(line) for line in trace) + weight(evalue)
            return item
        return None

    def _weighed(self, item: _Item) -> _Item:
        """Plain text alone counts as text (and is cut when huge); a bundle with anything richer counts as rich."""
        data = item.output["data"]
        plain = data.get("text/plain")
        if isinstance(plain, str) and weight(plain) > self._half // 2:
            data["text/plain"] = plain = _cut(plain, self._half // 2)
        if set(data) <= {"text/plain"}:
            item.text, item.rich = weight(plain or ""), 0
        else:
            item.text, item.rich = 0, sum(_size(value) for value in data.values())
        return item

    def _stream(self, name: str, text: str) -> None:
        # A single message may be larger than the whole budget: feed it in parts that trimming can drop one by one.
        step = max(1, self._half // 16)
        for start in range(0, len(text), step):
            part = text[start : start + step]
            self._stream_part(name, part, weight(part))

    def _stream_part(self, name: str, text: str, size: int) -> None:
        if not self._cutting and self._head_text + size > self._half:
            self._cutting = True
        room = self._tail if self._cutting else self._head
        last = room[-1] if room else None
        if last is None or last.pieces is None or last.output["name"] != name:
            last = _Item.stream(name)
            room.append(last)
            last.room = "tail" if self._cutting else "head"
        if self._spill is not None:
            self._spill.write(text)
        last.add(text, size)
        self._count(size)
        self._trim()

    def _append(self, item: _Item) -> None:
        if not self._cutting and self._head_text + item.text > self._half:
            self._cutting = True
        if self._rich + item.rich > RICH_LIMIT:
            item.rich = 0
            item.output["data"] = {"text/plain": "[not kept: this cell's displays exceed 50 MB]"}
            self._rich_left_out += 1
        self._rich += item.rich
        item.room = "tail" if self._cutting else "head"
        (self._tail if self._cutting else self._head).append(item)
        self._count(item.text)
        self._trim()

    def _count(self, size: int) -> None:
        if self._cutting:
            self._tail_text += size
        else:
            self._head_text += size
            if len(self._head) >= COUNT_LIMIT // 2:
                self._cutting = True

    def _trim(self) -> None:
        """Drop the oldest text of the tail until it fits; rich outputs move to where the cut is."""
        while self._tail_text > self._half or len(self._tail) > COUNT_LIMIT // 2:
            oldest = self._tail[0]
            if oldest.rich and len(self._kept) < COUNT_LIMIT:
                oldest.room = "kept"
                self._kept.append(self._tail.popleft())
                continue
            if not self._left_out:
                self._start_spill()
            if oldest.pieces:
                text, size = oldest.pieces.popleft()
                oldest.text -= size
                self._tail_text -= size
                self._left_out += len(text)
            else:
                self._tail_text -= oldest.text
                self._rich -= oldest.rich
                self._left_out += max(1, oldest.text)
                oldest.text = oldest.rich = 0
            if not oldest.pieces:
                oldest.room = "gone"
                self._tail.popleft()

    def _start_spill(self) -> None:
        """Nothing was left out so far, so the whole text is what is held now; from here on it is appended."""
        if self._spill_folder is None or self._spill is not None:
            return
        self._spill_folder.mkdir(parents=True, exist_ok=True)
        descriptor, self.spill_path = tempfile.mkstemp(prefix="output-", suffix=".txt", dir=self._spill_folder)
        self._spill = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="")
        for item in (*self._head, *self._kept, *self._tail):
            for text, _ in item.pieces or ():
                self._spill.write(text)

    def flush(self) -> None:
        """Make the spilled text readable through its file."""
        if self._spill is not None:
            self._spill.flush()

    def _notice(self) -> list[_Item]:
        if not self._left_out:
            return []
        # The name of the spill file stays out of it: this text is saved with the notebook.
        item = _Item.stream(self._head[-1].output["name"] if self._head and self._head[-1].pieces else "stdout")
        item.add(f"\n[… {self._left_out:,} characters of output left out here …]\n", 0)
        return [item]

    def _update(self, content: Json) -> bool:
        items = self._displays.get(_display_id(content) or "", [])
        for item in items:
            if item.room == "gone":
                continue
            data, metadata = _bundle(content)
            text, rich = item.text, item.rich
            # A new dict: snapshots given out earlier stay as they were.
            item.output = {**item.output, "data": data, "metadata": metadata}
            self._weighed(item)
            self._rich += item.rich - rich
            if item.room == "tail":
                self._tail_text += item.text - text
            else:
                self._head_text += item.text - text
        return bool(items)


def error_of(content: Json) -> tuple[str, str, list[str]]:
    """(ename, evalue, traceback lines) without escape sequences, from an `error` message or an error reply."""
    trace = [line for entry in content.get("traceback") or [] for line in strip_ansi(str(entry)).split("\n")]
    return strip_ansi(str(content.get("ename", ""))), strip_ansi(str(content.get("evalue", ""))), trace


def _bundle(content: Json) -> tuple[dict[str, Any], dict[str, Any]]:
    data, metadata = content.get("data"), content.get("metadata")
    return dict(data) if isinstance(data, Mapping) else {}, dict(metadata) if isinstance(metadata, Mapping) else {}


def _display_id(content: Json) -> str | None:
    transient = content.get("transient")
    display_id = transient.get("display_id") if isinstance(transient, Mapping) else None
    return display_id if isinstance(display_id, str) else None


def _size(value: Any) -> int:
    """Rough bytes of one entry of a MIME bundle; nested JSON is measured by its text."""
    return len(value) if isinstance(value, str) else len(repr(value))


def _cut(text: str, limit: int) -> str:
    """`text` with its middle left out when it weighs more than `limit`."""
    if weight(text) <= limit:
        return text
    share = limit * len(text) // (2 * weight(text))
    left_out = len(text) - 2 * share
    return f"{text[:share]}\n[… {left_out:,} characters left out here …]\n{text[len(text) - share :]}"
