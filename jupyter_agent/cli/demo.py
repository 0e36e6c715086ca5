"""`jupyter agent demo`: a recorded model over real HTTP, with the real SDK, real tools and a real kernel, on a copy."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from argparse import Namespace
from importlib.resources import as_file, files
from pathlib import Path

from jupyter_agent.budget import Budget, Limits
from jupyter_agent.cli.main import DONE, FAILED
from jupyter_agent.cli.opening import Place, open_conversation, open_journal
from jupyter_agent.cli.render import Renderer, make_console, print_json
from jupyter_agent.cli.run import exit_code, until_done
from jupyter_agent.connecting import connect
from jupyter_agent.conversation import Settings
from jupyter_agent.errors import UsageError
from jupyter_agent.notebook.document import Cell

NOTEBOOK = "kepler.ipynb"
PROMPT = "The cell `convert` fails. Find out why, repair the notebook, and show that it is right."


def command_demo(arguments: Namespace) -> int:
    keep = Path(arguments.keep) if arguments.keep else None
    if keep is not None and (keep / NOTEBOOK).exists():
        raise UsageError(f"{keep / NOTEBOOK} exists. Choose another folder for the copy.")
    if keep is not None:
        return asyncio.run(_demo(arguments, keep))
    with tempfile.TemporaryDirectory(prefix="jupyter-agent-demo-") as folder:
        return asyncio.run(_demo(arguments, Path(folder)))


async def _demo(arguments: Namespace, folder: Path) -> int:
    from jupyter_agent.testing.scripted import ScriptedServer

    folder.mkdir(parents=True, exist_ok=True)
    with as_file(files("jupyter_agent") / "demo") as shipped:
        for name in (NOTEBOOK, "planets.csv"):
            shutil.copy(shipped / name, folder / name)
        script = shipped / "script.jsonl"
        place = Place(folder.resolve(), folder.resolve() / NOTEBOOK)
        settings = Settings(place.root, place.notebook, "accept-edits")
        renderer = Renderer(make_console())
        if not arguments.json:
            renderer.line("A recorded model; the tools, the kernel and the notebook (a copy) are real.", "dim")
            renderer.line(f"\n› {PROMPT}", "bold")
        with ScriptedServer(script) as server, open_journal(None, must_exist=False) as journal:
            conversation = open_conversation(journal, settings, Budget(Limits(turns=50)))
            conversation.subscribe(print_json if arguments.json else renderer)
            try:
                await connect(conversation, model="recorded", base_url=server.url, environment={})
                stop = await until_done(conversation, PROMPT)
                cells = await (await conversation.notebook()).cells()
            finally:
                await conversation.close()
    if not arguments.json:
        renderer.line("\n" + executed(cells), "dim")
    proven = stop is not None and stop.verified == "proven"
    return exit_code(conversation, stop) or (DONE if proven else FAILED)


def executed(cells: tuple[Cell, ...]) -> str:
    """How many code cells of the copy have run."""
    code = [cell for cell in cells if cell.type == "code"]
    ran = [cell for cell in code if cell.execution_count is not None]
    return f"{len(ran)} of {len(code)} code cells of the copy are executed."
