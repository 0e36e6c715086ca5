"""The short list of commands that destroy work beyond undo: they ask in every mode (fault f1). Pure."""

from __future__ import annotations

import re

_GIT = r"\bgit\b[^;&|\n]*?\s"
_DESTROYERS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (_GIT + r"reset\b[^;&|\n]*--(?:hard|merge|keep)\b", "git reset --hard throws uncommitted changes away"),
        (_GIT + r"(?:checkout|restore)\b(?!\s+-[bB]\s)", "git checkout and restore overwrite uncommitted changes"),
        (
            _GIT + r"switch\b[^;&|\n]*(?:--force|--discard-changes|\s-f\b)",
            "git switch -f overwrites uncommitted changes",
        ),
        (_GIT + r"clean\b", "git clean deletes untracked files"),
        (_GIT + r"stash\b(?!\s+(?:list|show)\b)", "git stash takes changes out of the folder"),
        (_GIT + r"(?:rm|filter-branch|filter-repo)\b", "git rm and history rewriting delete files"),
        (_GIT + r"(?:branch|tag)\b[^;&|\n]*\s-[a-zA-Z]*[dD]", "it deletes a branch or tag"),
        (
            _GIT + r"push\b[^;&|\n]*(?:--force|--mirror|--delete|\s-f\b|\s\+)",
            "a forced push replaces other people's work",
        ),
        (_GIT + r"(?:reflog\s+expire|gc\b[^;&|\n]*--prune|update-ref\s+-d)", "it removes what git could still recover"),
        (_GIT + r"(?:rebase|worktree\s+remove|submodule\s+deinit)\b", "it rewrites or removes work"),
        (r"(?:^|[\s;&|(`/])(?:rm|rmdir|shred|unlink|srm)\b", "it deletes files"),
        (r"\bfind\b[^;|\n]*-(?:delete|exec\s+\S*rm)\b", "find deletes files"),
        (r"(?:^|[\s;&|(`/])(?:mkfs\S*|dd|truncate|wipefs)\b", "it overwrites files or disks"),
        (r"\brsync\b[^;&|\n]*--delete", "rsync --delete deletes files"),
    )
)


def destroyer(command: str) -> str | None:
    """Why the command is on the list, or None. Every part of a longer command counts, quoted or not."""
    for pattern, what in _DESTROYERS:
        if pattern.search(command):
            return what
    return None
