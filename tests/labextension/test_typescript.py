"""The labextension's own tests: what it computes without a page, compiled and run by Node.js."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lab.harness import without

FOLDER = Path(__file__).parents[2] / "labextension"


def test_the_tests_in_typescript_pass(tmp_path: Path) -> None:
    node, compiler = shutil.which("node"), FOLDER / "node_modules" / "typescript" / "bin" / "tsc"
    if node is None:
        without("no Node.js on this machine")
    if not compiler.is_file():
        without("the labextension was not built here: `cd labextension && jlpm install` brings its compiler")
    compile_all = [node, str(compiler), "-p", "tsconfig.test.json", "--outDir", str(tmp_path)]
    done = subprocess.run(compile_all, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    tests = sorted(str(path) for path in (tmp_path / "test").glob("*.test.js"))
    assert len(tests) == len(list((FOLDER / "test").glob("*.test.ts")))
    done = subprocess.run([node, "--test", *tests], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
