"""A real kernel gateway on 127.0.0.1, in a process of its own with folders and an environment of its own."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.harness import free_port, wait_for

needs_gateway = pytest.mark.skipif(
    importlib.util.find_spec("kernel_gateway") is None and not os.environ.get("JUPYTER_AGENT_TEST_ALL"),
    reason="no kernel gateway here: pip install jupyter_kernel_gateway",
)
TOKEN = "gateway-secret"


class Relay:
    """Passes connections on to another port of this machine, until `drop` breaks those there are."""

    def __init__(self, port: int) -> None:
        self.port, self._target = free_port(), port
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)

    def start(self) -> None:
        self._thread.start()
        listening = asyncio.start_server(self._pass, "127.0.0.1", self.port)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        ends = {writer, far_writer}
        self._open |= ends

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                while data := await source.read(65536):
                    target.write(data)
                    await target.drain()
            for end in ends:
                end.close()

        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))
        self._open -= ends

    def drop(self) -> int:
        """Break all connections; how many ends there were."""

        async def drop() -> int:
            ends = list(self._open)
            for writer in ends:
                writer.transport.abort()
            return len(ends)

        return asyncio.run_coroutine_threadsafe(drop(), self._loop).result()

    def stop(self) -> None:
        self.drop()

        async def end() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Gateway:
    """`arguments` make a server use it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.arguments = [f"--gateway-url={self.url}", f"--GatewayClient.auth_token={TOKEN}"]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        work = self.folder / "work"
        work.mkdir(parents=True)
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("JUPYTER", "JPY_", "ANTHROPIC_", "PYTEST"))
        }
        environment = {
            **inherited,
            "HOME": str(self.folder / "home"),
            "IPYTHONDIR": str(self.folder / "ipython"),
            **{f"JUPYTER_{name.upper()}_DIR": str(self.folder / name) for name in ("config", "data", "runtime")},
        }
        command = [
            *(sys.executable, "-m", "kernel_gateway", "--KernelGatewayApp.ip=127.0.0.1"),
            f"--KernelGatewayApp.port={self.port}",
            "--KernelGatewayApp.port_retries=0",
            f"--KernelGatewayApp.auth_token={TOKEN}",
            # A kernel's messages are not thinned out: whether all of them arrive is what the tests look at.
            "--ZMQChannelsWebsocketConnection.limit_rate=False",
            "--JupyterWebsocketPersonality.list_kernels=True",
        ]
        with (self.folder / "gateway.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log)
        wait_for(self._answers, f"the gateway answers; its log: {self.folder / 'gateway.log'}")

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "gateway.log").read_text()[-3000:]
        request = urllib.request.Request(f"{self.url}/api/kernelspecs", headers={"Authorization": f"token {TOKEN}"})
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=20) as response:
            return bool(response.status == 200)
        return False

    def kernels(self) -> list[str]:
        """Ids of its kernels, as it says itself."""
        request = urllib.request.Request(f"{self.url}/api/kernels", headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=20) as response:
            return [str(kernel["id"]) for kernel in json.load(response)]

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextlib.contextmanager
def gateway(folder: Path) -> Iterator[Gateway]:
    made = Gateway(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
