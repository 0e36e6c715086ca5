"""`.agentignore`: what the agent never reads, in gitignore's syntax, in the root and in any folder below.

Reads these files only, and again only when they changed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.workspace.paths import open_regular, read_descriptor

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".agentignore"
_LIMIT = 1 << 20


class Ignored:
    """Answers for one root; `root` is a real path."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._specs: dict[Path, tuple[tuple[int, int, int], GitIgnoreSpec]] = {}

    def __call__(self, path: Path) -> bool:
        """Whether the real `path` inside the root is ignored; as in git, nothing beneath an ignored folder returns.

        An `.agentignore` that cannot be read ignores everything beneath its folder: it may have meant to.
        """
        relative = path.relative_to(self._root)
        return any(
            self._matches(self._root.joinpath(*relative.parts[: depth + 1]), folder=depth + 1 < len(relative.parts))
            for depth in range(len(relative.parts))
        )

    def _matches(self, path: Path, *, folder: bool) -> bool:
        """The verdict of the nearest file that has one, from the path's own folder up to the root."""
        directory = folder or path.is_dir()
        for parent in path.parents:
            if not parent.is_relative_to(self._root):
                break
            try:
                spec = self._spec(parent)
            except WorkspaceRefused:
                return True
            if spec is not None:
                name = path.relative_to(parent).as_posix() + ("/" if directory else "")
                verdict = spec.check_file(name).include
                if verdict is not None:
                    return verdict
        return False

    def _spec(self, folder: Path) -> GitIgnoreSpec | None:
        place = folder / NAME
        try:
            state = os.lstat(place)
        except OSError:
            return None
        key = (state.st_mtime_ns, state.st_size, state.st_ino)
        known = self._specs.get(place)
        if known is not None and known[0] == key:
            return known[1]
        from pathspec import GitIgnoreSpec

        with open_regular(self._root, place) as descriptor:
            lines = read_descriptor(descriptor, _LIMIT, str(place)).decode("utf-8", "replace").splitlines()
        try:
            spec = GitIgnoreSpec.from_lines(lines)
        except ValueError as error:
            raise WorkspaceRefused("ignored", f"{place} has a pattern that is not gitignore's: {error}") from None
        self._specs[place] = (key, spec)
        return spec
