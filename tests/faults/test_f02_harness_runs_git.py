"""f2: our own code never changes the user's repository: every git that runs is recorded, and none mutates."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from program import run_program
from runs import REPAIR, broken

from jupyter_agent.testing.scripted import ScriptedServer

READING = {"show", "status", "log", "diff", "ls-files", "rev-parse", "check-ignore", "cat-file", "--version"}
SHIM = """#!/bin/sh
printf '%s\\n' "$*" >> "{record}"
exec "{git}" "$@"
"""


def test_f02_no_command_of_ours_changes_the_repository(tmp_path: Path, own_folders: Path) -> None:
    git = shutil.which("git")
    assert git is not None
    repository = tmp_path / "work"
    repository.mkdir()
    notebook = broken(repository)
    shims, record = tmp_path / "shims", tmp_path / "git-calls"
    shims.mkdir()
    (shims / "git").write_text(SHIM.format(record=record, git=git))
    (shims / "git").chmod(0o755)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run([git, *arguments], cwd=repository, check=True)
    (repository / "untracked.txt").write_text("mine")
    head = subprocess.run([git, "rev-parse", "HEAD"], cwd=repository, capture_output=True, check=True).stdout
    path = f"{shims}:{own_folders}:/usr/bin:/bin"
    with ScriptedServer(REPAIR) as server:
        options = ["--mode", "accept-edits", "--model", "m", "--base-url", server.url]
        run_program("run", notebook.name, "Repair it", *options, cwd=repository, PATH=path)
    run_program("verify", notebook.name, "--against", "HEAD", cwd=repository, PATH=path)
    run_program("undo", cwd=repository, PATH=path)
    calls = record.read_text().splitlines()
    assert calls, "`verify --against HEAD` asks git, so the shim was in use"
    for line in calls:
        words = line.split()
        while words[0] == "-c":
            words = words[2:]
        assert words[0] in READING, line
    assert (repository / "untracked.txt").read_text() == "mine"
    assert subprocess.run([git, "rev-parse", "HEAD"], cwd=repository, capture_output=True, check=True).stdout == head
    stashes = subprocess.run([git, "stash", "list"], cwd=repository, capture_output=True, check=True).stdout
    assert stashes == b""
