"""text.py: what a person would see of raw output, within its budget, with nothing secret in it."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import shutil
import subprocess
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_agent.text import (
    Secrets,
    as_seen,
    child_environment,
    clip,
    estimate_tokens,
    looks_secret,
    resolve_carriage_returns,
    strip_ansi,
    visible,
)


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain\ntext", "plain\ntext"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        (" 10%\r 50%\r100%\n", "100%\n"),
        ("long line\rshort", "shortline"),
        ("done\r\x1b[K", ""),
        ("abc\r\x1b[2Kx", "x"),
        ("abcdef\b\b\bX", "abcXef"),
        ("\b\babc", "abc"),
        ("one\ntwo\x1b[A\rONE\n", "ONE\ntwo"),
        ("a\n\n\x1b[2A\rb", "b\n\n"),
        ("wiped\x1b[1Kx", "     x"),
    ],
)
def test_carriage_returns_and_backspaces_leave_what_a_terminal_shows(raw: str, seen: str) -> None:
    assert resolve_carriage_returns(raw) == seen


def test_a_progress_bar_of_many_updates_becomes_its_last_line_in_linear_time() -> None:
    raw = "".join(f"\r{n:>7}/200000 " + "#" * (n % 60) for n in range(0, 200_000, 2)) + "\n" + "x" * 300_000 + "\r."
    started = time.perf_counter()
    seen = resolve_carriage_returns(raw)
    assert time.perf_counter() - started < 20
    assert seen.startswith(" 199998/200000 ")
    assert seen.endswith("\n." + "x" * 299_999)


def test_ansi_is_stripped_in_every_form() -> None:
    raw = (
        "\x1b[1;31mred\x1b[0m \x1b]8;;http://a/\x07link\x1b]8;;\x1b\\ \x1b(Bplain\x1b[?25l\x9b0m \x1bPdcs\x1b\\end\x1b["
    )
    assert strip_ansi(raw) == "red link plain end"


def test_unterminated_sequences_are_stripped_in_linear_time() -> None:
    started = time.perf_counter()
    strip_ansi("\x1b]" * 200_000 + "\x1b[" + "0;" * 500_000)
    assert time.perf_counter() - started < 10


def test_as_seen_drops_bells_and_nuls() -> None:
    assert as_seen("\x07ding\x00\x1b[32m 1%\r\x1b[32m100%\x1b[0m\n") == "100% 1%\n"


@given(st.text(), st.integers(min_value=0, max_value=400))
def test_clip_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert len(clip(text, limit).encode("utf-8", "surrogatepass")) <= max(limit, 0)


@given(st.text(min_size=10, max_size=2000))
def test_clip_keeps_head_and_tail_and_counts_what_it_cut(text: str) -> None:
    clipped = clip(text, 400, handle="h7")
    if clipped != text:
        head, _, rest = clipped.partition("\n[… ")
        notice, _, tail = rest.partition(" …]\n")
        cut = int(notice.split(" ")[0].replace(",", ""))
        assert text.startswith(head)
        assert text.endswith(tail)
        assert cut == len(text) - len(head) - len(tail)
        assert 'read_output(handle="h7")' in notice


def test_clip_cuts_on_line_ends_where_one_is_near() -> None:
    clipped = clip("".join(f"line {n}\n" for n in range(5000)), 1000)
    head, _, tail = clipped.partition("\n[… ")
    assert head.splitlines()[-1].startswith("line ")
    assert tail.partition(" …]\n")[2].startswith("line ")
    assert clipped.endswith("line 4999\n")


def test_a_long_wide_text_is_clipped_by_bytes() -> None:
    assert len(clip("漢" * 100_000).encode()) <= 16_000


HIDING = {
    "bidi override": "\u202e",
    "bidi isolate": "\u2066",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "no-break space": "\u00a0",
    "line separator": "\u2028",
    "hangul filler": "\u3164",
    "braille blank": "\u2800",
    "variation selector": "\ufe0f",
    "tag letter": "\U000e0061",
    "variation selector 17": "\U000e0100",
    "private use": "\ue000",
    "escape": "\x1b",
    "carriage return": "\r",
    "nul": "\x00",
    "delete": "\x7f",
    "lone surrogate": "\udcff",
}


@pytest.mark.parametrize("name", HIDING)
def test_visible_spells_out_characters_that_hide(name: str) -> None:
    shown = visible(f"rm{HIDING[name]} -rf")
    assert HIDING[name] not in shown
    assert "rm\\" in shown
    assert shown.endswith(" -rf")
    assert shown.isascii()


def test_visible_leaves_ordinary_text_alone() -> None:
    text = "def f(x):\n\tif x:\n" + " " * 60 + "return 'Ünïcödé 漢字 🎉'\n\n\n"
    assert visible(text) == text


def test_visible_counts_blanks_that_push_text_out_of_sight() -> None:
    assert visible("echo ok" + "\t" * 5000 + "; rm -rf x") == "echo ok[5,000 × tab]; rm -rf x"
    assert visible("a" + " " * 300 + "b") == "a[300 × space]b"
    assert visible("a" + "\n" * 500 + "b") == "a\n[499 × empty line]\nb"
    assert visible("a" + " \n" * 500 + "b") == "a \n[499 × empty line]\nb"


@given(st.text(alphabet=" \t\nab"))
def test_visible_keeps_every_visible_character(text: str) -> None:
    shown = visible(text)
    assert [c for c in re.sub(r"\[[^]]*\]", "", shown) if c in "ab"] == [c for c in text if c in "ab"]


def test_token_estimates_follow_the_kind_and_count_chinese_by_character() -> None:
    assert estimate_tokens("x" * 2900, "python") == 1000
    assert estimate_tokens("x" * 1050, "base64") == 1000
    assert estimate_tokens("漢" * 1000, "markdown") == 1000
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1


SECRET = 's3cr3t/Val+ue=with&"quotes"-0123456789'


def _forms(secret: str) -> list[str]:
    raw = secret.encode()
    return [
        secret,
        f"prefix{secret}suffix",
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
        *(base64.b64encode(b"u" * n + b":" + raw + b"tail").decode() for n in range(4)),
        base64.encodebytes(b"x" * 40 + raw + b"y" * 30).decode(),
        json.dumps(base64.encodebytes(b"x" * 41 + raw + b"y" * 30).decode()),
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        json.dumps({"key": secret}),
        raw.hex(),
        raw.hex().upper(),
    ]


@pytest.mark.parametrize("text", _forms(SECRET))
def test_a_secret_is_masked_in_every_form(text: str) -> None:
    secrets = Secrets.from_environment({"API_KEY": SECRET, "HOME": "/home/someone"})
    masked = secrets.mask(text)
    assert "[secret API_KEY]" in masked
    for form in _forms(SECRET)[:4]:
        assert form not in masked


def test_a_private_key_is_masked_line_by_line() -> None:
    key = "-----BEGIN KEY-----\n" + "\n".join(f"MIIEowIBAAKCAQEA{n:02}abcdef" for n in range(5))
    masked = Secrets.from_environment({"DEPLOY_KEY": key}).mask("head\nMIIEowIBAAKCAQEA03abcdef\ntail")
    assert masked == "head\n[secret DEPLOY_KEY]\ntail"


def test_short_values_and_ordinary_variables_are_not_secrets() -> None:
    secrets = Secrets.from_environment(
        {"API_KEY": "short", "PATH": "/usr/bin:/usr/local/bin", "API_KEY_FILE": "/run/secrets/x"}
    )
    text = "short /usr/bin:/usr/local/bin /run/secrets/x"
    assert secrets.mask(text) == text


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "GH_PAT",
        "DB_PASSWORD",
        "MYSQL_PWD",
        "PGPASSWORD",
        "SENTRY_DSN",
        "apiKey",
        "SECRET_KEY_BASE",
        "JUPYTERHUB_API_TOKEN",
        "SLACK_WEBHOOK_URL",
        "AZURE_CONNECTION_STRING",
        "TOKEN1",
        "SESSION_COOKIE",
    ],
)
def test_secret_names(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "PWD",
        "OLDPWD",
        "KEYBOARD_LAYOUT",
        "GIT_AUTHOR_NAME",
        "TOKENIZERS_PARALLELISM",
        "SSH_AUTH_SOCK",
        "API_KEY_FILE",
        "MONKEY",
    ],
)
def test_names_that_are_not_secret(name: str) -> None:
    assert not looks_secret(name)


def test_a_password_in_a_url_is_masked() -> None:
    secrets = Secrets.from_environment({"DATABASE_URL": "postgres://me:hunter2hunter2@db/prod"})
    assert secrets.mask("connecting as me with hunter2hunter2") == "connecting as me with [secret DATABASE_URL]"


@pytest.mark.parametrize("seed", range(20))
def test_a_secret_cut_by_pieces_is_still_masked(seed: int) -> None:
    secrets = Secrets.from_environment({"API_KEY": SECRET})
    text = "before " + " middle ".join(_forms(SECRET)) + " after"
    randomness = random.Random(seed)
    stream, out, position = secrets.stream(), "", 0
    while position < len(text):
        size = randomness.randint(1, 40)
        out += stream.feed(text[position : position + size])
        position += size
    out += stream.finish()
    for form in _forms(SECRET)[:4]:
        assert form not in out
    assert out.startswith("before ")
    assert out.endswith(" after")


@pytest.mark.parametrize("seed", range(40))
def test_in_pieces_the_same_is_masked_as_in_one(seed: int) -> None:
    """Also where one value begins inside another, or a form of one ends in the beginning of another's."""
    values = {
        "KEY": "sk-ant-abcdefghijklmnopqrstuvwxyz0123456789",
        "PEM": "-----BEGIN\nabcdefghijklmnopqrstu\n-----END",
    }
    secrets = Secrets(values)
    forms = [form for value in values.values() for form in _forms(value)]
    randomness = random.Random(seed)
    parts = [*forms, "hello\n", "sk-", "c2st", "\r\n", "\\n", "-----BEGIN\n"]
    text = "".join(randomness.choice(parts) for _ in range(randomness.randint(1, 12)))
    stream, out, position = secrets.stream(), "", 0
    while position < len(text):
        size = randomness.randint(1, 30)
        out += stream.feed(text[position : position + size])
        position += size
    assert out + stream.finish() == secrets.mask(text)


def test_what_cannot_be_a_secret_is_not_held_back() -> None:
    """A command that goes on shows its last line: nobody waits for a server's "ready" until it ends."""
    stream = Secrets({"API_KEY": SECRET}).stream()
    assert stream.feed("listening on port 8000\n") == "listening on port 8000\n"
    assert stream.feed(f"key {SECRET[:5]}") == "key "
    assert stream.feed("\n") == f"{SECRET[:5]}\n"


def test_a_run_of_overlapping_values_is_neither_held_for_ever_nor_shown() -> None:
    stream = Secrets({"PASSWORD": "x" * 8}).stream()
    out = "".join(stream.feed("x" * 1000) for _ in range(100))
    assert out.count("[secret PASSWORD]") > 12_000
    assert "x" * 8 not in out + stream.finish()


def test_a_child_gets_no_secret_and_still_works(tmp_path: object) -> None:
    hostile = {
        **os.environ,
        "ANTHROPIC_API_KEY": "sk-ant-0123456789abcdef",
        "JUPYTER_TOKEN": "0123456789abcdef",
        "CONDA_TOKEN": "0123456789abcdef",
        "PIP_INDEX_URL": "https://me:0123456789abcdef@host.invalid/simple",
        "UNKNOWN_VARIABLE": "0123456789abcdef",
        "HTTPS_PROXY": "http://proxy.invalid:3128",
        "LC_ALL": "C.UTF-8",
    }
    environment = child_environment(hostile)
    assert "0123456789abcdef" not in json.dumps(environment)
    assert environment["HTTPS_PROXY"] == "http://proxy.invalid:3128"
    assert environment["LC_ALL"] == "C.UTF-8"
    printenv = shutil.which("env")
    assert printenv is not None
    out = subprocess.run([printenv], env=environment, capture_output=True, text=True, check=True).stdout
    assert "0123456789abcdef" not in out
    assert "PATH=" in out
