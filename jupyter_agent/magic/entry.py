"""What `%load_ext jupyter_agent` puts into a shell: two magics, a transformer that makes them awaited, configuration.

Async magics are not awaited by IPython, so `%%agent` is rewritten to an awaited call: cells that the agent runs then go
through the shell's own `run_cell_async`, on the main thread, top-level `await` included.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Enum, Float, Integer, Unicode
from traitlets.config import Configurable

if TYPE_CHECKING:
    from jupyter_agent.magic.agent import Agent

_CELL = re.compile(r"%%agent(?=\s|$)(.*)")
_LINE = re.compile(r"(\s*)%agent(?=\s|$)(.*)")
_HELP = re.compile(r"\s*%{1,2}agent\?{1,2}\s*$")


class JupyterAgent(Configurable):  # type: ignore[misc]
    """Defaults of `%agent`; `%config JupyterAgent` shows and sets them."""

    mode = Enum(
        ("plan", "review", "accept-edits", "auto"),
        "review",
        help="What happens unasked: plan, review, accept-edits, auto.",
    ).tag(config=True)
    model = Unicode("", help="The model; empty: ANTHROPIC_MODEL or the default.").tag(config=True)
    base_url = Unicode("", help="An endpoint that speaks the Messages API; empty: ANTHROPIC_BASE_URL.").tag(config=True)
    max_turns = Integer(50, min=1, help="Model replies per message at most.").tag(config=True)
    budget = Float(0.0, min=0.0, help="US dollars per conversation at most; 0: no limit.").tag(config=True)
    send_outputs = Bool(True, help="Whether the model sees the outputs of cells.").tag(config=True)
    send_variables = Bool(True, help="Whether the model sees the kernel's variables.").tag(config=True)
    quiet = Bool(False, help="Show only the answer and the closing line.").tag(config=True)


class Entry:
    """Lives on the shell as `shell.jupyter_agent`; the rewritten magics call `line` and `cell` on it."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.config = JupyterAgent(parent=shell)
        self._agent: Agent | None = None

    # ---------------------------------------------------------------------------------------------- registration

    def install(self) -> None:
        shell = self.shell
        shell.jupyter_agent = self
        shell.register_magic_function(self._unawaited, magic_kind="line_cell", magic_name="agent")
        shell.input_transformers_cleanup.append(self.transform)
        shell.configurables.append(self.config)
        shell.set_hook("complete_command", self._complete, re_key=r"%{1,2}agent")
        if "_agent" not in shell.user_ns:
            # Hidden from %who; the last result takes its place.
            shell.push({"_agent": None}, interactive=False)

    def uninstall(self) -> None:
        shell = self.shell
        shell.input_transformers_cleanup.remove(self.transform)
        shell.configurables.remove(self.config)
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("agent", None)
        shell.user_ns.pop("_agent", None)
        shell.user_ns_hidden.pop("_agent", None)
        del shell.jupyter_agent

    # ---------------------------------------------------------------------------------------------- transformation

    def transform(self, lines: list[str]) -> list[str]:
        """A `%%agent` cell, or `%agent` lines outside of strings, as awaited calls; everything else as it is."""
        if not any("%agent" in line for line in lines) or _HELP.match(lines[0]):
            return lines
        match = _CELL.match(lines[0])
        if match:
            body = "".join(lines[1:])
            return [f"await get_ipython().jupyter_agent.cell({match[1].strip()!r}, {body!r})\n"]
        if lines[0].startswith("%%"):
            return lines
        return _transform_lines(lines)

    # So that it is left out where IPython looks whether a cell is complete: `%%agent` goes on until an empty line.
    transform.has_side_effects = True  # type: ignore[attr-defined]

    # ------------------------------------------------------------------------------------------------------ calls

    async def line(self, text: str) -> None:
        """`%agent TEXT`."""
        await self.agent.run(text.strip(), "")

    async def cell(self, line: str, body: str) -> None:
        """`%%agent OPTIONS` with the request below it."""
        await self.agent.run(line, body)

    @property
    def agent(self) -> Agent:
        """The agent behind the magics, imported now."""
        if self._agent is None:
            from jupyter_agent.magic.agent import Agent

            self._agent = Agent(self.shell, self.config)
        return self._agent

    def _unawaited(self, line: str = "", cell: str | None = None) -> None:
        """Ask the agent: `%agent TEXT`, or `%%agent [OPTIONS]` with the request below. `%agent help` says more."""
        # Reached only where the transformer could not be (get_ipython().run_line_magic, `x = %agent …`).
        print(
            "%agent works in the live kernel and is awaited: write it on a line of its own, not inside an expression."
        )

    def _complete(self, _shell: Any, event: Any) -> list[str]:
        from jupyter_agent.magic.completion import complete

        return complete(self.shell, event.line, event.symbol)


def _transform_lines(lines: list[str]) -> list[str]:
    """`%agent …` at the start of a logical line, found with Python's tokenizer so that strings are left alone."""
    starts = _logical_starts(lines)
    made = []
    for number, line in enumerate(lines):
        match = _LINE.fullmatch(line.rstrip("\r\n")) if number in starts else None
        if match:
            line = f"{match[1]}await get_ipython().jupyter_agent.line({match[2]!r})\n"
        made.append(line)
    return made


def _logical_starts(lines: list[str]) -> set[int]:
    """0-based numbers of the lines on which a statement starts: not inside brackets or a multi-line string.

    `%agent` lines are no Python (an apostrophe in them opens no string), so they are blanked first.
    """
    import io
    import tokenize

    blanked = ["pass\n" if _LINE.match(line) else line for line in lines]
    indents = [len(line) - len(line.lstrip()) for line in lines]
    for number, line in enumerate(lines):
        if _LINE.match(line):
            blanked[number] = " " * indents[number] + "pass\n"
    starts: set[int] = set()
    fresh = True
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(blanked)).readline):
            if token.type in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
                continue
            if token.type == tokenize.NEWLINE:
                fresh = True
            elif fresh:
                starts.add(token.start[0] - 1)
                fresh = False
    except (tokenize.TokenError, SyntaxError):
        # Other magics in the cell are no Python either: what was found so far, or every line at the margin.
        starts |= {number for number, indent in enumerate(indents) if indent == 0 and number > max(starts, default=-1)}
    return starts
