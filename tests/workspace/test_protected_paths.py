"""Files that decide what runs later, what the agent may do, or what a test demands are protected, missing or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_agent.workspace import Workspace

PROTECTED = [
    ".git/hooks/pre-commit",
    ".git/config",
    "sub/.git/config",
    ".git",
    ".GIT/config",
    ".bashrc",
    ".zshenv",
    "sub/.profile",
    ".config/fish/config.fish",
    ".mcp.json",
    "lib/site-packages/x.pth",
    "sitecustomize.py",
    "src/usercustomize.py",
    ".jupyter/jupyter_server_config.py",
    ".ipython/profile_default/startup/00-x.py",
    "share/jupyter/kernels/python3/kernel.json",
    "share/jupyter/kernels/python3/launch.sh",
    "etc/jupyter/jupyter_server_config.d/x.json",
    ".agentignore",
    "sub/.agentignore",
    "AGENTS.md",
    "CLAUDE.md",
    ".vscode/tasks.json",
    ".github/workflows/ci.yml",
    ".ssh/authorized_keys",
    ".pre-commit-config.yaml",
    ".envrc",
    ".pypirc",
]
TESTS = [
    "tests/test_a.py",
    "test_a.py",
    "pkg/tests/helper.py",
    "conftest.py",
    "src/a.test.ts",
    "a_test.go",
    "tests/data/x.csv",
]
ORDINARY = [
    "src/a.py",
    "README.md",
    "contest.py",
    "latest.py",
    "data/tests.csv",
    "gitlab.py",
    "kernels/gpu.py",
    "a.ipynb",
]


@pytest.mark.parametrize("name", PROTECTED)
def test_protected(tmp_path: Path, name: str) -> None:
    reason = Workspace(tmp_path).protection(tmp_path / name)
    assert reason is not None
    assert "is protected" in reason


@pytest.mark.parametrize("name", TESTS)
def test_tests_need_a_word_of_their_own(tmp_path: Path, name: str) -> None:
    reason = Workspace(tmp_path).protection(tmp_path / name)
    assert reason is not None
    assert "is a test" in reason


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_files_are_not_protected(tmp_path: Path, name: str) -> None:
    assert Workspace(tmp_path).protection(tmp_path / name) is None


def test_a_root_inside_a_folder_named_tests_does_not_make_everything_a_test(tmp_path: Path) -> None:
    root = tmp_path / "tests" / "project"
    root.mkdir(parents=True)
    assert Workspace(root).protection(root / "a.py") is None


@pytest.mark.parametrize("variable", ["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"])
def test_configured_folders_are_protected_wherever_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "mine"))
    assert Workspace(tmp_path).protection(tmp_path / "mine" / "anything.txt") is not None
    assert Workspace(tmp_path).protection(tmp_path / "other.txt") is None


def test_effects_carry_the_reason_for_the_permission_layer(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert "protected" in workspace.write(".mcp.json", b"{}").details
    assert "protected" not in workspace.write("a.py", b"").details
    (tmp_path / "a.py").write_text("")
    assert "protected" in workspace.move("a.py", ".git/hooks/pre-commit").details
    (tmp_path / ".bashrc").write_text("")
    assert "protected" in workspace.delete(".bashrc").details
    (tmp_path / "link").symlink_to(".bashrc")
    assert "protected" in workspace.write("link", b"").details
