"""The edit engine against wcgw's and aider's, each in its own process, by turns in one run.

Limits at 100k and 500k lines against wcgw: exact 0.2, indentation off 0.05, no match 0.01; against aider from 10k lines
up: 1, no match 0.2. Worst cases below 50 ms; memory at most 8 times the text. wcgw and aider are installed once into
environments of their own under the temporary folder.
"""

from __future__ import annotations

import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import venv
from pathlib import Path
from typing import Any

from _harness import Result

VERSIONS = {"wcgw": "wcgw==5.6.7", "aider": "aider-chat==0.86.2"}
SIZES = (1_000, 10_000, 100_000, 500_000)
SCENARIOS = ("exact", "indentation", "no match")
WORST = (
    "60 equal lines, 4 ambiguous blocks",
    "2,000 equal lines, block of one",
    "2,000 equal lines, block of 600",
    "600-line block without a match",
)
DEADLINE = 30.0
"""Seconds after which a run may be ended and counted as that long, which only flatters the other engine."""
ENOUGH = 3.0
"""A run is not ended before it took this many times as long as the promised ratio needs."""
ROUNDS = 3
SLOW = 2.0
"""Seconds from which one round is enough."""

FOLDER = Path(__file__).parent


def environment(engine: str) -> str:
    """The interpreter that has `engine`, installed if it is not there yet."""
    if engine == "ours":
        return sys.executable
    folder = Path(tempfile.gettempdir()) / "jupyter-agent-benchmarks" / VERSIONS[engine].replace("==", "-")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "installed").exists():
        print(f"installing {VERSIONS[engine]} into {folder} …", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", VERSIONS[engine]], check=True)
        (folder / "installed").touch()
    return str(python)


class Worker:
    """One engine in a process of its own; started again after a run that passed the deadline."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.command = [environment(engine), str(FOLDER / "_edit_worker.py"), engine]
        self.start()

    def start(self) -> None:
        environ = {**os.environ, "PYTHONPATH": str(FOLDER.parent)} if self.engine == "ours" else os.environ
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
        )
        self.answers: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, self.answers), daemon=True).start()

    @staticmethod
    def _read(process: subprocess.Popen[bytes], answers: queue.Queue[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put(b"")

    def run(
        self, name: str, lines: int = 0, count: int = 1, *, memory: bool = False, deadline: float = 300.0
    ) -> dict[str, Any]:
        """The worker's answer; where it took longer than `deadline`, that many `seconds` and the outcome "deadline"."""
        assert self.process.stdin is not None
        request = {"name": name, "lines": lines, "count": count, "memory": memory}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        try:
            line = self.answers.get(timeout=deadline)
        except queue.Empty:
            self.stop()
            self.start()
            return {"seconds": deadline, "outcome": "deadline"}
        if not line:
            raise RuntimeError(f"the worker of {self.engine} ended; run {' '.join(self.command)} to see why")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def limit_of(engine: str, scenario: str, lines: int) -> float | None:
    """The ratio promised."""
    if engine == "wcgw" and lines >= 100_000:
        return {"exact": 1 / 5, "indentation": 1 / 20, "no match": 1 / 100}[scenario]
    if engine == "aider" and lines >= 10_000:
        return 1 / 5 if scenario == "no match" else 1.0
    return None


def compared(workers: dict[str, Worker], scenario: str, lines: int, count: int) -> list[Result]:
    times: dict[str, list[float]] = {engine: [] for engine in workers}
    cut_off: set[str] = set()
    expected = "not_found" if scenario == "no match" else "applied"
    for number in range(ROUNDS + 1):  # the first round warms up, and tells which engines are slow
        for engine, worker in workers.items():
            if number > 0 and engine != "ours" and times[engine][0] >= SLOW:
                continue
            limit = limit_of(engine, scenario, lines)
            needed = times["ours"][0] / limit if limit is not None else 0.0
            answer = worker.run(scenario, lines, count, deadline=max(DEADLINE, ENOUGH * needed))
            if answer["outcome"] == "deadline":
                cut_off.add(engine)
            if engine == "ours" and answer["outcome"] != expected:
                raise RuntimeError(f"{scenario}, {lines} lines: {answer['outcome']} instead of {expected}")
            times[engine].append(answer["seconds"])
    mine = times["ours"][1:]
    name = f"{scenario}, {count} block{'s' * (count > 1)}, {lines:,} lines"
    print(f"  {name}", file=sys.stderr)
    return [
        _result(name, label, mine, times[engine][1:] or times[engine], limit_of(engine, scenario, lines))
        for engine in ("wcgw", "aider")
        for label in [f"{engine}, cut off" if engine in cut_off else engine]
    ]


def _result(name: str, against: str, mine: list[float], theirs: list[float], limit: float | None) -> Result:
    ours, baseline = statistics.median(mine), statistics.median(theirs)
    ratios = [mine[number % len(mine)] / theirs[number % len(theirs)] for number in range(max(len(mine), len(theirs)))]
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Result(name, against, 1000 * ours, 1000 * baseline, ours / baseline, low, high, limit, len(ratios))


def worst(worker: Worker, name: str) -> Result:
    times = [worker.run(name)["seconds"] for _ in range(ROUNDS + 1)][1:]
    return _result(name, "50 ms", times, [0.05], 1.0)


def memory(worker: Worker, scenario: str, lines: int) -> Result:
    """Peak of what the engine allocates beside the text, as a multiple of the text's size; both in kB here."""
    from _edit_worker import case

    size = len(case(scenario, lines, 10)[0])
    peak = worker.run(scenario, lines, 10, memory=True)["peak"]
    name = f"peak memory (kB), {scenario}, 10 blocks, {lines:,} lines"
    ratio = peak / size
    return Result(name, "text size", peak / 1000, size / 1000, ratio, ratio, ratio, 8.0, 1)


def measure() -> list[Result]:
    workers = {engine: Worker(engine) for engine in ("ours", *VERSIONS)}
    try:
        results = [
            result
            for lines in SIZES
            for scenario in SCENARIOS
            for count in (1, 10)
            for result in compared(workers, scenario, lines, count)
        ]
        results += [worst(workers["ours"], name) for name in WORST]
        results += [memory(workers["ours"], scenario, lines) for scenario in SCENARIOS for lines in (10_000, 500_000)]
    finally:
        for worker in workers.values():
            worker.stop()
    return results
