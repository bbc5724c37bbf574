"""Where nodes lie: automatic layout, aligning, distributing, the grid, arrow keys; wires from node to node by a key.

A drawing is arranged on a thread, since a large one takes a second; what has been edited meanwhile is left as it is.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from munet import Graph
from studio import aligning
from studio.autolayout import Rearrange, arranged
from studio.camera import Rect
from studio.commands import Disconnect, Move, Place
from studio.joining import join
from studio.requests import Outcome
from studio.texts import text
from studio.view.actions import Actions
from studio.view.canvas import Canvas
from studio.view.core import Core

NUDGE = 10.0  # canvas units, without a grid
WAYS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
Arrangement = tuple[Graph, Graph | Exception, bool]  # the drawing before and after, and whether it was all of it


class Arranging:
    """Gives its actions to `actions`; `asked` gets what the window has to do. `sync` once a frame."""

    def __init__(self, core: Core, canvas: Canvas, actions: Actions, asked: Callable[[Outcome], None]):
        self._core, self._canvas, self._asked = core, canvas, asked
        self._found: queue.SimpleQueue[Arrangement] = queue.SimpleQueue()
        self._awaited = 0
        actions.provide(
            layout=self._arrange, snap=self._snap, join=self._join, unwire=self.unwire,
            distribute_x=partial(self._distribute, "x"), distribute_y=partial(self._distribute, "y"),
            **{f"align_{how}": partial(self._align, how) for how in ("left", "right", "top", "bottom", "center")},
            **{f"nudge_{way}": partial(self._nudge, *by) for way, by in WAYS.items()},
        )  # fmt: skip

    @property
    def busy(self) -> bool:
        """Whether a drawing is being arranged."""
        return self._awaited > 0

    def sync(self) -> None:
        while not self._found.empty():
            self._awaited -= 1
            before, after, whole = self._found.get()
            if isinstance(after, Exception):
                raise after
            if self._core.edit(Rearrange(before, after)) and whole:
                self._canvas.fit()

    def _arrange(self) -> None:
        """What is selected, if it is more than one node, else everything."""
        part, chosen = self._core.document.part, self._core.document.selection.nodes
        only = chosen if len(chosen) > 1 else frozenset[str]()
        views = dict(self._core.scene.views)
        if not part.nodes or self._core.scene.pending:
            return

        def work() -> None:
            try:
                after: Graph | Exception = arranged(part, views, only)
            except Exception as error:  # noqa: BLE001  # raised again where it is told
                after = error
            self._found.put((part, after, not only))

        self._awaited += 1
        threading.Thread(target=work, name="layout", daemon=True).start()

    @property
    def _chosen(self) -> dict[str, Rect]:
        chosen = self._core.document.selection.nodes
        return {id_: view.rect for id_, view in self._core.scene.views.items() if id_ in chosen}

    def _align(self, how: str) -> None:
        self._core.edit(Place(aligning.align(self._chosen, how), "align"))

    def _distribute(self, axis: str) -> None:
        self._core.edit(Place(aligning.distribute(self._chosen, axis), "distribute"))

    def _snap(self) -> None:
        preferences = replace(self._core.preferences, snap=not self._core.preferences.snap)
        self._core.preferences = preferences
        self._core.tool.snap = preferences.grid if preferences.snap else 0.0

    def _nudge(self, x: int, y: int) -> None:
        """Presses that follow each other are one step of undo."""
        what = self._core.scene.carried(self._core.document.selection)
        if what:
            step = self._core.tool.snap or NUDGE
            self._core.edit(Move(what, x * step, y * step, "nudge"))

    def _join(self) -> None:
        for outcome in self._core.perform(join(self._core.tool)):
            self._asked(outcome)

    def unwire(self) -> None:
        """Take all wires off the selected nodes."""
        chosen = self._core.document.selection.nodes
        edges = frozenset(e for e in self._core.document.part.edges if e.source in chosen or e.target in chosen)
        if edges:
            self._core.edit(Disconnect(edges))
        else:
            self._core.say(text("view.no_wires"), error=True)
