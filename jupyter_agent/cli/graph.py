"""`jupyter agent graph`: what cells read and write, what is stale, what is dead. Runs nothing."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from pathlib import Path

from jupyter_agent.cli.main import DONE
from jupyter_agent.cli.opening import place_of_notebook
from jupyter_agent.notebook import open_notebook
from jupyter_agent.notebook.flow import Graph, analyse
from jupyter_agent.notebook.flow_render import describe, to_mermaid, to_text
from jupyter_agent.refactor.proving import language_of


def command_graph(arguments: Namespace) -> int:
    place = place_of_notebook(arguments.notebook, None)
    assert place.notebook is not None
    graph = asyncio.run(_graph(place.notebook))
    if arguments.json:
        print(json.dumps(describe(graph)))
    else:
        print(to_mermaid(graph) if arguments.mermaid else to_text(graph))
    return DONE


async def _graph(path: Path) -> Graph:
    notebook = await open_notebook(path)
    return analyse(await notebook.cells(), language=language_of(await notebook.metadata()))
