"""Runs that were made before, read from their folders: settings, metrics step by step, checkpoints. Nothing is written here.

A folder of `munet run --out` and one of the studio are the same. Long series are thinned evenly while they are read.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from munet.engine.checkpoint import HELD_OUT, read_header
from munet.engine.errors import MunetError, Problem, ProjectError
from munet.engine.files import PathLike, read_file
from munet.engine.graph import Graph
from munet.engine.project import load_project

MAX_POINTS = 4000  # of one series
_MAX_BYTES = 2**30
_FACT_BYTES = 2**20


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint file. `metrics` are those of the run at its step, evaluations as "test.loss"; {} where it is not known."""

    path: str
    step: int
    written_at: float  # seconds since the epoch
    size_bytes: int
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PastRun:
    """A run as its folder tells it. Series are (steps, values) by metric; `evaluations` are those of the held-out split."""

    path: str
    started_at: float  # seconds since the epoch
    seed: int
    device: str
    changes: tuple[str, ...]  # of the command line, as "node.param=value"
    graph: Graph
    step: int
    series: Mapping[str, tuple[list[int], list[float]]]
    evaluations: Mapping[str, tuple[list[int], list[float]]]
    checkpoints: tuple[Checkpoint, ...]
    faults: tuple[str, ...] = ()  # checkpoints that cannot be read

    @property
    def name(self) -> str:
        return Path(self.path).name


def read_run(folder: PathLike) -> PastRun:
    """The run in `folder`. Raises ProjectError when that is none, or what is needed of it cannot be read."""
    path = Path(folder)
    facts = _facts(path)
    graph = load_project(path / "project.json")
    series, evaluations = _series(path / "metrics.jsonl")
    checkpoints, faults = _checkpoints(path, series, evaluations)
    steps = [steps[-1] for steps, _ in (*series.values(), *evaluations.values()) if steps]
    steps += [checkpoint.step for checkpoint in checkpoints]
    seed, changes = facts.get("seed"), facts.get("set")
    return PastRun(
        path=str(path),
        started_at=_started_at(path, facts),
        seed=seed if isinstance(seed, int) else graph.run.seed,
        device=str(facts.get("device", "")),
        changes=tuple(str(change) for change in changes) if isinstance(changes, list) else (),
        graph=graph,
        step=max(steps, default=0),
        series=series,
        evaluations=evaluations,
        checkpoints=checkpoints,
        faults=faults,
    )


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(read_file(path / "run.json", _FACT_BYTES))
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or "munet" not in facts:
        raise ProjectError([Problem("no-run", "run.json is damaged, or none of ours", file=str(path / "run.json"))])
    return facts


def _started_at(path: Path, facts: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(facts.get("started", ""))).timestamp()
    except ValueError:  # of a version that did not write it
        return (path / "run.json").stat().st_mtime


Series = dict[str, tuple[list[int], list[float]]]


def _series(path: Path) -> tuple[Series, Series]:
    """Metrics of training and of the held-out split. Lines that are no whole ones, of a run that was killed, are passed over."""
    found: tuple[Series, Series] = ({}, {})
    if not path.is_file():
        return found
    for line in read_file(path, _MAX_BYTES).splitlines():
        try:
            known = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(known, dict) or not isinstance(known.get("step"), int):
            continue
        table = found[known.get("split") == "test"]
        for name, value in known.items():
            if name not in ("step", "split") and (number := _number(value)) is not None:
                _add(table.setdefault(name, ([], [])), known["step"], number)
    return found


def _add(series: tuple[list[int], list[float]], step: int, value: float) -> None:
    steps, values = series
    steps.append(step)
    values.append(value)
    if len(steps) > 2 * MAX_POINTS:
        del steps[1:-1:2], values[1:-1:2]


def _number(value: object) -> float | None:
    """A number as `finite` wrote it; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _checkpoints(path: Path, series: Series, evaluations: Series) -> tuple[tuple[Checkpoint, ...], tuple[str, ...]]:
    found: list[Checkpoint] = []
    faults: list[str] = []
    for file in sorted(path.glob("*.safetensors")):
        try:
            header, facts = read_header(file), file.stat()
        except (MunetError, OSError) as error:
            faults.append(str(error))
            continue
        step = header.step
        evaluated = {f"{HELD_OUT}{name}": value for name, value in _at(step, evaluations).items()}
        metrics = _at(step, series) | evaluated | dict(header.metrics)
        found.append(Checkpoint(str(file), step, facts.st_mtime, facts.st_size, metrics))
    return tuple(sorted(found, key=lambda checkpoint: (checkpoint.step, checkpoint.path))), tuple(faults)


def _at(step: int, table: Series) -> dict[str, float]:
    """The metrics of a step, of those that were written down for it."""
    found: dict[str, float] = {}
    for name, (steps, values) in table.items():
        place = bisect_right(steps, step) - 1
        if place >= 0 and steps[place] == step:
            found[name] = values[place]
    return found
