"""f25: nothing waits for a keyboard that nobody has: every program that would ask gives up or goes on at once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jupyter_agent.testing.approvals import yes
from jupyter_agent.testing.calls import call, conversation_on
from jupyter_agent.tools import all_tools

COMMANDS = {
    "cat": "cat",
    "read": "read -p 'name? ' name; echo got=$name",
    "select": "select x in a b; do break; done",
    "python input": f"'{sys.executable}' -c 'input(\"? \")'",
    "python prompt": f"'{sys.executable}'",
    "getpass": f"'{sys.executable}' -c 'import getpass; getpass.getpass()'",
    "git commit": "git init -q r && cd r && git config user.email a@b && git config user.name n && touch f && "
    "git add f && git commit",
    "git rebase -i": "git init -q r && cd r && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m 1 && "
    "git -c user.email=a@b -c user.name=n commit -q --allow-empty -m 2 && git rebase -i --root",
    "git credentials": "git init -q r && cd r && git config credential.helper '' && "
    "printf 'protocol=https\\nhost=127.0.0.1\\n\\n' | git credential fill",
    "git log": "git init -q r && cd r && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m 1 && git log",
    "sudo": "sudo -k true",
    "ssh": "ssh -o StrictHostKeyChecking=ask -p 1 nobody@127.0.0.1 true",
    "vim": "vim file",
    "view": "view /etc/passwd",
    "vim in batch": "vim -es -c 'normal ihello' -c wq file; grep -q hello file",
    "ed": "${EDITOR} file",
    "less": "seq 100000 > f; ${PAGER} f | tail -1",
    "more": "seq 1000 | more | tail -1",
    "bash": "bash",
    "bash -i": "bash -i",
    "terminal": "cat < /dev/tty",
    "background reader": "cat & wait",
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_f25_comes_back_at_once(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with conversation_on(root, all_tools(), folder=tmp_path / "c", mode="review", asker=yes) as conversation:
        result = await call(conversation, "run_bash", command=COMMANDS[name], timeout=60)
    assert not result.details["timed_out"]
    assert result.details["exit_code"] is not None
    assert result.details["seconds"] < 10
