"""Whether an install inside a cell failed: `%pip` and its like end without an exception whatever happened. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jupyter_agent.kernel.protocol import Output
from jupyter_agent.text import as_seen

_INSTALL = re.compile(
    r"^\s*[%!]{1,2}\s*(?:\S*\s+-m\s+)?(?:uv\s+)?(?:pip3?|conda|mamba|micromamba|uv)\b.*\b(?:install|add)\b", re.M
)
_FAILED = re.compile(
    r"^\s*(?:ERROR: |error: |× |CondaError|\S*PackagesNotFoundError|\S*ResolvePackageNotFound|UnsatisfiableError).*",
    re.M,
)
_DONE = re.compile(r"^(?:Successfully installed|Requirement already satisfied|Installed \d+ package)", re.M)


def failed_install(code: str, outputs: Sequence[Output]) -> str | None:
    """The line that says why an install in `code` failed, None where none failed or none was asked for.

    pip also prints `ERROR:` about conflicts beside a successful install: what was installed after it decides.
    """
    if not _INSTALL.search(code):
        return None
    text = as_seen("".join(_text(output) for output in outputs))
    failures = list(_FAILED.finditer(text))
    if not failures or _DONE.search(text, failures[-1].end()):
        return None
    return failures[-1][0].strip()


def _text(output: Output) -> str:
    text = output.get("text", "")
    return text if isinstance(text, str) else "".join(text)
