"""`jupyter-agent --help`, the whole process: at most 2.5 × Python importing argparse."""

from __future__ import annotations

import sys

from _harness import Result, command, paired


def measure() -> list[Result]:
    ours = command([sys.executable, "-m", "jupyter_agent", "--help"])
    baseline = command([sys.executable, "-c", "import argparse"])
    return [paired("jupyter-agent --help", "python -c 'import argparse'", ours, baseline, limit=2.5, rounds=15)]
