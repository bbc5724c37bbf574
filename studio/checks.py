"""Validation while drawing: what is wrong and what wires carry, found on a thread of its own, a moment after the last edit.

`check` is the plain function; `Debounce` says when it is time; `Checker` runs it, newest graph first, older ones skipped.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from munet import Graph, MunetError, Problem, remarks, validate
from munet.inspect import WireView, wire_shapes
from studio.document import State, locate

DELAY_S = 0.25  # after the last edit


@dataclass(frozen=True)
class Findings:
    """What a check found out about one version of the document. Paths name nodes inside subgraphs: "block 1/conv"."""

    version: int = -1
    problems: tuple[Problem, ...] = ()
    remarks: tuple[Problem, ...] = ()
    wires: Mapping[tuple[str, str], WireView] = field(default_factory=dict)


def check(graph: Graph, version: int = 0, folder: Path | None = None) -> Findings:
    """All problems, remarks and shapes. `folder`: the project file's, from where the files that it names are looked for.

    What even validation does not survive is a problem of the project as a whole.
    """
    try:
        problems = tuple(validate(graph, folder)) if graph.nodes else ()  # who has drawn nothing has done nothing wrong
        notes = tuple(remarks(graph)) if graph.nodes and not problems else ()
        wires = wire_shapes(graph) if graph.nodes else {}
    except (MunetError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        fault = Problem("check-failed", f"the drawing cannot be checked ({type(error).__name__}: {error})")
        return Findings(version, (fault,))
    return Findings(version, problems, notes, wires)


def by_node(problems: tuple[Problem, ...], state: State) -> dict[str, list[Problem]]:
    """Problems by the nodes of the drawing that is shown; those inside a subgraph stand at its instance. "" holds the rest."""
    found: dict[str, list[Problem]] = {}
    depth = len(state.inside)
    for problem in problems:
        place = locate(state.graph, problem.node) if problem.node else None
        if place is None:
            found.setdefault("", []).append(problem)
            continue
        path = (*place[0], place[1])
        if path[:depth] == state.inside and len(path) > depth:
            found.setdefault(path[depth], []).append(problem)
    return found


def wires_of(findings: Findings, state: State) -> dict[tuple[str, str], WireView]:
    """What wires of the drawing that is shown carry, by (id, output socket)."""
    prefix = "/".join(state.inside) + "/" if state.inside else ""
    part = state.part
    found: dict[tuple[str, str], WireView] = {}
    for (path, socket), view in findings.wires.items():
        if path.startswith(prefix) and path[len(prefix) :] in part.nodes:
            found[path[len(prefix) :], socket] = view
    return found


@dataclass
class Debounce:
    """Says `due` once the version has stood still for a while. Times are seconds of any steady clock."""

    delay_s: float = DELAY_S
    _seen: int = -1
    _since: float = 0.0
    _done: int = -1

    def due(self, version: int, now: float) -> bool:
        if version != self._seen:
            self._seen, self._since = version, now
        if version == self._done or now - self._since < self.delay_s:
            return False
        self._done = version
        return True


class Checker:
    """A thread that checks; `submit` and `poll` never wait. `close` ends it."""

    def __init__(self, work: Callable[[Graph, int, Path | None], Findings] = check):
        self._work = work
        self._asked: queue.SimpleQueue[tuple[int, Graph, Path | None] | None] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[Findings] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="checks", daemon=True)
        self._thread.start()

    def submit(self, version: int, graph: Graph, folder: Path | None = None) -> None:
        self._asked.put((version, graph, folder))

    def poll(self) -> Findings | None:
        """The newest findings since the last call, if there are any."""
        newest = None
        while True:
            try:
                newest = self._found.get_nowait()
            except queue.Empty:
                return newest

    def close(self, timeout_s: float = 2.0) -> None:
        self._asked.put(None)
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            asked = self._asked.get()
            while asked is not None:
                try:
                    asked = self._asked.get_nowait()
                except queue.Empty:
                    break
            if asked is None:
                return
            version, graph, folder = asked
            self._found.put(self._work(graph, version, folder))
