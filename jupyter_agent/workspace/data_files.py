"""What a data file holds, at a glance: schema, size and first rows. CSV, TSV, JSON lines and SQLite.

Pure functions over an open file; standard library only. Rows are sampled, so a file of any size takes about a second.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, BinaryIO, Final
from urllib.parse import quote

SAMPLE: Final = 1_000
"""Rows from which column types are told."""
HEAD: Final = 5
WIDEST: Final = 60
"""Characters of one value."""
COUNT_SECONDS: Final = 1.0
_SAMPLE_BYTES: Final = 4 << 20

SUFFIXES: Mapping[str, str] = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".tab": "TSV",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".sqlite": "SQLite",
    ".sqlite3": "SQLite",
    ".db": "SQLite",
}
SQLITE_MAGIC: Final = b"SQLite format 3\0"


def summarise_delimited(file: BinaryIO, size: int, kind: str) -> str:
    """Columns with types and missing values, row count, first rows of a CSV or TSV file."""
    sample = file.read(_SAMPLE_BYTES)
    whole = len(sample) == size
    encoding = "utf-16" if sample[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = sample.decode(encoding, "replace")
    if not whole:
        text = text[: text.rfind("\n") + 1]
    delimiter = "\t" if kind == "TSV" else _delimiter(text)
    rows: list[list[str]] = []
    problem = ""
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows.append(row)
            if len(rows) > SAMPLE:
                break
    except csv.Error as error:
        problem = f"; from row {len(rows) + 1} on it does not read as {kind}: {error}"
    if not rows:
        return f"{kind}, empty{problem}"
    header, body = rows[0], rows[1:]
    count = _rows_in(sample, file) - 1
    exact = whole and sample.count(b'"') == 0
    lines = [
        f"{kind}, {'' if exact else 'about '}{count:,} rows × {len(header)} columns, delimiter {delimiter!r}{problem}",
        *_columns(header, body),
        "first rows:",
        *(delimiter.join(_shorten(value) for value in row) for row in [header, *body[:HEAD]]),
    ]
    return "\n".join(lines)


def summarise_json_lines(file: BinaryIO, size: int) -> str:
    """Keys with types and missing values, line count, first lines."""
    sample = file.read(_SAMPLE_BYTES)
    lines = sample.decode("utf-8", "replace").split("\n")
    if len(sample) < size and len(lines) > 1:
        lines.pop()
    shown = [line for line in lines if line.strip()][:SAMPLE]
    values: list[Any] = []
    broken = 0
    for line in shown:
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            broken += 1
    objects = [value for value in values if isinstance(value, dict)]
    keys = list(dict.fromkeys(key for value in objects for key in value))
    out = [
        f"JSON lines, about {_rows_in(sample, file):,} lines" + (f", {broken} of the first broken" if broken else "")
    ]
    for key in keys[:100]:
        present = [value[key] for value in objects if key in value]
        kinds = sorted({_json_type(value) for value in present})
        missing = len(objects) - len(present)
        out.append(f"  {key}: {' or '.join(kinds)}" + (f", missing in {missing} of {len(objects)}" if missing else ""))
    return "\n".join([*out, "first lines:", *(line[:300] + ("…" if len(line) > 300 else "") for line in shown[:HEAD])])


def summarise_sqlite(path: str) -> str:
    """Tables with columns, row counts and first rows; the file is opened read-only and left without a trace."""
    uri = f"file:{quote(path)}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            objects = database.execute(
                "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%'"
                " ESCAPE '!' ORDER BY type, name"
            ).fetchall()
            out = [f"SQLite database, {sum(kind == 'table' for _, kind in objects)} tables"]
            for name, kind in objects[:50]:
                out += _sqlite_table(database, name, kind)
            return "\n".join(out)
    except sqlite3.Error as error:
        return f"SQLite database that cannot be read: {error}"


def _sqlite_table(database: sqlite3.Connection, name: str, kind: str) -> list[str]:
    quoted = '"' + name.replace('"', '""') + '"'
    columns = database.execute(f"PRAGMA table_info({quoted})").fetchall()
    count = _within(database, lambda: database.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0])
    head = _within(database, lambda: database.execute(f"SELECT * FROM {quoted} LIMIT 3").fetchall())
    described = ", ".join(f"{column[1]} {column[2]}".strip() + (" key" if column[5] else "") for column in columns)
    rows = "rows not counted" if count is None else f"{count:,} rows"
    out = [f"{kind} {name} ({rows}): {described}"]
    return out + ["  " + " | ".join(_shorten(_sql_value(value)) for value in row) for row in head or ()]


def _within(database: sqlite3.Connection, query: Callable[[], Any]) -> Any:
    """The query's result, or None when it takes longer than a second or fails (a view may)."""
    limit = time.monotonic() + COUNT_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > limit, 10_000)
    try:
        return query()
    except sqlite3.Error:
        return None
    finally:
        database.set_progress_handler(None, 0)


def _sql_value(value: Any) -> str:
    return f"<{len(value):,} bytes>" if isinstance(value, bytes) else "NULL" if value is None else str(value)


def _delimiter(text: str) -> str:
    """The separator that splits the first lines into the same number, more than one, of fields."""
    lines = [line for line in text.split("\n", 20)[:20] if line.strip()][:10]
    best, score = ",", 1
    for candidate in ",;\t|":
        counts = {len(row) for row in csv.reader(lines, delimiter=candidate)} if lines else {1}
        if len(counts) == 1 and (fields := counts.pop()) > score:
            best, score = candidate, fields
    return best


def _rows_in(sample: bytes, file: BinaryIO) -> int:
    """Lines of the sample and of the rest of the file."""
    count, last = sample.count(b"\n"), sample[-1:]
    while chunk := file.read(1 << 20):
        count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last not in (b"", b"\n"))


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    for number, name in enumerate(header[:200]):
        values = [row[number] for row in rows if number < len(row)]
        filled = [value for value in values if value.strip() not in ("", "NA", "NaN", "nan", "null", "None")]
        kind = _column_type(filled)
        missing = len(rows) - len(filled)
        yield f"  {_shorten(name)}: {kind}" + (f", {missing} of {len(rows)} empty" if missing else "")
    if len(header) > 200:
        yield f"  … and {len(header) - 200} more columns"


def _column_type(values: Sequence[str]) -> str:
    if not values:
        return "empty"
    for kind, test in (("integer", int), ("number", float)):
        try:
            numbers = [test(value) for value in values]
        except ValueError:
            continue
        return f"{kind}, {min(numbers):g} to {max(numbers):g}"
    different = set(values)
    if len(different) <= 8 and len(values) > len(different):
        return "text, one of " + ", ".join(sorted(_shorten(value) for value in different))
    return "text"


def _json_type(value: Any) -> str:
    names = {bool: "true/false", int: "integer", float: "number", str: "text", list: "list", dict: "object"}
    return names.get(type(value), "null")


def _shorten(value: str) -> str:
    value = value.replace("\n", "\\n")
    return value if len(value) <= WIDEST else value[: WIDEST - 1] + "…"
