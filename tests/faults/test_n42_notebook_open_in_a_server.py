"""n42, f18: a notebook that a running Jupyter server has open is not written; the refusal names the server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.events import Approval, ApprovalRequest
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import sample, write_notebook
from jupyter_agent.tools.cells import create_notebook, edit_cells, read_cells

TOOLS = {tool.name: tool for tool in (read_cells, edit_cells, create_notebook)}
INSERT = [{"op": "insert", "type": "code", "source": "x"}]


class Server:
    """A jupyter_server process of our own, as its info file describes it."""

    def __init__(self, process: asyncio.subprocess.Process, info: dict[str, Any]) -> None:
        self.process = process
        self.info = info

    def request(self, method: str, endpoint: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            self.info["url"] + endpoint,
            json.dumps(body).encode() if body else None,
            {"Authorization": f"token {self.info['token']}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            data = response.read()
        return json.loads(data) if data else None


def info_in(runtime: Path) -> dict[str, Any] | None:
    """The server's info file, once it is there and whole."""
    for file in runtime.glob("jpserver-*.json"):
        try:
            info: dict[str, Any] = json.loads(file.read_text())
        except ValueError:
            continue
        return info
    return None


@pytest.fixture
async def server(tmp_path: Path, own_folders: Path, request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    root = tmp_path / "root"
    root.mkdir()
    runtime = Path(os.environ["JUPYTER_RUNTIME_DIR"])
    options = getattr(request, "param", [])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "jupyter_server", "--no-browser", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"),
        *("--allow-root", f"--ServerApp.root_dir={root}", "--ServerApp.base_url=/some/base/", *options),
        env=os.environ | {"HOME": str(tmp_path)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        while (info := info_in(runtime)) is None:
            assert process.returncode is None
            await asyncio.sleep(0.05)
        yield Server(process, info)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), 20)
        except TimeoutError:
            process.kill()
            await process.wait()


async def test_n42_an_open_notebook_is_not_written(tmp_path: Path, server: Server) -> None:
    path = write_notebook(tmp_path / "root" / "a.ipynb", sample())
    session = {"path": "a.ipynb", "name": "", "type": "notebook", "kernel": {"name": "python3"}}

    async def opens_it_while_asked(request: ApprovalRequest) -> Approval:
        await asyncio.to_thread(server.request, "POST", "api/sessions", session)
        return Approval(id=request.id, digest=request.digest, decision="once")

    async with conversation_on(tmp_path / "root", TOOLS, folder=tmp_path / "c1", notebook=path) as conversation:
        assert not (await call(conversation, "edit_cells", ops=INSERT)).is_error
    before = path.read_bytes()
    # f18: opened between the description and the write: the owner is asked again before the write.
    async with conversation_on(
        tmp_path / "root", TOOLS, folder=tmp_path / "c2", notebook=path, mode="review", asker=opens_it_while_asked
    ) as conversation:
        result = await call(conversation, "edit_cells", ops=INSERT)
    assert result.details["refused"]["kind"] == "open_elsewhere"
    assert server.info["url"] in text_of(result)
    assert server.info["token"] not in text_of(result)
    assert path.read_bytes() == before
    async with conversation_on(tmp_path / "root", TOOLS, folder=tmp_path / "c3", notebook=path) as conversation:
        assert (await call(conversation, "edit_cells", ops=INSERT)).is_error
        assert not (await call(conversation, "read_cells")).is_error
        assert path.read_bytes() == before
        (open_session,) = await asyncio.to_thread(server.request, "GET", "api/sessions")
        await asyncio.to_thread(server.request, "DELETE", f"api/sessions/{open_session['id']}")
        assert not (await call(conversation, "edit_cells", ops=INSERT)).is_error


@pytest.mark.parametrize(
    "server", [["--IdentityProvider.token=", "--PasswordIdentityProvider.hashed_password=argon2:x"]], indirect=True
)
async def test_n42_a_server_that_cannot_be_asked_counts_as_having_it_open(tmp_path: Path, server: Server) -> None:
    inside = write_notebook(tmp_path / "root" / "a.ipynb", sample())
    outside = write_notebook(tmp_path / "b.ipynb", sample())
    before = inside.read_bytes()
    async with conversation_on(tmp_path, TOOLS, folder=tmp_path / "c") as conversation:
        refused = await call(conversation, "edit_cells", path="root/a.ipynb", ops=INSERT)
        assert refused.details["refused"]["kind"] == "open_elsewhere"
        assert "could not be asked" in text_of(refused)
        assert not (await call(conversation, "edit_cells", path="b.ipynb", ops=INSERT)).is_error
        # A dead server's info file is no server.
        os.kill(server.info["pid"], signal.SIGKILL)
        await server.process.wait()
        assert not (await call(conversation, "edit_cells", path="root/a.ipynb", ops=INSERT)).is_error
    assert inside.read_bytes() != before
    assert outside.exists()
