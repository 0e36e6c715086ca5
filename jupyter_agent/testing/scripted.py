r"""A real HTTP server on 127.0.0.1 that speaks the Messages API from a script, faults included.

It listens on loopback only and touches no file except the script and what `--record` names. Use it in a test::

    with ScriptedServer([{"text": "Hello"}]) as server:      # or `async with`
        client = anthropic.AsyncAnthropic(base_url=server.url, api_key="any")

or from a shell, where the first line of output is the URL and the exit code is 1 if a request did not fit::

    python -m jupyter_agent.testing.scripted SCRIPT.jsonl [--port 0] [--record REQUESTS.jsonl]

Endpoints: `POST /v1/messages` (streamed or not), `POST /v1/messages/count_tokens`, `GET /v1/models[/ID]`; any path
before `/v1` is accepted, as gateways have one. Requests that the real service would refuse (an unpaired tool call,
an empty text block, an invalid image, a thinking block whose earlier messages were edited) are answered with 400
and recorded, unless the script says `{"server": {"strict": false}}`.

SCRIPT: one JSON object a line; blank lines and lines that start with `#` are skipped. One line is one reply, in order:

- `text`, `thinking`, `calls: [{name, arguments, id?}]`: the content, in the order thinking, text, calls; or `content`:
  the blocks exactly as the API would give them. `as_text: "fence" | "tag" | "bare"` writes the calls as text instead.
- `cut: true` ends the last block in its middle with stop reason `max_tokens` (a tool call cut short). `stop_reason`,
  `stop_details`, `model` and `usage: {input, output, cache_read, cache_write}` override what would be said; by default
  usage is estimated from the request's size, with the cache hits a real prefix cache would have.
- `expect: {matcher: value}`: a request that does not fit is answered with 400, and recorded in `failures`. Matchers:
  `last_contains last_lacks last_matches` (text of the newest message; a string or a list), `tool_result_contains
  tool_result_lacks` (its tool results), `tool_result_error` (true or false), `n_tool_results`, `n_messages`, `model`,
  `system_contains`, `any_contains` (all messages), `tools_include`, `tools_exclude`, and `body: {"thinking.type":
  "adaptive", "messages.-1.role": "user"}` (dotted paths).
- `when: {matcher: value}`: the line is not part of the sequence; it answers the first request that fits it.
- `repeat: N | "forever"`; `delay`: seconds before the headers; `pause`: seconds between two events.
- `pause_until: NAME` holds the stream until `server.gate(NAME).open()`; `file:PATH` until that file exists.
  `pause_at: "headers" | "delta" (the first one, the default) | "stop"` says where.
- `fault`: `{"status": 529, "retry_after": 3, "type": …, "message": …, "body": …, "headers": {…}}`, or one of
  `close_before_headers reset stall_before_headers html_200 not_streamed` (no stream), `close_after_headers stall
  sse_error clean_cut close_midway bad_json no_stop_reason` (in the stream), also as `{"kind": "sse_error", "after": 3,
  "type": "overloaded_error"}`, where `after` counts the events sent before it. `refused_url()` refuses connections.
- `comment`: ignored.

Templates in `text`, `thinking`, `calls` and `content` are filled from the request, so that a script can use the ids
and hashes that tools returned: `{{regex:id=(\S+) hash=(\S+) .*plot:2}}` is group 2 (default 1, or the whole match) of
the first match in the newest tool results (`^` and `$` match at lines); `{{regex#-1:…}}` the last match,
`{{anywhere:…}}` searches all messages, newest first, `{{system:…}}` the system prompt, and a string that is only
`{{number:…}}` becomes a JSON number. `save: ["id=(?P<cell>\\S+)"]` keeps named groups for `{{saved:cell}}` in this
and later lines. A template that finds nothing is a failure like a matcher's.

A line `{"server": {"models": [{"id", "max_input_tokens", "max_tokens", "capabilities"}] | null, "api_key": "…",
"strict": true}}` sets what `/v1/models` says (null: 404; by default `scripted-1`, and any id asked for) and which key
is right (others get 401).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from jupyter_agent.testing.handler import Handler, Request
from jupyter_agent.testing.script import Line, Script, ScriptError, load, mismatches
from jupyter_agent.testing.validate import problems
from jupyter_agent.testing.wire import PromptCache

__all__ = ["Gate", "Request", "ScriptedServer", "main", "refused_url"]

Json = dict[str, Any]


class Gate:
    """Holds a scripted stream. `reached` is set when a reply waits here; `open` lets it, and all later ones, pass."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def open(self) -> None:
        self.opened.set()

    async def wait_reached(self, timeout: float = 10) -> None:
        """Raises TimeoutError when no reply comes here within `timeout` seconds."""
        if not await asyncio.to_thread(self.reached.wait, timeout):
            raise TimeoutError("no scripted reply reached the gate")


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], owner: ScriptedServer) -> None:
        super().__init__(address, Handler)
        self.owner = owner
        self.connections: dict[threading.Thread, socket.socket] = {}

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.connections[threading.current_thread()] = request
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.pop(threading.current_thread(), None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if not isinstance(error, OSError):  # a client that hangs up is no failure
            self.owner.fail(f"the scripted server itself failed: {error!r}")


class ScriptedServer:
    """The server as a context manager, sync or async.

    `script` is the text of a script, a path to one, or an iterable of dicts. Leaving the block raises AssertionError
    when a request did not fit (`check_on_exit=False` leaves that to the test). `url`, `requests` (every request, in
    order), `messages` (bodies of POST /v1/messages) and `failures` may be read at any time from any thread.
    """

    def __init__(
        self, script: str | Path | Iterable[Mapping[str, Any]] = (), *, port: int = 0, check_on_exit: bool = True
    ) -> None:
        text = script.read_text(encoding="utf-8") if isinstance(script, Path) else script
        self._script: Script = load(text)
        self._port = port
        self._check_on_exit = check_on_exit
        self._lock = threading.Lock()
        self._gates: dict[str, Gate] = {}
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None
        self._answered = 0
        self.closing = threading.Event()
        self.cache = PromptCache()
        self.requests: list[Request] = []
        self.failures: list[str] = []
        self.url = ""

    # --- life ---------------------------------------------------------------------------------------------------

    def start(self) -> ScriptedServer:
        self._http = _Http(("127.0.0.1", self._port), self)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, name="scripted-server", daemon=True
        )
        self._thread.start()
        return self

    def close(self) -> None:
        """Stops listening, drops every connection and waits for their threads. Idempotent."""
        self.closing.set()
        http, self._http = self._http, None
        if http is None:
            return
        http.shutdown()
        http.server_close()
        for thread, connection in list(http.connections.items()):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=5)
        if self._thread is not None:
            self._thread.join(timeout=5)

    def __enter__(self) -> ScriptedServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if kind is None and self._check_on_exit:
            self._raise_failures()

    async def __aenter__(self) -> ScriptedServer:
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)
        if kind is None and self._check_on_exit:
            self._raise_failures()

    # --- what a test asks -----------------------------------------------------------------------------------------

    def gate(self, name: str) -> Gate:
        with self._lock:
            return self._gates.setdefault(name, Gate())

    @property
    def messages(self) -> list[Json]:
        return [r.body for r in self.requests if r.path.endswith("/v1/messages") and r.body is not None]

    def check(self) -> None:
        """Raises AssertionError when a request did not fit, or when a reply of the script was never asked for."""
        self._raise_failures()
        unused = self._script.unused()
        if unused:
            raise AssertionError(f"replies never asked for: lines {[line.number for line in unused]}")

    def _raise_failures(self) -> None:
        if self.failures:
            raise AssertionError("the script did not fit:\n" + "\n".join(self.failures))

    # --- what the handler asks --------------------------------------------------------------------------------------

    @property
    def config(self) -> Json:
        return self._script.server

    def record(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)

    def fail(self, sentence: str) -> None:
        with self._lock:
            self.failures.append(sentence)

    def answer(self, body: Json) -> tuple[int, Json, Json]:
        """The reply for a request: its number, the filled reply and the usage; raises ScriptError."""
        with self._lock:
            line = self._script.next(body)
            self._answered += 1
            self._check(line, body)
            return self._answered, self._script.fill(line, body), self.cache.usage(body)

    def _check(self, line: Line, body: Json) -> None:
        wrong = mismatches(line.reply.get("expect", {}), body)
        if self.config.get("strict", True):
            wrong += [f"the Messages API would refuse it: {problem}" for problem in problems(body)]
        if wrong:
            raise ScriptError(f"request {self._answered} does not fit line {line.number}: " + "; ".join(wrong))


@contextlib.contextmanager
def refused_url() -> Iterator[str]:
    """A loopback URL at which every connection is refused while the block lasts (the port is taken, not listening)."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m jupyter_agent.testing.scripted", description=__doc__.split("\n")[0]
    )
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path, help="write every request as a JSON line when the server ends")
    options = parser.parse_args(arguments)
    try:
        server = ScriptedServer(options.script, port=options.port)
        server.start()
    except (OSError, ScriptError) as error:
        print(f"cannot serve {options.script}: {error}", file=sys.stderr)
        return 2
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    print(server.url, flush=True)
    ended.wait()
    server.close()
    if options.record:
        lines = (json.dumps({"method": r.method, "path": r.path, "body": r.body}) for r in server.requests)
        options.record.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    for failure in server.failures:
        print(failure, file=sys.stderr)
    return 1 if server.failures else 0


if __name__ == "__main__":
    sys.exit(main())
