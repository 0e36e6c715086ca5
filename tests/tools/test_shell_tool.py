"""run_bash, check_command, stop_command as a model calls them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.conversation import Conversation
from jupyter_agent.permission import parse_rule
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.tool import ToolResult
from jupyter_agent.tools import all_tools


@asynccontextmanager
async def desk(tmp_path: Path, *, allow: str = "run_bash", **options: Any) -> AsyncIterator[Conversation]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    async with conversation_on(root, all_tools(), folder=tmp_path / "conversation", **options) as conversation:
        conversation.gate.answers = (parse_rule(allow),)
        yield conversation


async def bash(made: Conversation, command: str, **more: Any) -> ToolResult:
    return await call(made, "run_bash", command=command, **more)


async def test_status_comes_first_and_state_carries_over(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        result = await bash(made, "mkdir sub; cd sub; export A=1; echo hello")
        first, second = text_of(result).split("\n")
        assert first.startswith("ok exit code 0 after ")
        assert first.endswith(", in sub")
        assert second == "hello"
        result = await bash(made, "pwd; echo $A; exit 3")
        assert result.is_error
        assert text_of(result).startswith("error: exit code 3 after ")
        assert text_of(result).endswith("/root/sub\n1")
        assert result.details["exit_code"] == 3
        assert text_of(await bash(made, "true")).endswith("\n(no output)")


async def test_state_carries_over_to_another_process_of_the_conversation(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        await bash(made, "mkdir sub; cd sub; export A=kept")
    async with desk(tmp_path) as made:
        assert text_of(await bash(made, "pwd; echo $A")).endswith("/root/sub\nkept")


async def test_at_the_timeout_it_says_so_and_keeps_what_was_printed(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        result = await bash(made, "echo before; sleep 600", timeout=1)
        assert text_of(result).startswith("error: timed out after 1 s")
        assert text_of(result).endswith("\nbefore")
        assert result.details["timed_out"]
        assert result.is_error


async def test_what_outlives_the_command_is_named(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        text = text_of(await bash(made, "sleep 654 & echo ok"))
        assert "note: ended what it left running (sleep 654); use background=true to keep it" in text


async def test_progress_bars_and_colours_are_shown_as_a_terminal_would(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        text = text_of(await bash(made, "printf '\\e[31mred\\e[0m\\n 10%%\\r100%%\\n'"))
        assert text.endswith("red\n100%")


@pytest.mark.parametrize("lines", [5_000, 400_000])
async def test_long_output_is_cut_in_the_middle_and_pages_through_its_handle(tmp_path: Path, lines: int) -> None:
    async with desk(tmp_path) as made:
        result = await bash(made, f"seq 1 {lines}")
        assert len(text_of(result).encode()) <= 16_000
        assert text_of(result).split("\n")[1] == "1"
        assert text_of(result).endswith(f"\n{lines}")
        handle = result.details["handle"]
        assert f"read_output(handle={handle!r})" in text_of(result).replace('"', "'")
        whole, offset = "", 0
        while offset is not None and len(whole) < 100_000:
            page = await call(made, "read_output", handle=handle, offset=offset)
            whole += text_of(page).split("\n", 1)[1]
            offset = page.details["next"]
        expected = "".join(f"{n}\n" for n in range(1, lines + 1))
        assert expected.startswith(whole.rstrip("\n"))
        files = list((tmp_path / "conversation" / "spill").iterdir())
        assert [path.read_text() for path in files] == [expected]


async def test_short_output_leaves_no_file(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        await bash(made, "echo short")
        assert list((tmp_path / "conversation" / "spill").iterdir()) == []


async def test_a_background_command_is_checked_and_stopped(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        result = await bash(made, "echo up; sleep 600", background=True)
        id = result.details["id"]
        seen = ""
        while "up" not in seen:
            seen += text_of(await call(made, "check_command", id=id))
            await asyncio.sleep(0.01)
        status = await call(made, "check_command", id=id)
        assert status.details["running"]
        assert "(no new output)" in text_of(status)
        stopped = await call(made, "stop_command", id=id)
        assert not stopped.details["running"]
        assert "it was stopped" in text_of(stopped)
        unknown = await call(made, "check_command", id="bg77")
        assert unknown.is_error
        assert id in text_of(unknown)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"command": "  "}, "needs a command"),
        ({"command": "true", "timeout": 0}, "seconds"),
        ({"command": "true", "timeout": 100_000}, "background=true"),
        ({"command": "echo a\0b"}, "NUL"),
    ],
)
async def test_bad_arguments(tmp_path: Path, arguments: dict[str, Any], says: str) -> None:
    async with desk(tmp_path) as made:
        result = await call(made, "run_bash", **arguments)
        assert result.is_error
        assert says in text_of(result)


@pytest.mark.parametrize("mode", ["plan", "review", "accept-edits", "auto"])
async def test_only_known_read_only_commands_run_unasked(tmp_path: Path, mode: Any) -> None:
    async with desk(tmp_path, allow="nothing", mode=mode) as made:
        (tmp_path / "root" / "a.txt").write_text("x\n")
        assert not (await bash(made, "ls -l && cat a.txt | head -3")).is_error
        for command in ("touch b.txt", "cat /etc/passwd", "ls $(touch b.txt)", "cat a.txt > b.txt", "find . -delete"):
            result = await bash(made, command)
            assert result.details["refused"]["kind"] == "denied", command
        assert [path.name for path in (tmp_path / "root").iterdir()] == ["a.txt"]


async def test_destroyers_ask_in_every_mode_whatever_was_remembered(tmp_path: Path) -> None:
    async with desk(tmp_path, allow="nothing", mode="auto") as made:
        made.gate.remembered.append(parse_rule("run_bash"))
        assert not (await bash(made, "touch kept.txt")).is_error
        assert (await bash(made, "rm -rf kept.txt")).is_error
        assert (tmp_path / "root" / "kept.txt").exists()


async def test_ignored_files_are_not_read_unasked(tmp_path: Path) -> None:
    async with desk(tmp_path, allow="nothing") as made:
        (tmp_path / "root" / ".agentignore").write_text("*.secret\n")
        (tmp_path / "root" / "a.secret").write_text("x")
        for command in ("cat a.secret", "cat *.secret", "cat *"):
            assert (await bash(made, command)).is_error, command


async def test_a_changed_environment_makes_known_commands_ask(tmp_path: Path) -> None:
    """After an approved `export PATH=…` a known name may be another program."""
    async with conversation_on(tmp_path, all_tools(), folder=tmp_path.parent / "c", mode="review") as conversation:
        assert not (await call(conversation, "run_bash", command="ls")).is_error
        await conversation.shell.run("export PATH=.:$PATH", 10)
        refused = await call(conversation, "run_bash", command="ls")
        assert refused.details["refused"]["kind"] == "denied"
