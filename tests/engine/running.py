"""Small projects, and ways to run them, for the tests of session, checkpoints and command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import munet
from munet.engine.execute.vulkan.device import why_no_devices
from munet.engine.graph import Edge, Graph, Node, Run

ROOT = Path(__file__).resolve().parents[2]
SHORT = Run(steps=40, seed=3)
DEVICES = ("cpu", "auto") if not why_no_devices() else ("cpu",)


def edge(text: str) -> Edge:
    source, target = text.split(" -> ")
    return Edge(*source.split("."), *target.split("."))


def graph(nodes: Mapping[str, tuple[str, dict[str, Any]]], edges: str, run: Run = SHORT) -> Graph:
    """Nodes as name -> (operator, params), edges one a line."""
    made = {name: Node(name, operator, params) for name, (operator, params) in nodes.items()}
    return Graph("test", made, tuple(edge(line.strip()) for line in edges.strip().splitlines()), run=run)


def xor(optimiser: str = "Adam", lr: float = 0.05, run: Run = SHORT) -> Graph:
    """Two points a step, so that an epoch has two steps and its order matters."""
    nodes = {
        "points": ("xor", {"batch": 2}),
        "one": ("Linear", {"out_features": 8}),
        "bend": ("tanh", {}),
        "two": ("Linear", {"out_features": 1}),
        "error": ("mse_loss", {}),
        "learn": (optimiser, {"lr": lr}),
    }
    edges = """points.x -> one.x
        one.y -> bend.x
        bend.y -> two.x
        two.y -> error.prediction
        points.y -> error.target
        error.loss -> learn.loss"""
    return graph(nodes, edges, run)


def spiral(batch: int = 7, run: Run = SHORT) -> Graph:
    """A data set of 39 samples, held out 39: batches of 7 leave 4 over."""
    nodes = {
        "arms": ("spiral", {"batch": batch, "points": 13}),
        "one": ("Linear", {"out_features": 16}),
        "bend": ("relu", {}),
        "two": ("Linear", {"out_features": 3}),
        "error": ("cross_entropy", {}),
        "right": ("accuracy", {}),
        "rate": ("cosine", {"rate": 0.02, "steps": 30}),
        "learn": ("Adam", {}),
    }
    edges = """arms.x -> one.x
        one.y -> bend.x
        bend.y -> two.x
        two.y -> error.logits
        arms.label -> error.label
        two.y -> right.logits
        arms.label -> right.label
        error.loss -> learn.loss
        rate.rate -> learn.rate"""
    return graph(nodes, edges, run)


def finish(session: munet.Session, steps: int) -> None:
    for _ in session.train(steps):
        pass


# Says at exit how much memory the process itself took; what the system reports of a child starts with its parent's.
_MEASURED = """
import atexit, sys
from munet.cli import main
high = lambda: next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
atexit.register(lambda: print("peak KiB", high(), file=sys.stderr))
main()
"""


def command(
    *arguments: str | Path, timeout: float = 120, cwd: Path = ROOT, measured: bool = False
) -> subprocess.CompletedProcess[str]:
    """`munet ...` in a process of its own; `measured` for `peak_kib`."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    line = [sys.executable, *(("-c", _MEASURED) if measured else ("-m", "munet.cli")), *map(str, arguments)]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout, check=False)


def peak_kib(done: subprocess.CompletedProcess[str]) -> int:
    """The most memory that a measured command held at once, in KiB."""
    return int(done.stderr.rpartition("peak KiB")[2].split()[0])


def last_json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout.strip(), done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])
