"""The examples run, each in a process of its own and for a few steps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "library_use": "going on at step 6",
    "own_training_loop": "states kept; started anew: middle/weight",
    "own_operator": "with snake after 6 steps",
    "own_layer": "block 3    ResidualBlock  [30, 16]",
    "reading_the_pass_list": "Values that share bytes",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example(path: Path, tmp_path_factory: pytest.TempPathFactory):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MUNET_CACHE_DIR": str(tmp_path_factory.getbasetemp() / "examples")}
    count = "2" if path.stem == "own_training_loop" else "6"
    done = subprocess.run(
        [sys.executable, str(path), count], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[path.stem] in done.stdout


def test_all_examples_are_known():
    assert {path.stem for path in EXAMPLES} == set(SAYS)
