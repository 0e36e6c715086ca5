"""Images of outputs made safe for a model's history: decoded and validated, bounded in size, else a placeholder.

One image that the API cannot decode, or one that is too large, fails every later request of a conversation (faults n9,
n10), so nothing goes in unchecked. Uses Pillow where it is installed, and only to make images smaller.
"""

from __future__ import annotations

import base64
import binascii
import io
import struct
import warnings
import zlib
from dataclasses import dataclass
from typing import Any

MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
LONGEST_SIDE = 1568
"""Pixels. The API scales larger images down itself, at the price of the upload (DESIGN section 4)."""
LARGEST = 1_000_000
"""Bytes of an image, decoded from base64."""
_MOST_PIXELS = 100_000_000


@dataclass(frozen=True)
class Image:
    """A valid image within the limits. `data` are its bytes, `original` the size before it was made smaller."""

    media_type: str
    width: int
    height: int
    data: bytes
    original: tuple[int, int]

    def block(self) -> dict[str, Any]:
        """The image as a content block of the Messages API."""
        data = base64.b64encode(self.data).decode("ascii")
        return {"type": "image", "source": {"type": "base64", "media_type": self.media_type, "data": data}}

    @property
    def label(self) -> str:
        name = self.media_type.removeprefix("image/").upper()
        smaller = f", shown at {self.width}×{self.height}" if self.original != (self.width, self.height) else ""
        return f"[{name} image {self.original[0]}×{self.original[1]}{smaller}]"


def load_image(media_type: str, value: Any) -> Image | str:
    """The image in a MIME bundle's base64 `value`, or a placeholder text that says why it is not shown."""
    name = media_type.removeprefix("image/").upper()
    try:
        data = base64.b64decode("".join(str(value).split()), validate=True)
    except (binascii.Error, ValueError):
        return f"[{name} image not shown: its base64 is damaged]"
    return fit_image(data, name)


def fit_image(data: bytes, name: str = "") -> Image | str:
    """The image in a file's bytes, made to fit the limits, or a placeholder text."""
    found = image_size(data)
    if found is None:
        return f"[{name} image not shown: {len(data):,} bytes that are no valid PNG, JPEG, GIF or WebP]"
    media_type, width, height = found
    if max(width, height) <= LONGEST_SIDE and len(data) <= LARGEST:
        return Image(media_type, width, height, data, (width, height))
    smaller = _downscale(data)
    if smaller is None:
        kind = media_type.removeprefix("image/").upper()
        return f"[{kind} image {width}×{height}, {len(data):,} bytes: too large to show without Pillow]"
    return Image("image/png" if smaller[2][:4] == b"\x89PNG" else "image/jpeg", *smaller, (width, height))


def image_size(data: bytes) -> tuple[str, int, int] | None:
    """(media type, width, height) of a complete, undamaged image, None for anything else.

    PNG is checked to the last chunk (checksums and pixel data), the others for their header and their end.
    """
    for media_type, read in (
        ("image/png", _png),
        ("image/jpeg", _jpeg),
        ("image/gif", _gif),
        ("image/webp", _webp),
    ):
        try:
            size = read(data)
        except (struct.error, IndexError, zlib.error):
            return None
        if size is not None:
            return (media_type, *size) if min(size) > 0 else None
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", data[16:29])
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colour, 4)
    if width * height > _MOST_PIXELS:
        return (0, 0)
    pixels = zlib.decompressobj()
    size = 0
    # Interlaced images have up to seven passes, each with a filter byte a row and padding.
    limit = height * (width * channels * depth // 8 + 2) * (2 if interlace else 1) + 64
    place = 8
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        if len(body) != length or zlib.crc32(kind + body) != checksum:
            return (0, 0)
        if kind == b"IDAT" and not pixels.eof:
            size += len(pixels.decompress(body, max(limit - size, 1)))
            if size >= limit and pixels.unconsumed_tail:
                return (0, 0)
        if kind == b"IEND":
            return (width, height) if pixels.eof and size else (0, 0)
        place += 12 + length
    return (0, 0)


def _jpeg(data: bytes) -> tuple[int, int] | None:
    if data[:3] != b"\xff\xd8\xff":
        return None
    if b"\xff\xd9" not in data[-64:]:
        return (0, 0)
    place = 2
    while data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
            continue
        (length,) = struct.unpack(">H", data[place + 2 : place + 4])
        # Start of frame, in any coding but the markers that share its range (DHT, JPG, DAC).
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return (0, 0)


def _gif(data: bytes) -> tuple[int, int] | None:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    width, height = struct.unpack("<HH", data[6:10])
    return (width, height) if b"\x3b" in data[-4:] else (0, 0)


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    (size,) = struct.unpack("<I", data[4:8])
    if size + 8 > len(data) + 1:
        return (0, 0)
    kind = data[12:16]
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L" and data[20] == 0x2F:
        (bits,) = struct.unpack("<I", data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return (0, 0)


def _downscale(data: bytes) -> tuple[int, int, bytes] | None:
    """(width, height, PNG or JPEG bytes) within the limits; None without Pillow or where it cannot decode."""
    try:
        from PIL import Image as Pillow
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Pillow.DecompressionBombWarning)
            with Pillow.open(io.BytesIO(data)) as opened:
                has_alpha = "A" in opened.getbands() or "transparency" in opened.info
                picture = opened.convert("RGBA" if has_alpha else "RGB")
        side = LONGEST_SIDE
        while side >= 64:
            picture.thumbnail((side, side))
            for kind in ("PNG", "JPEG"):
                stream = io.BytesIO()
                (picture if kind == "PNG" else _on_white(picture)).save(stream, kind, optimize=True)
                if stream.tell() <= LARGEST:
                    return picture.width, picture.height, stream.getvalue()
            side //= 2
    except (OSError, ValueError, SyntaxError, Warning, Pillow.DecompressionBombError):
        return None
    return None


def _on_white(picture: Any) -> Any:
    """JPEG has no transparency, and plots are drawn on transparent ground for a white page."""
    if picture.mode != "RGBA":
        return picture
    from PIL import Image as Pillow

    ground = Pillow.new("RGBA", picture.size, "white")
    ground.alpha_composite(picture)
    return ground.convert("RGB")
