"""Earlier runs of a project: where they lie, what differed, reading them on a thread of its own, deleting them.

The studio's runs lie beside its state, in a folder for each project; those of `munet run --out` are seen if their folder lies in
`runs` beside the project file.
"""

from __future__ import annotations

import contextlib
import hashlib
import queue
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from munet import Graph, MunetError, Problem, ProjectError
from munet.inspect import Checkpoint, PastRun, read_run

BESIDE = "runs"  # a folder beside the project file
_OURS = ("run.json", "project.json", "metrics.jsonl", ".lock")
SHOWN = 4  # differences that are written out


def home() -> Path:
    """Where the studio keeps runs."""
    return Path(platformdirs.user_state_dir("munet-studio", appauthor=False)) / "runs"


def folder_of(project: Path | None, name: str, root: Path | None = None) -> Path:
    """The folder for runs of a project: by its file, or by its name while it has none."""
    known = project.stem if project is not None else name
    plain = re.sub(r"[^\w-]+", "-", known).strip("-")[:40] or "untitled"
    mark = hashlib.sha256(str(project.resolve()).encode()).hexdigest()[:8] if project is not None else "unsaved"
    return (root or home()) / f"{plain}-{mark}"


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


# -- reading ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """Where to look: `parents` hold run folders, `single` are some; those beside `project` count if its name is theirs."""

    parents: tuple[Path, ...] = ()
    single: tuple[Path, ...] = ()
    project: Path | None = None
    name: str = ""


@dataclass(frozen=True, eq=False)
class Listing:
    """Runs, the newest first, and what could not be read with the reason."""

    runs: tuple[PastRun, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)


EMPTY = Listing()


class Shelf:
    """A thread that reads runs; `look` and `poll` never wait. A folder that has not changed is not read again."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[Wanted | None] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[Listing] = queue.SimpleQueue()
        self._known: dict[Path, tuple[object, PastRun]] = {}
        self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
        self._thread.start()

    def look(self, wanted: Wanted) -> None:
        self._asked.put(wanted)

    def poll(self) -> Listing | None:
        """The newest listing since the last call, if there is one."""
        newest = None
        while True:
            try:
                newest = self._found.get_nowait()
            except queue.Empty:
                return newest

    def close(self, timeout_s: float = 2.0) -> None:
        self._asked.put(None)
        self._thread.join(timeout_s)

    def _work(self) -> None:
        while (wanted := self._asked.get()) is not None:
            self._found.put(self.read(wanted))

    def read(self, wanted: Wanted) -> Listing:
        """What there is; waits for it."""
        runs: dict[Path, PastRun] = {}
        broken: dict[str, str] = {}
        for path, own in _candidates(wanted):
            try:
                run = self._read(path)
            except (MunetError, OSError) as error:
                broken[str(path)] = str(error).splitlines()[0]
                continue
            if own or run.graph.name == wanted.name:
                runs[path] = run
        self._known = {path: self._known[path] for path in runs}
        return Listing(tuple(sorted(runs.values(), key=lambda run: (run.started_at, run.path), reverse=True)), broken)

    def _read(self, path: Path) -> PastRun:
        stamp = tuple((file.name, (found := file.stat()).st_mtime_ns, found.st_size) for file in sorted(path.iterdir()))
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            self._known[path] = known = (stamp, read_run(path))
        return known[1]


def _candidates(wanted: Wanted) -> Iterator[tuple[Path, bool]]:
    """Folders that may be runs, and whether they are surely of this project."""
    seen: set[Path] = set()
    beside = [wanted.project.parent / BESIDE] if wanted.project is not None else []
    for own, parents in ((True, wanted.parents), (False, beside)):
        for parent in parents:
            children = sorted(parent.iterdir()) if parent.is_dir() else []
            for path in (path for path in children if (path / "run.json").is_file() or (own and path.is_dir())):
                if path not in seen:
                    seen.add(path)
                    yield path, own
    yield from ((path, True) for path in wanted.single if path not in seen and path.is_dir())


# -- deleting --------------------------------------------------------------------------------------------------------------


def delete_run(path: Path) -> None:
    """Remove a run's files, and its folder if nothing else is in it. Raises ProjectError."""
    files = [file for file in path.iterdir() if file.name in _OURS or file.suffix == ".safetensors"] if path.is_dir() else []
    for file in files:
        delete_file(file)
    with contextlib.suppress(OSError):  # something else lies in it
        path.rmdir()


def delete_file(path: Path) -> None:
    """Raises ProjectError when it cannot be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ProjectError([Problem("file-write", f"it cannot be deleted ({error.strerror})", file=str(path))]) from None


# -- figures for lists -----------------------------------------------------------------------------------------------------


def last_loss(run: PastRun) -> float | None:
    for name, (_, values) in run.series.items():
        if name.split(".")[-1].startswith("loss") and values:
            return values[-1]
    return None


def best_metric(run: PastRun) -> tuple[str, float] | None:
    """The best held-out value of what the run is judged by; without one, of the first metric that is no loss, or of the loss."""
    names = [name for name in run.evaluations if run.evaluations[name][1]]
    judged = run.graph.run.judged_by
    others = [name for name in names if not is_loss(name)]
    name = judged if judged in names else (others or names or [""])[0]
    if not name:
        return None
    values = [value for value in run.evaluations[name][1] if value == value]
    if not values:
        return None
    return name, min(values) if is_loss(name) else max(values)


def is_loss(name: str) -> bool:
    return "loss" in name.split(".")[-1]


def all_checkpoints(runs: Sequence[PastRun]) -> list[tuple[PastRun, Checkpoint]]:
    """Of all runs, the newest first."""
    found = [(run, checkpoint) for run in runs for checkpoint in run.checkpoints]
    return sorted(found, key=lambda pair: pair[1].written_at, reverse=True)
