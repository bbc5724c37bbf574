"""Earlier runs of a project: where they lie, in what they differed, figures for lists. Reading and deleting: `runshelf.py`.

The studio's runs lie beside its state, in a folder for each project; those of `munet run --out` are seen if their folder lies in
`runs` beside the project file.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import platformdirs

from munet import Graph
from munet.inspect import Checkpoint, PastRun

SHOWN = 4  # differences that are written out


def home() -> Path:
    """Where the studio keeps runs."""
    return Path(platformdirs.user_state_dir("munet-studio", appauthor=False)) / "runs"


def folder_of(project: Path | None, name: str, root: Path | None = None) -> Path:
    """The folder for runs of a project: by its file, or by its name while it has none."""
    known = project.stem if project is not None else name
    plain = re.sub(r"[^\w-]+", "-", known).strip("-")[:40] or "untitled"
    mark = hashlib.sha256(os.fsencode(project.resolve())).hexdigest()[:8] if project is not None else "unsaved"
    return (root or home()) / f"{plain}-{mark}"


def new_name() -> str:
    """For a project that has no name yet: no other one has the same."""
    return f"untitled-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def new_folder(parent: Path) -> Path:
    """A path for another run, by the date; nothing is made."""
    name = time.strftime("%Y-%m-%d_%H-%M-%S")
    path, number = parent / name, 1
    while path.exists():
        number += 1
        path = parent / f"{name}_{number}"
    return path


# -- what differed ---------------------------------------------------------------------------------------------------------


def differences(now: Graph, then: Graph) -> list[str]:
    """In what a run's drawing was unlike the one of now: "adam.lr 0.01", "+ dropout 1", "- relu 2", "wires", "seed 2"."""
    found: list[str] = []
    for id_, node in then.nodes.items():
        ours = now.nodes.get(id_)
        if ours is None:
            found.append(f"+ {id_}")
            continue
        if ours.operator != node.operator:
            found.append(f"{id_} was {node.operator}")
        for name in dict.fromkeys((*node.params, *ours.params)):
            if node.params.get(name) != ours.params.get(name):
                found.append(f"{id_}.{name} {_short(node.params.get(name, 'as usual'))}")
        found += [f"{id_} {flag}" for flag in ("muted", "frozen") if getattr(node, flag) and not getattr(ours, flag)]
        found += [f"{id_} not {flag}" for flag in ("muted", "frozen") if getattr(ours, flag) and not getattr(node, flag)]
    found += [f"- {id_}" for id_ in now.nodes if id_ not in then.nodes]
    both = now.nodes.keys() & then.nodes.keys()
    if _wires(now, both) != _wires(then, both):
        found.append("wires")
    if now.subgraphs != then.subgraphs:
        found.append("subgraphs")
    for name in ("seed", "accumulate"):
        if getattr(now.run, name) != getattr(then.run, name):
            found.append(f"{name} {getattr(then.run, name)}")
    return found


def _wires(graph: Graph, nodes: frozenset[str] | set[str]) -> frozenset[object]:
    return frozenset(edge for edge in graph.edges if edge.source in nodes and edge.target in nodes)


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def told(found: Sequence[str]) -> str:
    """Differences in one line."""
    more = f", {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


# -- figures for lists -----------------------------------------------------------------------------------------------------


def last_loss(series: Mapping[str, tuple[Sequence[int], Sequence[float]]]) -> float | None:
    for name, (_, values) in series.items():
        if name.split(".")[-1].startswith("loss") and values:
            return values[-1]
    return None


def best_metric(evaluations: Mapping[str, tuple[Sequence[int], Sequence[float]]], judged: str) -> tuple[str, float] | None:
    """The best held-out value of what a run is judged by; without one, of the first metric that is no loss, or of the loss."""
    names = [name for name in evaluations if evaluations[name][1]]
    others = [name for name in names if not is_loss(name)]
    name = judged if judged in names else (others or names or [""])[0]
    if not name:
        return None
    values = [value for value in evaluations[name][1] if value == value]
    if not values:
        return None
    return name, min(values) if is_loss(name) else max(values)


def is_loss(name: str) -> bool:
    return "loss" in name.split(".")[-1]


def all_checkpoints(runs: Sequence[PastRun]) -> list[tuple[PastRun, Checkpoint]]:
    """Of all runs, the newest first."""
    found = [(run, checkpoint) for run in runs for checkpoint in run.checkpoints]
    return sorted(found, key=lambda pair: pair[1].written_at, reverse=True)
