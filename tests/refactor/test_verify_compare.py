"""Comparing outputs: noise by its form is no difference, everything else is."""

from __future__ import annotations

import base64
import struct
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jupyter_agent.notebook.document import Cell, Output
from jupyter_agent.refactor.verify_compare import marks, output_difference, same_json
from jupyter_agent.refactor.verify_images import Pixels, decode_png, differing_pixels, image_difference
from jupyter_agent.refactor.verify_tables import same_html
from jupyter_agent.refactor.verify_text import Rules, normal, same_text

BEGAN = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
RULES = Rules(clock=(BEGAN, BEGAN + timedelta(seconds=30)))


def stdout(text: str) -> Output:
    return {"output_type": "stream", "name": "stdout", "text": text}


def display(**data: Any) -> Output:
    named = {key.replace("__", "/"): value for key, value in data.items()}
    return {"output_type": "display_data", "data": named, "metadata": {}}


def same(old: str, new: str, rules: Rules = RULES) -> bool:
    return same_text(normal(old, rules), normal(new, rules), rules)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<function f at 0x7f01aa>", "<function f at 0x7fffbb>"),
        ("0.30000000000000004", "0.3000000000000001"),
        ("0.30000000000000004", "0.3"),
        ("x  1.234567890123456\ny  2", "x  1.23456789012345\ny  2"),
        ("Wall time: 3.2 s", "Wall time: 19 ms"),
        ("CPU times: user 2 ms, sys: 1 ms, total: 3 ms", "CPU times: total: 5 ms"),
        (
            "1.53 μs ± 12 ns per loop (mean ± std. dev. of 7 runs, 1,000 loops each)",
            "12 ms ± 1.2 μs per loop (mean ± std. dev. of 7 runs, 100 loops each)",
        ),
        (
            "1min 3s ± 1.2 s per loop (mean ± std. dev. of 7 runs, 1 loop each)",
            "The slowest run took 4.08 times longer than the fastest. This could mean that an intermediate result is "
            "being cached.\n9 s ± 20 ms per loop (mean ± std. dev. of 7 runs, 1 loop each)",
        ),
        ("10000 loops, best of 3: 91.9 µs per loop", "1 loop, best of 5: 2 min 3 s per loop"),
        ("Compiler : 213 ms\nCPU times: total: 3 ms\nWall time: 3 s", "CPU times: total: 5 ms\nWall time: 1h 2min 4s"),
        ("peak memory: 106.14 MiB, increment: 0.25 MiB", "peak memory: 89.20 MiB, increment: -0.01 MiB"),
        ("100%|████| 10/10 [00:01<00:00, 9.51it/s]", "100%|████| 10/10 [00:00<00:00, 19.2it/s]"),
        ("  5%|▌   | 1/20\r100%|████| 20/20 [00:02<00:00, 9.9it/s]", "100%|████| 20/20 [00:01<00:00, 13.5it/s]"),
        ("/tmp/ipykernel_12/99.py:3: UserWarning: odd", "/tmp/ipykernel_7/1.py:5: UserWarning: odd"),
        ("10/10 - 1s 12ms/step - loss: 0.5", "10/10 - 2s 15ms/step - loss: 0.5"),
        ("run at 2026-02-11 08:00:01", "run at 2026-03-01 12:00:12"),
        ("2026-02-11T08:00:01.5+00:00", "2026-03-01T12:00:12.25+00:00"),
        ("Wed Feb 11 08:00:01 2026", "Sun Mar  1 12:00:12 2026"),
        ("today: 2026-02-11", "today: 2026-03-01"),
        ("08:15:00 started", "12:00:12 started"),
        ("trailing   \nblanks\t", "trailing\nblanks"),
    ],
)
def test_noise_is_no_difference(old: str, new: str) -> None:
    # Clocks are read in the zone of this machine or in UTC; the times above are UTC.
    assert same(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3", "4"),
        ("3", "3.0"),
        ("0.1", "0.10"),
        ("0.123456", "0.123457"),
        ("1e-30", "2e-30"),
        ("6.62607015e-34", "6.7e-34"),
        ("1.234567890123", "1.234567900123"),
        ("-0.30000000000000004", "0.30000000000000004"),
        ("1 2", "12"),
        ("a b", "a  b"),
        ("0xdeadbeef", "0xdeadbeee"),
        ("the race took 9.58 s", "the race took 9.63 s"),
        ("2020-01-01  5", "2020-01-02  5"),
        ("2026-03-01 12:00:12", "2020-01-01 00:00:00"),
        ("2027-01-01", "2026-03-01"),
        ("12:00:00", "13:30:00"),
        ("[1, 2]", "[1, 2, 3]"),
        ("[00:01] intro", "[00:02] outro"),
        ("UserWarning: odd", "UserWarning: even"),
        ("90%|███ | 9/10 [00:01<00:00, 9.51it/s]", "100%|████| 10/10 [00:01<00:00, 9.51it/s]"),
        ("nan", "inf"),
        ("", "\n"),
    ],
)
def test_a_difference_is_seen(old: str, new: str) -> None:
    assert not same(old, new)


def test_sanitising_patterns_apply_to_both_sides_in_order() -> None:
    rules = Rules(sanitize=[(r"job \d+", "job N"), (r"N of \d+", "N of M")])
    assert same("job 12 of 40", "job 13 of 41", rules)
    assert not same("job 12 of 40", "task 13 of 41", rules)


def test_streams_are_compared_whole() -> None:
    old = [stdout("a\n"), {"output_type": "stream", "name": "stderr", "text": ["w\n"]}, stdout("b\n")]
    new = [{"output_type": "stream", "name": "stderr", "text": "w\n"}, stdout("a\nb\n")]
    assert output_difference(old, new, RULES) == ""
    assert "-b" in output_difference(old, [new[0], stdout("a\nc\n")], RULES)
    assert "stderr" in output_difference(old, [stdout("a\nb\n")], RULES)


def test_order_of_prints_and_displays_counts() -> None:
    shown = display(text__plain="1")
    assert output_difference([stdout("a"), shown], [shown, stdout("a")], RULES)


def test_a_result_may_become_a_display() -> None:
    result = {"output_type": "execute_result", "data": {"text/plain": ["1"]}, "metadata": {}, "execution_count": 3}
    assert output_difference([result], [display(text__plain="1")], RULES) == ""
    assert "+2" in output_difference([result], [display(text__plain="2")], RULES)


def test_lost_and_added_outputs_are_seen() -> None:
    assert output_difference([stdout("a")], [], RULES)
    assert output_difference([], [display(text__plain="1")], RULES)
    assert "text/html" in output_difference(
        [display(text__plain="1")], [display(text__plain="1", text__html="1")], RULES
    )


def test_errors_are_compared_by_name_and_message() -> None:
    def error(name: str, value: str, trace: str) -> Output:
        return {"output_type": "error", "ename": name, "evalue": value, "traceback": [trace]}

    assert not output_difference([error("KeyError", "'a'", "line 1")], [error("KeyError", "'a'", "line 9")], RULES)
    assert output_difference([error("KeyError", "'a'", "")], [error("KeyError", "'b'", "")], RULES)


# ------------------------------------------------------------------------------------------------------------- tables

FRAME = (
    '<div><style scoped>.dataframe tbody tr th {{ vertical-align: top; }}</style><table border="1" class="dataframe">'
    "<thead><tr><th></th><th>mean</th></tr></thead><tbody><tr><th>a</th><td>{a}</td></tr><tr><th>b</th><td>2</td></tr>"
    "</tbody></table><p>2 rows × 1 columns</p></div>"
)


def test_frames_are_compared_by_value() -> None:
    old = FRAME.format(a="0.30000000000000004")
    restyled = FRAME.format(a="0.3000000000000001").replace('border="1" class="dataframe"', 'class="plain"')
    assert same_html(old, restyled, RULES)
    assert same_html(
        '<table id="T_12ab3"><td id="T_12ab3_row0">1</td></table>', '<table id="T_9f9f9"><td>1</td></table>', RULES
    )


@pytest.mark.parametrize(
    "changed",
    [
        FRAME.format(a="0.31"),
        FRAME.format(a="0.30000000000000004").replace("<th>b</th>", "<th>c</th>"),
        FRAME.format(a="0.30000000000000004").replace("<tr><th>b</th><td>2</td></tr>", ""),
        FRAME.format(a="0.30000000000000004").replace("2 rows", "3 rows"),
        FRAME.format(a="0.30000000000000004") + "<p>more</p>",
    ],
)
def test_changed_frames_are_seen(changed: str) -> None:
    assert not same_html(FRAME.format(a="0.30000000000000004"), changed, RULES)


def test_the_layout_that_pandas_gives_every_frame_is_no_value() -> None:
    table = '<table border="1" class="dataframe"><tr><td>1</td></tr></table>'
    rule = ".dataframe tbody tr th {\n        vertical-align: top;\n    }"
    old, new = f"<div>\n{table}\n</div>", f"<div>\n<style scoped>\n    {rule}\n\n    {rule}\n</style>\n{table}\n</div>"
    coloured = f"<div>\n<style>\n#T_12345_row0 {{color: red}}\n</style>\n{table}\n</div>"
    for one, two, same_shown in ((old, new, True), (old, coloured, False), (new, coloured, False)):
        difference = output_difference([display(text__html=one)], [display(text__html=two)], RULES)
        assert (difference == "") is same_shown


def test_padding_of_a_frames_text_form_does_not_count_but_its_values_do() -> None:
    old = display(text__plain="   mean\na  0.30000000000000004", text__html=FRAME.format(a="0.30000000000000004"))
    new = display(text__plain="  mean\na  0.3", text__html=FRAME.format(a="0.3"))
    assert output_difference([old], [new], RULES) == ""
    worse = display(text__plain="   mean\na  0.4", text__html=FRAME.format(a="0.4"))
    assert "0.4" in output_difference([old], [worse], RULES)


def test_json_by_value() -> None:
    assert same_json({"y": [0.1 + 0.2, 1], "n": float("nan")}, {"y": [0.3, 1], "n": float("nan")}, RULES)
    assert not same_json({"y": [0.3, 1]}, {"y": [0.3, 2]}, RULES)
    assert not same_json([1], [True], RULES)
    assert not same_json([1], [1.0], RULES)


# ------------------------------------------------------------------------------------------------------------- images


def png(
    width: int, height: int, rows: list[bytes], color: int = 2, filters: list[int] | None = None, **extra: bytes
) -> bytes:
    """A PNG of 8 bits a channel from raw rows; `filters` per row are applied as the specification says."""
    step = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    body, above = b"", bytes(len(rows[0]))
    for number, row in enumerate(rows):
        kind = filters[number] if filters else 0
        left = bytes(step) + row[:-step]
        corner = bytes(step) + above[:-step]
        guesses = {
            0: bytes(len(row)),
            1: left,
            2: above,
            3: bytes((a + b) // 2 for a, b in zip(left, above, strict=True)),
        }
        if kind == 4:
            guesses[4] = bytes(_paeth(a, b, c) for a, b, c in zip(left, above, corner, strict=True))
        body += bytes([kind]) + bytes((a - b) & 255 for a, b in zip(row, guesses[kind], strict=True))
        above = row

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    chunks = [chunk(b"IHDR", header), *(chunk(name.encode(), data) for name, data in extra.items())]
    return b"\x89PNG\r\n\x1a\n" + b"".join([*chunks, chunk(b"IDAT", zlib.compress(body)), chunk(b"IEND", b"")])


def _paeth(a: int, b: int, c: int) -> int:
    return min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]


ROWS = [bytes((7 * x + 13 * y * y + 31 * c) % 256 for x in range(20) for c in range(3)) for y in range(15)]


def test_decoder_undoes_every_filter() -> None:
    for filters in ([n % 5 for n in range(15)], [4] * 15, [3] * 15):
        assert decode_png(png(20, 15, ROWS, filters=filters)).rgb == b"".join(ROWS)


@pytest.mark.parametrize("color", [0, 3, 4, 6])
def test_decoder_agrees_with_pillow(color: int) -> None:
    from jupyter_agent.refactor.verify_images import _decode_with_pillow

    step = {0: 1, 3: 1, 4: 2, 6: 4}[color]
    rows = [bytes((5 * x + 11 * y) % 200 for x in range(20 * step)) for y in range(15)]
    extra = {"PLTE": bytes(range(250)) * 3, "tRNS": bytes(range(50, 200))} if color == 3 else {}
    extra = {name: data[:750] for name, data in extra.items()}
    image = png(20, 15, rows, color=color, filters=[n % 5 for n in range(15)], **extra)
    ours, theirs = decode_png(image), _decode_with_pillow(image)
    assert theirs is not None
    assert max(abs(a - b) for a, b in zip(ours.rgb, theirs.rgb, strict=True)) <= 1


def test_images_by_their_pixels() -> None:
    plain, recompressed = png(20, 15, ROWS), png(20, 15, ROWS, filters=[2] * 15)
    assert plain != recompressed
    assert image_difference(plain, recompressed) == ""
    jitter = [bytes(min(255, value + 3) for value in row) for row in ROWS]
    assert image_difference(plain, png(20, 15, jitter)) == ""
    dot = [*ROWS[:7], bytes([ROWS[7][0] ^ 128]) + ROWS[7][1:], *ROWS[8:]]
    assert image_difference(plain, png(20, 15, dot)) == "1 of the image's 300 pixels differ"
    assert "20×15" in image_difference(plain, png(20, 14, ROWS[:14]))
    assert "decoded" in image_difference(plain, plain[:60])


def test_one_digit_of_a_label_is_more_than_the_tolerance() -> None:
    width, height = 800, 450
    blank = Pixels(width, height, b"\xff" * (3 * width * height))
    changed = bytearray(blank.rgb)
    for pixel in range(10):
        changed[3 * pixel * width] = 0
    assert differing_pixels(blank, Pixels(width, height, bytes(changed))) == 10
    assert 1e-5 * width * height < 10


def test_images_inside_outputs() -> None:
    def plot(rows: list[bytes]) -> Output:
        return display(
            image__png=base64.b64encode(png(20, 15, rows)).decode() + "\n", text__plain="<Figure at 0x7fab12>"
        )

    assert output_difference([plot(ROWS)], [plot(ROWS)], RULES) == ""
    assert "pixels differ" in output_difference([plot(ROWS)], [plot(ROWS[::-1])], RULES)


# -------------------------------------------------------------------------------------------------------------- marks


@pytest.mark.parametrize(
    ("source", "tags", "skipped", "raises", "compared"),
    [
        ("x = 1", [], "", False, True),
        ("# NBVAL_IGNORE_OUTPUT\nx", [], "", False, False),
        ("# PYTEST_VALIDATE_IGNORE_OUTPUT\nx", [], "", False, False),
        ("x", ["nbval-ignore-output"], "", False, False),
        ("# NBVAL_RAISES_EXCEPTION\n1/0", [], "", True, True),
        ("1/0", ["raises-exception"], "", True, True),
        ("# NBVAL_SKIP\nx", [], "nbval-skip", False, True),
        ("x", ["skip-execution"], "skip-execution", False, True),
        ("x", ["agent:never-rerun"], "agent:never-rerun", False, True),
        ("print('NBVAL_SKIP')", ["other"], "", False, True),
    ],
)
def test_marks(source: str, tags: list[str], skipped: str, raises: bool, compared: bool) -> None:
    found = marks(Cell("a", 0, "code", source, {"tags": tags}))
    assert (found.skipped, found.raises, found.compared) == (skipped, raises, compared)
