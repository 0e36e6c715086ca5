"""f68: no shape of link leads reading, writing, deleting or moving out of the root."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_agent.errors import Refused
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.effects import commit
from jupyter_agent.tools import all_tools
from jupyter_agent.workspace import Workspace

SECRET = b"outside\n"


def _file_link(root: Path, out: Path) -> str:
    (root / "x").symlink_to(out / "secret.txt")
    return "x"


def _relative_link(root: Path, out: Path) -> str:
    (root / "x").symlink_to("../outside/secret.txt")
    return "x"


def _dangling(root: Path, out: Path) -> str:
    (root / "x").symlink_to(out / "not-yet.txt")
    return "x"


def _dangling_parent(root: Path, out: Path) -> str:
    (root / "x").symlink_to(out / "not" / "yet")
    return "x/file.txt"


def _folder_link(root: Path, out: Path) -> str:
    (root / "x").symlink_to(out)
    return "x/secret.txt"


def _folder_link_and_dots(root: Path, out: Path) -> str:
    (out / "deep").mkdir()
    (root / "x").symlink_to(out / "deep")
    return "x/../secret.txt"


def _chain(root: Path, out: Path) -> str:
    (root / "z").symlink_to(out / "secret.txt")
    (root / "y").symlink_to("z")
    (root / "x").symlink_to("y")
    return "x"


def _link_in_subfolder(root: Path, out: Path) -> str:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "x").symlink_to("../../../outside/secret.txt")
    return "a/b/x"


def _link_to_parent_of_root(root: Path, out: Path) -> str:
    (root / "x").symlink_to("..")
    return "x/outside/secret.txt"


def _link_to_slash(root: Path, out: Path) -> str:
    (root / "x").symlink_to("/")
    return "x" + str(out / "secret.txt")


def _through_proc(root: Path, out: Path) -> str:
    (root / "x").symlink_to("/proc/self/root")
    return "x" + str(out / "secret.txt")


def _to_descriptor(root: Path, out: Path) -> str:
    (root / "x").symlink_to("/dev/fd/0")
    return "x"


SHAPES: list[Callable[[Path, Path], str]] = [
    _file_link,
    _relative_link,
    _dangling,
    _dangling_parent,
    _folder_link,
    _folder_link_and_dots,
    _chain,
    _link_in_subfolder,
    _link_to_parent_of_root,
    _link_to_slash,
    _through_proc,
    _to_descriptor,
]


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def perform(workspace: Workspace, operation: str, name: str) -> None:
    if operation == "read":
        workspace.read(name)
    elif operation == "write":
        await commit(workspace.write(name, b"agent"))
    elif operation == "delete":
        await commit(workspace.delete(name))
    elif operation == "move away":
        await commit(workspace.move(name, "inside.txt"))
    else:
        await commit(workspace.move("own.txt", name))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__.strip("_"))
@pytest.mark.parametrize("operation", ["read", "write", "delete", "move away", "move there"])
async def test_f68_no_link_leads_out(tmp_path: Path, shape: Callable[[Path, Path], str], operation: str) -> None:
    root, out = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    out.mkdir()
    (out / "secret.txt").write_bytes(SECRET)
    (root / "own.txt").write_bytes(b"own")
    name = shape(root, out)
    before = everything(out)
    workspace = Workspace(root)
    with pytest.raises(Refused):
        await perform(workspace, operation, name)
    assert everything(out) == before
    assert (root / "own.txt").read_bytes() == b"own"


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__.strip("_"))
async def test_f68_no_tool_follows_a_link_out(tmp_path: Path, shape: Callable[[Path, Path], str]) -> None:
    root, out = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    out.mkdir()
    (out / "secret.txt").write_bytes(SECRET)
    name = shape(root, out)
    before = everything(out)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"path": name}),
        ("edit_file", {"path": name, "blocks": [{"search": "outside", "replace": "agent"}]}),
        ("write_file", {"path": name, "content": "agent", "percentage_to_change": 100}),
        ("create_notebook", {"path": f"{name}.ipynb" if name == "x" else f"{Path(name).parent}/n.ipynb"}),
        ("search_code", {"pattern": "outside", "path": name}),
        ("find_files", {"query": "secret", "path": str(Path(name).parent)}),
    ]
    async with conversation_on(root, all_tools(), folder=tmp_path / "c") as conversation:
        for tool, arguments in calls:
            result = await call(conversation, tool, **arguments)
            leads_out = tool not in ("create_notebook", "find_files") or "/" in name
            assert result.is_error or not leads_out or name == "a/b/x", (tool, text_of(result))
        found = await call(conversation, "search_code", pattern="outside")
        assert found.details["total"] == 0
        listed = await call(conversation, "find_files", query="secret")
        assert listed.details["total"] == 0
    assert everything(out) == before


async def test_f68_a_hard_link_is_written_without_reaching_its_other_name(tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    out.mkdir()
    (out / "secret.txt").write_bytes(SECRET)
    os.link(out / "secret.txt", root / "x")
    workspace = Workspace(root)
    assert workspace.read("x").links == 2
    await commit(workspace.write("x", b"agent"))
    assert (out / "secret.txt").read_bytes() == SECRET
    os.unlink(root / "x")
    os.link(out / "secret.txt", root / "x")
    await commit(workspace.delete("x"))
    assert (out / "secret.txt").read_bytes() == SECRET


async def test_f68_a_folder_swapped_for_a_link_between_description_and_commit(tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "outside"
    (root / "src").mkdir(parents=True)
    out.mkdir()
    (out / "a.py").write_bytes(b"same")
    (root / "src" / "a.py").write_bytes(b"same")
    for describe in (
        lambda workspace: workspace.write("src/a.py", b"agent"),
        lambda workspace: workspace.write("src/new.py", b"agent"),
        lambda workspace: workspace.delete("src/a.py"),
        lambda workspace: workspace.move("src/a.py", "b.py"),
    ):
        effect = describe(Workspace(root))
        (root / "src").rename(root / "kept")
        (root / "src").symlink_to(out)
        with pytest.raises(Refused):
            await commit(effect)
        (root / "src").unlink()
        (root / "kept").rename(root / "src")
    assert everything(out) == {str(out / "a.py"): b"same"}
