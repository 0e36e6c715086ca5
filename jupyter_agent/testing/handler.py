"""One HTTP connection to the scripted server: routes a request, streams its reply, acts out the faults."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from jupyter_agent.testing import wire
from jupyter_agent.testing.script import ScriptError

Json = dict[str, Any]

IN_STREAM = frozenset(
    ("close_after_headers", "stall", "sse_error", "clean_cut", "close_midway", "bad_json", "no_stop_reason")
)
DEFAULT_MODEL: Json = {
    "id": "scripted-1",
    "type": "model",
    "display_name": "Scripted",
    "created_at": "2026-11-01T00:00:00Z",
    "lifecycle": "active",
    "max_input_tokens": 200_000,
    "max_tokens": 32_000,
    "capabilities": None,
}


@dataclass(frozen=True)
class Request:
    """A request as it came in; header names are lower case, `body` is None where there was none."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json | None


class Hangup(Exception):
    """The connection ends here, on purpose."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "scripted"
    server: Any

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: what was asked is in `requests`."""

    @property
    def owner(self) -> Any:
        return self.server.owner

    # --- routes -------------------------------------------------------------------------------------------------

    def do_GET(self) -> None:
        self._serve(None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            self._error(400, "the body is not JSON")
            return
        self._serve(body)

    def _serve(self, body: Json | None) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.record(Request(self.command, path, headers, body))
        key = self.owner.config.get("api_key")
        given = {headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer ")}
        with contextlib.suppress(Hangup):
            if key and key not in given:
                self._error(401, "invalid x-api-key")
            elif body is not None and path.endswith("/v1/messages"):
                self._message(body)
            elif body is not None and path.endswith("/v1/messages/count_tokens"):
                self._json(200, {"input_tokens": wire.estimate_tokens(body)})
            elif body is None and "/v1/models" in path:
                self._models(path.partition("/v1/models")[2].lstrip("/"))
            else:
                self._error(404, f"{self.command} {path} is not served here")

    def _models(self, wanted: str) -> None:
        configured = self.owner.config.get("models", [{"id": wanted}] if wanted else [{}])
        models = [{**DEFAULT_MODEL, **model} for model in configured or []]
        if configured is None:
            self._error(404, "this server lists no models")
        elif not wanted:
            ids = [model["id"] for model in models] or [None]
            self._json(200, {"data": models, "has_more": False, "first_id": ids[0], "last_id": ids[-1]})
        elif found := [model for model in models if model["id"] == wanted]:
            self._json(200, found[0])
        else:
            self._error(404, f"model: {wanted}")

    def _message(self, body: Json) -> None:
        if "messages" not in body:
            self._error(400, "messages: Field required")  # someone asks whether this is a Messages API at all
            return
        try:
            number, reply, usage = self.owner.answer(body)
            complete = wire.message(reply, body, number, usage)
        except ScriptError as error:
            self.owner.fail(str(error))
            self._error(400, f"The script does not fit: {error}")
            return
        fault = reply.get("fault")
        fault = {"kind": fault} if isinstance(fault, str) else dict(fault or {})
        self._pause(float(reply.get("delay", 0)))
        if reply.get("pause_at") == "headers":
            self._gate(reply)
        if fault and fault.get("kind") not in IN_STREAM:
            self._fault(fault, complete)
        elif body.get("stream"):
            self._stream(reply, complete, fault)
        else:
            self._json(200, wire.not_streamed(complete, bool(reply.get("cut"))))

    # --- faults before a stream -----------------------------------------------------------------------------------

    def _fault(self, fault: Json, complete: Json) -> None:
        kind = fault.get("kind")
        if kind == "html_200":
            self._answer(200, b"<html><body>Please log in</body></html>", {"content-type": "text/html"})
        elif kind == "not_streamed":
            self._json(200, complete)
        elif kind == "stall_before_headers":
            self._stall()
        elif kind in ("close_before_headers", "reset"):
            self._hang_up(reset=kind == "reset")
        else:
            self._status(fault)

    def _status(self, fault: Json) -> None:
        status = int(fault["status"])
        headers = {name.lower(): str(value) for name, value in fault.get("headers", {}).items()}
        if "retry_after" in fault:
            headers["retry-after"] = str(fault["retry_after"])
        kind = fault.get("type", wire.ERROR_TYPES.get(status, "api_error"))
        body = fault.get("body", wire.error_body(kind, fault.get("message", f"scripted {status}")))
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        content_type = "text/html" if isinstance(body, str) else "application/json"
        self._answer(status, raw, {"content-type": content_type, **headers})

    # --- streaming --------------------------------------------------------------------------------------------------

    def _stream(self, reply: Json, complete: Json, fault: Json) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        waited = False
        for event in self._events(reply, complete, fault):
            at_delta = event["type"] == "content_block_delta" and reply.get("pause_at", "delta") == "delta"
            at_stop = event["type"] == "message_stop" and reply.get("pause_at") == "stop"
            if at_stop:
                self._gate(reply)
            self._chunk(wire.sse(event))
            if at_delta and not waited:
                waited = True
                self._gate(reply)
            self._pause(float(reply.get("pause", 0)))
        self._chunk(b"")

    def _events(self, reply: Json, complete: Json, fault: Json) -> Iterator[Json]:
        """The events up to a fault, then the fault; a clean cut just ends."""
        after = 0 if fault.get("kind") == "close_after_headers" else int(fault.get("after", 4))
        for number, event in enumerate(wire.events(complete, bool(reply.get("cut")))):
            if fault.get("kind") == "no_stop_reason":
                if event["type"] in ("message_delta", "message_stop"):
                    return
            elif fault and (number == after or event["type"] == "message_delta"):
                self._break(fault)
                return
            yield event

    def _break(self, fault: Json) -> None:
        kind = fault["kind"]
        if kind == "stall":
            self._stall()
        elif kind == "sse_error":
            error = wire.error_body(fault.get("type", "overloaded_error"), fault.get("message", "Overloaded"))
            self._chunk(wire.sse({**error, "type": "error"}))
        elif kind == "bad_json":
            self._chunk(b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\n\n')
        elif kind in ("close_after_headers", "close_midway"):
            self._hang_up()

    def _gate(self, reply: Mapping[str, Any]) -> None:
        name = str(reply.get("pause_until", ""))
        if not name:
            return
        if name.startswith("file:"):
            path = Path(name.removeprefix("file:"))
            while not path.exists() and not self.owner.closing.is_set():
                self.owner.closing.wait(0.02)
            return
        gate = self.owner.gate(name)
        gate.reached.set()
        while not gate.opened.wait(0.05):
            if self.owner.closing.is_set() or self._client_left():
                self._hang_up()

    def _client_left(self) -> bool:
        try:
            return len(self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)) == 0
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _stall(self) -> None:
        while not self.owner.closing.wait(0.05):
            if self._client_left():
                break
        self._hang_up()

    def _hang_up(self, *, reset: bool = False) -> None:
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        with contextlib.suppress(OSError):
            if not reset:
                self.connection.shutdown(socket.SHUT_RDWR)
        raise Hangup

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while seconds and (left := deadline - time.monotonic()) > 0:
            if self.owner.closing.wait(min(left, 0.1)):
                self._hang_up()

    # --- writing ------------------------------------------------------------------------------------------------------

    def _chunk(self, data: bytes) -> None:
        try:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        except OSError:
            self.close_connection = True
            raise Hangup from None

    def _json(self, status: int, body: Json) -> None:
        self._answer(status, json.dumps(body).encode(), {"content-type": "application/json"})

    def _error(self, status: int, text: str) -> None:
        self._json(status, wire.error_body(wire.ERROR_TYPES.get(status, "api_error"), text))

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.send_header("request-id", "req_scripted")
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True
            raise Hangup from None
