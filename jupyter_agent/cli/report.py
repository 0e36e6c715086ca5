"""Outcomes for people and machines: text, a summary table, JSON lines, JUnit XML. Writes only the report file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_agent.atomic import replace_file
from jupyter_agent.cli.render import Renderer, make_console
from jupyter_agent.refactor.proving import Outcome

if TYPE_CHECKING:
    from jupyter_agent.refactor.verify import CellVerdict, VerifyReport

MARKS = {"same": "✔", "changed": "✘", "new_error": "✘", "not_deterministic": "~", "unproven": "○"}
STYLES = {"proven": "green", "failed": "red", "error": "red", "refused": "red", "unproven": "yellow"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def print_json(outcome: Outcome, **more: object) -> None:
    """One outcome a line on standard output."""
    print(json.dumps(outcome.to_json() | more, ensure_ascii=True, default=str), flush=True)


class Text:
    """Outcomes as text on standard output."""

    def __init__(self) -> None:
        self._renderer = Renderer(make_console())

    def line(self, text: str, style: str = "") -> None:
        self._renderer.line(text, style)

    def diff(self, text: str) -> None:
        """The whole difference: what is not shown cannot be judged."""
        for line in text.splitlines():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            self.line("    " + line, "bold" if line.startswith(("+++", "---")) else style)

    def report(self, report: VerifyReport) -> None:
        """The cells that are not plainly the same, and the notes."""
        for verdict in report.verdicts:
            if verdict.verdict == "same" and not verdict.reason:
                continue
            kind = verdict.verdict.replace("_", " ")
            style = "red" if MARKS[verdict.verdict] == "✘" else ""
            self.line(f"  {MARKS[verdict.verdict]} {', '.join(verdict.cells)}: {kind}. {verdict.reason}", style)
            for line in verdict.difference.splitlines():
                self.line(f"      {line}", "dim")
        for note in report.notes:
            self.line(f"  note: {note}", "dim")

    def table(self, rows: Sequence[tuple[str, str, str]], title: str) -> None:
        """A summary of several notebooks: (name, status, remark)."""
        console = self._renderer.console
        if not console.is_terminal:
            width = max((len(name) for name, _, _ in rows), default=0)
            self.line(f"\n{title}")
            for name, status, remark in rows:
                self.line(f"  {name:<{width}}  {status:<10}  {remark}".rstrip())
            return
        from rich.table import Table
        from rich.text import Text as Styled

        table = Table(title=title, title_justify="left")
        for heading in ("notebook", "status", ""):
            table.add_column(heading, overflow="fold")
        for name, status, remark in rows:
            table.add_row(Styled(name), Styled(status, STYLES.get(status, "")), Styled(remark))
        console.print(table, soft_wrap=False)


# ------------------------------------------------------------------------------------------------------------ JUnit


def write_junit(path: str, outcomes: Mapping[str, Outcome], command: str) -> None:
    """A JUnit report, one suite a notebook and one case a cell: changed outputs and new errors fail; what could not be
    proved is skipped with its reason, never passed. `outcomes` by the notebook's name as the person gave it."""
    from xml.etree import ElementTree

    suites = ElementTree.Element("testsuites", name=f"jupyter agent {command}")
    for name, outcome in outcomes.items():
        suite = ElementTree.SubElement(suites, "testsuite", name=_clean(name))
        report = outcome.report
        if report is None or not report.verdicts:
            _add_case(suite, name, name, outcome.status, outcome.reason, seconds=report.seconds if report else 0.0)
        for verdict in report.verdicts if report is not None else ():
            text = f"{verdict.reason}\n{verdict.difference}".strip()
            # A cell that fails as it did before is the same, but no case of a notebook that works.
            status = "unproven" if verdict.fails and verdict.verdict == "same" else verdict.verdict
            _add_case(suite, name, _case_name(verdict), status, text, verdict.seconds)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
        suite.set("tests", str(len(suite)))
        suite.set("time", f"{report.seconds if report is not None else 0.0:.3f}")
    ElementTree.indent(suites)
    data = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, data, expected_sha256=None)


def _case_name(verdict: CellVerdict) -> str:
    return f"#{verdict.index} {', '.join(verdict.cells)}"


def _add_case(suite: object, notebook: str, case: str, status: str, text: str, seconds: float) -> None:
    from xml.etree import ElementTree

    assert isinstance(suite, ElementTree.Element)
    element = ElementTree.SubElement(
        suite, "testcase", classname=_clean(notebook), name=_clean(case), time=f"{seconds:.3f}"
    )
    tags = {"changed": "failure", "new_error": "failure", "failed": "failure", "error": "error", "refused": "failure"}
    passed = ("same", "proven", "unchanged")
    tag = tags.get(status, "" if status in passed else "skipped")
    if tag:
        message = text.split("\n", 1)[0] or status.replace("_", " ")
        ElementTree.SubElement(element, tag, message=_clean(message), type=status).text = _clean(text)


def _clean(text: str) -> str:
    """XML 1.0 has no form for control characters and lone surrogates."""
    return _NOT_XML.sub("\ufffd", text)
