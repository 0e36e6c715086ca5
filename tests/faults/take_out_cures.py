"""Takes each cure out of a copy of the program, in turn, and shows that the fault's test then fails.

    python tests/faults/take_out_cures.py [FAULT …] [--jobs N]

`cures/*.toml` beside this file name for each fault the file, the cure's text, what stands there without it, and the
tests that have to fail. Exit code 1 if a test stays green without its cure, or a cure's text is no longer in the file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("jupyter_agent", "tests", "pyproject.toml")
TIMEOUT = 300
"""Seconds for one run of a fault's tests: without a cure for hanging, a test may hang until its own time limit."""


@dataclass(frozen=True)
class Cure:
    """`file` is relative to the repository; `cure` occurs in it once and is replaced by `without`."""

    fault: str
    file: str
    cure: str
    without: str
    tests: tuple[str, ...]


def load(folder: Path) -> list[Cure]:
    """All cures, in order of their faults."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["cure"]:
            entry["tests"] = tuple(entry["tests"])
            found.append(Cure(**entry))
    return sorted(found, key=lambda cure: (cure.fault[0], int(cure.fault[1:]), cure.file))


def try_without(cure: Cure) -> str:
    """`red` as it should be, or what is wrong."""
    with tempfile.TemporaryDirectory(prefix="without-cure-") as folder:
        copy = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "labextension"))
            else:
                shutil.copy(source, copy / name)
        target = copy / cure.file
        text = target.read_text(encoding="utf-8")
        if text.count(cure.cure) != 1:
            return f"the cure's text occurs {text.count(cure.cure)} times in {cure.file}"
        target.write_text(text.replace(cure.cure, cure.without), encoding="utf-8")
        return _run(copy, cure.tests)


def _run(copy: Path, tests: tuple[str, ...]) -> str:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return "red"
    output = done.stdout + done.stderr
    # A hang's end by pytest-timeout may break up the whole run.
    if done.returncode == 1 or "from pytest-timeout" in output:
        return "red"
    last = output.strip().splitlines()[-1:] or ["no output"]
    return "GREEN without the cure" if done.returncode == 0 else f"the tests did not run: {last[0]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    cures = [
        cure for cure in load(Path(__file__).parent / "cures") if cure.fault in arguments.faults or not arguments.faults
    ]
    wrong = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for cure, outcome in zip(cures, pool.map(try_without, cures), strict=True):
            wrong += outcome != "red"
            print(f"{cure.fault:<4} {cure.file:<40} {outcome}", flush=True)
    print(f"{len(cures)} cures taken out, {len(cures) - wrong} red, {wrong} not")
    return 1 if wrong or not cures else 0


if __name__ == "__main__":
    raise SystemExit(main())
