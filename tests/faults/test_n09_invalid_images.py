"""n9, n10: only whole, bounded images get into the history; the rest becomes a placeholder that says why."""

from __future__ import annotations

import base64
import io
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.notebook.images import LARGEST, LONGEST_SIDE
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools.cells import read_cells


def png(width: int, height: int, *, noise: bool = False) -> bytes:
    dice = random.Random(1)
    rows = b"".join(b"\0" + (dice.randbytes(width * 3) if noise else b"\x10\x80\xf0" * width) for _ in range(height))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def gif() -> bytes:
    head = b"GIF89a\x02\x00\x02\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff"
    return head + b",\x00\x00\x00\x00\x02\x00\x02\x00\x00\x02\x02\x84Q\x00;"


async def images_of(tmp_path: Path, data: dict[str, str]) -> tuple[list[dict[str, Any]], str]:
    outputs = [{"output_type": "display_data", "metadata": {}, "data": data}]
    path = write_notebook(tmp_path / "a.ipynb", [code("plot", "plot()", outputs, 1)])
    async with conversation_on(tmp_path, {"read_cells": read_cells}, folder=tmp_path / "c", notebook=path) as made:
        result = await call(made, "read_cells", cells=["plot"], outputs="full")
    assert not result.is_error
    return [block for block in result.content if block["type"] == "image"], text_of(result)


async def test_n09_a_good_image_is_an_image_block(tmp_path: Path) -> None:
    data = png(40, 30)
    images, text = await images_of(
        tmp_path, {"image/png": base64.encodebytes(data).decode(), "text/plain": "<Figure 1>"}
    )
    assert [image["source"]["media_type"] for image in images] == ["image/png"]
    assert base64.b64decode(images[0]["source"]["data"], validate=True) == data
    assert "[PNG image 40×30]" in text


GOOD = png(40, 30)
BROKEN = {
    "not base64": "@@@@ not base64 @@@@",
    "empty": "",
    "cut base64": base64.b64encode(GOOD).decode()[:-3],
    "cut file": base64.b64encode(GOOD[:-20]).decode(),
    "flipped bit": base64.b64encode(GOOD[:60] + bytes([GOOD[60] ^ 1]) + GOOD[61:]).decode(),
    "header only": base64.b64encode(GOOD[:33]).decode(),
    "text": base64.b64encode(b"<html>404</html>").decode(),
    "zero width": base64.b64encode(png(0, 3)).decode(),
    "jpeg cut": base64.b64encode(b"\xff\xd8\xff\xe0\x00\x10JFIF").decode(),
    "gif cut": base64.b64encode(gif()[:20]).decode(),
    "webp cut": base64.b64encode(b"RIFF\xff\x00\x00\x00WEBPVP8 ").decode(),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("media_type", ["image/png", "image/jpeg"])
async def test_n09_a_broken_image_is_a_placeholder(tmp_path: Path, name: str, media_type: str) -> None:
    images, text = await images_of(tmp_path, {media_type: BROKEN[name], "text/plain": "<Figure 1>"})
    assert images == []
    assert "image not shown" in text
    assert BROKEN[name][:40] not in text or not BROKEN[name]


async def test_n09_the_media_type_is_that_of_the_bytes(tmp_path: Path) -> None:
    images, _ = await images_of(tmp_path, {"image/png": base64.b64encode(gif()).decode()})
    assert images[0]["source"]["media_type"] == "image/gif"


async def test_n10_a_large_image_is_made_smaller(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    data = png(2000, 1400, noise=True)
    assert len(data) > 8_000_000
    images, text = await images_of(tmp_path, {"image/png": base64.b64encode(data).decode()})
    from PIL import Image

    small = base64.b64decode(images[0]["source"]["data"])
    with Image.open(io.BytesIO(small)) as opened:
        assert max(opened.size) <= LONGEST_SIDE
        assert Image.MIME[opened.format or ""] == images[0]["source"]["media_type"]
    assert len(small) <= LARGEST
    assert "2000×1400" in text


async def test_n10_without_pillow_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    images, text = await images_of(tmp_path, {"image/png": base64.b64encode(png(1600, 100)).decode()})
    assert images == []
    assert "1600×100" in text
