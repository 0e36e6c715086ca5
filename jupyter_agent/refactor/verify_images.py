"""How far apart two images are. Pure; Pillow decodes where it is installed, the standard library else (PNG only)."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise

LEVEL = 8
"""Of 255: a channel that differs by no more than this is the rounding of antialiasing."""

SHARE = 1e-5
"""Share of pixels that may differ by more than `LEVEL`: 3 in a plot of 800 by 450. A digit of an axis label is ten."""

PIXEL_LIMIT = 40_000_000
"""Larger images are compared by their bytes."""

_PNG = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


@dataclass(frozen=True)
class Pixels:
    """`rgb`: three bytes a pixel, row by row, transparency laid over white."""

    width: int
    height: int
    rgb: bytes


def image_difference(old: bytes, new: bytes) -> str:
    """`""` when a person sees the same picture in two encoded images, else what differs."""
    if old == new:
        return ""
    before, after = decode(old), decode(new)
    if before is None or after is None:
        return "the image's bytes differ, and it could not be decoded to compare its pixels"
    if (before.width, before.height) != (after.width, after.height):
        return f"the image was {before.width}×{before.height} pixels and is {after.width}×{after.height}"
    differing = differing_pixels(before, after)
    if differing <= SHARE * before.width * before.height:
        return ""
    return f"{differing:,} of the image's {before.width * before.height:,} pixels differ"


def differing_pixels(old: Pixels, new: Pixels) -> int:
    """Number of pixels of which some channel differs by more than `LEVEL`; both have the same size."""
    if old.rgb == new.rgb:
        return 0
    count, row = 0, 3 * old.width
    for start in range(0, len(old.rgb), row):
        before, after = old.rgb[start : start + row], new.rgb[start : start + row]
        if before != after:
            far = [abs(a - b) > LEVEL for a, b in zip(before, after, strict=True)]
            count += sum(1 for red in range(0, row, 3) if far[red] or far[red + 1] or far[red + 2])
    return count


def decode(data: bytes) -> Pixels | None:
    """The pixels of a PNG, or of whatever Pillow reads; None for what cannot be decoded here."""
    try:
        return _decode_with_pillow(data)
    except ImportError:
        pass
    try:
        return decode_png(data)
    except (ValueError, KeyError, IndexError, struct.error, zlib.error):
        return None


def _decode_with_pillow(data: bytes) -> Pixels | None:
    from PIL import Image

    try:
        with Image.open(BytesIO(data)) as image:
            if image.width * image.height > PIXEL_LIMIT:
                return None
            if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
                flat = Image.new("RGBA", image.size, "white")
                flat.alpha_composite(image.convert("RGBA"))
                return Pixels(image.width, image.height, flat.convert("RGB").tobytes())
            return Pixels(image.width, image.height, image.convert("RGB").tobytes())
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def decode_png(data: bytes) -> Pixels:
    """A non-interlaced PNG of 8 bits a channel. Raises ValueError, KeyError or zlib.error for any other."""
    if not data.startswith(_PNG):
        raise ValueError("not a PNG")
    chunks = _chunks(data)
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", chunks["IHDR"])
    if depth != 8 or interlaced or width * height > PIXEL_LIMIT:
        raise ValueError("an interlaced PNG, or one of other than 8 bits a channel")
    channels = _CHANNELS[color]
    limit = height * (width * channels + 1)
    raw = zlib.decompressobj().decompress(chunks["IDAT"], limit)
    if len(raw) < limit:
        raise ValueError("a truncated PNG")
    lines = _unfiltered(raw, width * channels, channels)
    palette, alpha = chunks.get("PLTE", b""), chunks.get("tRNS", b"")
    return Pixels(width, height, b"".join(_as_rgb(line, color, palette, alpha) for line in lines))


def _chunks(data: bytes) -> dict[str, bytes]:
    """Chunk types to their contents, those of one type joined."""
    chunks: dict[str, bytes] = {}
    position = len(_PNG)
    while position + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, position)
        kind = name.decode("latin-1")
        chunks[kind] = chunks.get(kind, b"") + data[position + 8 : position + 8 + size]
        position += size + 12
    return chunks


def _unfiltered(raw: bytes, row: int, step: int) -> list[bytearray]:
    """The rows of an image after undoing the PNG specification's filters (section 9)."""
    lines: list[bytearray] = []
    above = bytearray(row)
    for start in range(0, len(raw), row + 1):
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + row])
        if kind == 1:
            for i in range(step, row):
                line[i] = (line[i] + line[i - step]) & 255
        elif kind == 2:
            line = bytearray((a + b) & 255 for a, b in zip(line, above, strict=True))
        elif kind == 3:
            for i in range(row):
                line[i] = (line[i] + ((line[i - step] if i >= step else 0) + above[i]) // 2) & 255
        elif kind == 4:
            for i in range(row):
                left, corner = (line[i - step], above[i - step]) if i >= step else (0, 0)
                line[i] = (line[i] + _paeth(left, above[i], corner)) & 255
        elif kind:
            raise ValueError("an unknown PNG filter")
        lines.append(line)
        above = line
    return lines


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    by_left, by_up, by_corner = abs(guess - left), abs(guess - up), abs(guess - corner)
    if by_left <= by_up and by_left <= by_corner:
        return left
    return up if by_up <= by_corner else corner


def _as_rgb(line: bytearray, color: int, palette: bytes, alpha: bytes) -> bytes:
    if color == 2:
        return bytes(line)
    if color == 0:
        return bytes(value for gray in line for value in (gray, gray, gray))
    if color == 3:
        colors = [
            _over_white(palette[i : i + 3], alpha[i // 3] if i // 3 < len(alpha) else 255)
            for i in range(0, len(palette), 3)
        ]
        return b"".join(colors[index] for index in line)
    step = _CHANNELS[color]
    parts = (line[i:j] for i, j in pairwise(range(0, len(line) + 1, step)))
    return b"".join(_over_white(part[:-1] if color == 6 else part[:1] * 3, part[-1]) for part in parts)


def _over_white(color: bytes | bytearray, alpha: int) -> bytes:
    return bytes(color) if alpha == 255 else bytes(255 + (value - 255) * alpha // 255 for value in color)
