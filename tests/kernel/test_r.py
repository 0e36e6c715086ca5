"""A real R kernel: the shipped suite, its variables, input that R asks for although nobody may, its syntax check."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from jupyter_client.kernelspec import KernelSpecManager
from lab.harness import without

from jupyter_agent.kernel.client import ClientKernel, start_kernel
from jupyter_agent.testing import kernels
from jupyter_agent.testing.calls import call, conversation_on, text_of
from jupyter_agent.testing.samples import code, write_notebook
from jupyter_agent.tools import all_tools

pytestmark = pytest.mark.asyncio(loop_scope="module")

FEATURES = {"counts", "parallel", "interrupt", "restart", "mortal"}
METADATA = {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}, "language_info": {"name": "R"}}


@pytest.fixture(scope="module")
def needs_r() -> None:
    if "ir" not in KernelSpecManager().find_kernel_specs():
        without("no R kernel on this machine; on Debian: apt-get install r-cran-irkernel")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def r(needs_r: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClientKernel]:
    kernel = await start_kernel("ir", spill=tmp_path_factory.mktemp("spill"))
    yield kernel
    await kernel.shutdown()


@pytest.mark.parametrize("check", kernels.checks(FEATURES), ids=lambda check: check.__name__[6:])
async def test_conformance(r: ClientKernel, check: kernels.Check) -> None:
    await check(r, kernels.R)


async def test_variables_are_described_and_one_that_fails_hides_no_other(r: ClientKernel) -> None:
    made = (
        "rm(list = ls())\nn <- 1:10; people <- data.frame(name = c('a', 'b'), age = 3:4); m <- matrix(1:6, 2)\n"
        "makeActiveBinding('active', function() stop('looked at'), globalenv())\n"
        "delayedAssign('failing', stop('forced'))\nwords <- 'tab\\there'; f <- function(x) x; zero <- NULL"
    )
    await kernels.run(r, made)
    found = {variable.name: variable for variable in await r.variables()}
    assert sorted(found) == ["active", "f", "failing", "m", "n", "people", "words", "zero"]
    assert (found["people"].type, found["people"].shape) == ("data.frame", "2 rows x 2 columns")
    assert found["people"].preview == "name, age"
    assert (found["m"].shape, found["n"].preview) == ("2x3", "1:6")
    assert (found["active"].type, found["failing"].type) == ("active binding", "cannot be read")
    assert [(v.name, v.type) for v in await r.variables(["n", "nosuch"])] == [("n", "integer"), ("nosuch", "undefined")]


async def test_input_is_refused_although_r_asks_for_it(r: ClientKernel) -> None:
    snapshot = await kernels.run(r, "answer <- readline('Who? ')\ncat('got', answer)")
    assert snapshot.status == "error"
    assert snapshot.error is not None
    assert snapshot.error[0] == "InputRefused"
    assert "assign the value" in snapshot.advice
    assert [output["ename"] for output in snapshot.outputs] == ["InputRefused"]
    assert kernels.text_of(await kernels.run(r, "cat('alive')")) == "alive"


async def test_cells_are_edited_checked_and_run(needs_r: None, tmp_path: Path) -> None:
    cells = [code("a", "z <- 1\nx <- c(1, 2"), code("b", "mean(x)")]
    path = write_notebook(tmp_path / "r.ipynb", cells, metadata=METADATA)
    tools = all_tools()
    async with conversation_on(tmp_path, tools, folder=tmp_path / "c", notebook=path) as conversation:

        async def edit(search: str, replace: str) -> str:
            blocks = [{"search": search, "replace": replace}]
            return text_of(await call(conversation, "edit_cells", ops=[{"op": "edit", "cell": "a", "blocks": blocks}]))

        before = await edit("z <- 1", "z <- 2")
        assert "syntax" not in before, "no kernel runs that could tell"
        await call(conversation, "control_kernel", action="start")
        assert "syntax error" not in await edit("z <- 2", "z <- 3"), "the error is an old one"
        assert "syntax ok" in await edit("c(1, 2", "c(2, 4)")
        broken = await edit("c(2, 4)", "c(2, 4)\ny <- x +")
        assert "syntax error in cell a: line 4: unexpected end of input" in broken
        await edit("\ny <- x +", "")
        ran = text_of(await call(conversation, "run_cells", cells="all"))
        assert ran.startswith("ok 2 cells ran")
        assert "3" in ran
        failed = text_of(await call(conversation, "run_code", code="stop('no good')"))
        assert "no good" in failed
        assert failed.startswith("error: ERROR")
