"""Drives the magic as front ends do: a real ipykernel through jupyter_client, with or without a person at stdin."""

from __future__ import annotations

import contextlib
import os
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from jupyter_agent.testing.kernels import SLACK
from jupyter_agent.testing.scripted import ScriptedServer

Json = dict[str, Any]
Message = dict[str, Any]
LIMIT = 10 * SLACK
"""Seconds after which a cell counts as hung."""


def call(name: str, text: str = "", **arguments: Any) -> Json:
    """A scripted reply that calls a tool."""
    return {"text": text or f"I call {name}.", "calls": [{"name": name, "arguments": arguments}]}


@dataclass
class Ran:
    """One executed cell as a front end would save it."""

    status: str = ""
    count: int | None = None
    outputs: list[Json] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    error: tuple[str, str] | None = None
    next_inputs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    interrupted_after: float = 0.0
    _displays: dict[str, Json] = field(default_factory=dict)
    _clear: bool = False

    @property
    def text(self) -> str:
        """Everything as plain text, the way a front end without HTML shows it."""
        parts = []
        for output in self.outputs:
            if output["output_type"] == "stream":
                parts.append(output["text"])
            elif output["output_type"] == "error":
                parts.append("\n".join(output["traceback"]) + "\n")
            else:
                parts.append(output["data"].get("text/plain", "") + "\n")
        return "".join(parts)

    @property
    def html(self) -> str:
        return "\n".join(o.get("data", {}).get("text/html", "") for o in self.outputs)

    def take(self, message: Message) -> None:
        kind, content = message["msg_type"], message["content"]
        display_id = (content.get("transient") or {}).get("display_id")
        if kind == "clear_output":
            self._clear = content["wait"]
            if not self._clear:
                self.outputs.clear()
            return
        if kind == "update_display_data":
            if display_id in self._displays:
                self._displays[display_id]["data"] = content["data"]
            return
        if kind not in ("stream", "display_data", "execute_result", "error"):
            return
        if self._clear:
            self.outputs.clear()
            self._clear = False
        if kind == "stream":
            last = self.outputs[-1] if self.outputs else {}
            if last.get("output_type") == "stream" and last["name"] == content["name"]:
                last["text"] += content["text"]
                return
        output = {"output_type": kind, **{k: v for k, v in content.items() if k != "transient"}}
        self.outputs.append(output)
        if display_id:
            self._displays[display_id] = output


class Front:
    """A front end with one kernel. `answers` to `input()` come from a list; without one nobody is at stdin."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.manager = KernelManager(kernel_name="python3")
        self.manager.shutdown_wait_time = 2.0
        self.manager.start_kernel(cwd=str(folder), env=os.environ | environment)
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    @property
    def pid(self) -> int:
        provisioner: Any = self.manager.provisioner
        return int(provisioner.pid)

    def run(
        self,
        code: str,
        *,
        answers: Sequence[str] | None = None,
        thinking: float = 0.0,
        on_message: Callable[[Message], object] | None = None,
        on_stray: Callable[[Message], object] | None = None,
        metadata: Json | None = None,
        limit: float = LIMIT,
    ) -> Ran:
        """Execute a cell to its end; `on_message` sees each iopub message as it comes. The person takes `thinking`
        seconds for each answer; `on_stray` sees messages that belong to no request or another one."""
        ran, left = Ran(), list(answers or ())
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": answers is not None,
            "stop_on_error": False,
        }
        request = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(request)
        id, idle, started = request["header"]["msg_id"], False, time.monotonic()
        while not (idle and ran.status):
            if time.monotonic() - started > limit:
                raise TimeoutError(
                    f"the cell did not end within {limit:g} s: {code[:80]!r}; so far: {ran.text[-2000:]}"
                )
            with contextlib.suppress(queue.Empty):
                message = self.client.get_iopub_msg(timeout=0.02)
                if message["parent_header"].get("msg_id") == id:
                    ran.take(message)
                    idle = idle or message["content"].get("execution_state") == "idle"
                    if on_message is not None:
                        on_message(message)
                elif on_stray is not None:
                    on_stray(message)
            with contextlib.suppress(queue.Empty):
                prompt = self.client.get_stdin_msg(timeout=0)["content"]["prompt"]
                ran.prompts.append(prompt)
                if left:
                    time.sleep(thinking)
                    answer = left.pop(0)
                    if answer == INTERRUPT:
                        self.interrupt()
                    else:
                        self.client.input(answer)
            with contextlib.suppress(queue.Empty):
                reply = self.client.get_shell_msg(timeout=0)
                if reply["parent_header"].get("msg_id") == id:
                    self._replied(ran, reply["content"])
        ran.seconds = time.monotonic() - started
        return ran

    def _replied(self, ran: Ran, content: Json) -> None:
        ran.status, ran.count = content["status"], content.get("execution_count")
        if content["status"] == "error":
            ran.error = (content["ename"], content["evalue"])
        for item in content.get("payload", []):
            if item.get("source") == "set_next_input":
                ran.next_inputs.append(item["text"])

    def value(self, expression: str) -> Any:
        """The value of a literal expression in the kernel, without leaving a trace there."""
        import ast

        reply = self.client.execute(
            "", silent=True, user_expressions={"v": f"({expression})"}, reply=True, timeout=LIMIT
        )
        found = reply["content"]["user_expressions"]["v"]
        assert found["status"] == "ok", found
        return ast.literal_eval(found["data"]["text/plain"])

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def restart(self) -> None:
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=LIMIT)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


def pristine(home: str) -> dict[str, str]:
    """Environment of a program with fresh data folders and no model."""
    names = {"HOME": home, "IPYTHONDIR": f"{home}/ipython", "JUPYTER_PLATFORM_DIRS": "1"}
    names |= {f"JUPYTER_{name}_DIR": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "RUNTIME")}
    withheld = {name: "" for name in os.environ if name.startswith("ANTHROPIC_")}
    return {**names, **withheld}


INTERRUPT = "\x03"
"""As an answer: the interrupt button instead."""


@contextlib.contextmanager
def model(kernel: Front, script: Sequence[Json]) -> Iterator[ScriptedServer]:
    """The magic's model is played by `script` until the block ends; a request that does not fit fails the test."""
    with ScriptedServer([*script]) as server:
        use_model(kernel, server)
        yield server


def use_model(kernel: Front, server: ScriptedServer) -> None:
    ran = kernel.run(f"%config JupyterAgent.base_url = {server.url!r}\n%config JupyterAgent.model = 'scripted-1'")
    assert ran.status == "ok", ran.text


@contextlib.contextmanager
def front(folder: Path, **environment: str) -> Iterator[Front]:
    """A kernel with the magic loaded."""
    made = Front(folder, **environment)
    try:
        loaded = made.run("%load_ext jupyter_agent")
        assert loaded.status == "ok", loaded.text
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def fresh_front(factory: pytest.TempPathFactory) -> Iterator[Front]:
    """A kernel with the magic in folders of its own."""
    folder, home = factory.mktemp("kernel"), factory.mktemp("home")
    with front(folder, **pristine(str(home))) as made:
        yield made
