"""Data files that only libraries read (Parquet, Arrow, Excel, HDF5): described through the kernel, if it has them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from jupyter_agent.effect import Effect
from jupyter_agent.errors import WorkspaceRefused
from jupyter_agent.kernel.protocol import Snapshot
from jupyter_agent.notebook.outputs import output_blocks
from jupyter_agent.text import clip
from jupyter_agent.tool import ToolContext, ToolResult

COLUMNAR: Mapping[str, str] = {
    ".parquet": "read_parquet",
    ".feather": "read_feather",
    ".arrow": "read_feather",
    ".xlsx": "read_excel",
    ".xls": "read_excel",
    ".ods": "read_excel",
    ".h5": "read_hdf",
    ".hdf5": "read_hdf",
}
_SECONDS: Final = 60.0
_LARGEST: Final = 500 << 20

_CODE = """
def _describe(path, reader):
    try:
        import pandas
        table = getattr(pandas, reader)(path)
    except ImportError as error:
        return f"The kernel lacks a library for this file: {{error}}"
    except Exception as error:
        return f"It cannot be read: {{type(error).__name__}}: {{error}}"
    lines = [f"{{len(table):,}} rows × {{len(table.columns)}} columns"]
    for name, kind in table.dtypes.items():
        missing = int(table[name].isna().sum())
        lines.append(f"  {{name}}: {{kind}}" + (f", {{missing:,}} missing" if missing else ""))
    return "\\n".join([*lines[:200], "first rows:", table.head(5).to_string(max_colwidth=40)])
try:
    print(_describe({path!r}, {reader!r}))
finally:
    del _describe
"""


async def summarise_columnar(ctx: ToolContext, real: Path, name: str) -> ToolResult:
    """Schema, size and head by the kernel's pandas. Runs code there, so it is asked for like all code."""
    with ctx.workspace.open(real) as descriptor:
        size = os.fstat(descriptor).st_size
    if size > _LARGEST:
        raise WorkspaceRefused("too_large", f"{name} has {size:,} bytes. Read a part of it with run_code.")
    kernel = await ctx.kernel()
    if kernel.language != "python":
        raise WorkspaceRefused("binary", f"{name} needs a Python kernel with pandas to be read. Use run_code instead.")
    code = _CODE.format(path=str(real), reader=COLUMNAR[real.suffix.lower()])

    async def apply() -> Snapshot:
        execution = await kernel.run(code, store_history=False)
        snapshot = await execution.wait(_SECONDS)
        return snapshot if execution.done else await execution.interrupt()

    effect = Effect(
        "execute",
        str(real),
        f"Describe {name} in the kernel",
        code,
        apply,
        details={"where": "kernel", "language": "python"},
    )
    await ctx.allow(effect)
    snapshot = await effect.commit()
    text = "\n".join(block["text"] for block in output_blocks(snapshot.outputs) if block["type"] == "text")
    failed = snapshot.status != "ok"
    head = f"error: {name} was not described ({snapshot.status})" if failed else f"ok {name}, {size:,} bytes:"
    return ToolResult.of(clip(f"{head}\n{text}"), is_error=failed, path=name, size=size)
