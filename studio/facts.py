"""What a drawing costs, found on a thread of its own when somebody wants to know: parameters and bytes of each node."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping

from munet import Graph, MunetError
from munet.inspect import NodeCost, costs

Found = Mapping[str, NodeCost]


def find(graph: Graph) -> Found:
    """Costs by path; none for a drawing that cannot be lowered: its problems are told elsewhere."""
    try:
        return {cost.node: cost for cost in costs(graph).nodes}
    except (MunetError, ArithmeticError, LookupError, TypeError, ValueError):
        return {}


class Facts:
    """`want` asks for a version of the document, `poll` once a frame takes in what was found; neither waits."""

    def __init__(self, work: Callable[[Graph], Found] = find):
        self._work = work
        self._asked: queue.SimpleQueue[tuple[int, Graph] | None] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[tuple[int, Found]] = queue.SimpleQueue()
        self._wanted = -1
        self._thread: threading.Thread | None = None
        self.costs: Found = {}
        self.version = -1  # of the document that `costs` are of

    @property
    def busy(self) -> bool:
        return self._wanted != self.version

    def want(self, version: int, graph: Graph) -> None:
        if version in (self._wanted, self.version):
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="facts", daemon=True)
            self._thread.start()
        self._wanted = version
        self._asked.put((version, graph))

    def poll(self) -> None:
        while not self._found.empty():
            self.version, self.costs = self._found.get()

    def close(self, timeout_s: float = 2.0) -> None:
        self._asked.put(None)
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            asked = self._asked.get()
            while asked is not None and not self._asked.empty():
                asked = self._asked.get()
            if asked is None:
                return
            version, graph = asked
            self._found.put((version, self._work(graph)))
