"""Run the benchmarks named, or all: `python benchmarks [--json] [NAME…]`. Exit 1: a limit is broken."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from _harness import Result, table  # noqa: E402 - the folder is no package


def main() -> int:
    known = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
    parser = argparse.ArgumentParser(prog="python benchmarks", description="Ratios of our times to a baseline's.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(known)
    if unknown:
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    results: list[Result] = []
    for name in arguments.names or known:
        print(f"{name} …", file=sys.stderr)
        results += importlib.import_module(name).measure()
    print(json.dumps([item.to_json() for item in results], indent=1) if arguments.json else table(results))
    return 0 if all(item.kept for item in results) else 1


if __name__ == "__main__":
    sys.exit(main())
