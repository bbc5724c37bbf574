"""What the panels of the machine's view share: the selected nodes by path, the chosen pass, the limits of the device.

A pass is chosen by its row or its bar; its nodes are selected with it. Selecting something else ends that.
"""

from __future__ import annotations

from collections.abc import Iterable

from munet.inspect import Limits
from studio.document import selected
from studio.texts import text
from studio.view.core import Core


class Machine:
    """See the module's head. `version` counts what panels must look at anew: the chosen pass, the limits."""

    def __init__(self, core: Core):
        self.core = core
        self.version = 0
        self.limits: Limits | None = None
        self._pass: int | None = None
        self._pass_of: tuple[int, frozenset[str]] = (-1, frozenset())
        self._limits_of = -1  # the session that was asked

    @property
    def paths(self) -> frozenset[str]:
        """The selected nodes."""
        document = self.core.document
        return frozenset(map(document.state.path_of, document.selection.nodes))

    @property
    def pass_(self) -> int | None:
        """The chosen pass."""
        return self._pass if self._pass_of == (self.core.trainer.session_version, self.paths) else None

    @property
    def state(self) -> object:
        """Changes with the selection, the chosen pass and the limits: compare it with the last one."""
        return self.version, self.core.document.selection_version, self.core.document.state.inside

    def choose(self, index: int | None, nodes: Iterable[str]) -> None:
        """Choose a pass, select its nodes and bring them into sight."""
        self.show(nodes)
        self._pass, self._pass_of = index, (self.core.trainer.session_version, self.paths)
        self.version += 1

    def show(self, nodes: Iterable[str]) -> None:
        """Select the nodes at these paths and bring them into sight; the drawing that is shown is left only if none is in it."""
        core, paths = self.core, list(nodes)
        document = core.document
        inside = [node for node in document.part.nodes if document.state.path_of(node) in paths]
        if inside:
            document.select(selected(inside))
            core.refresh()
            rect = core.scene.bounds_of(inside)
            if rect is not None:
                core.camera.show(rect)
        elif paths:
            show_node(core, paths[0])
        else:
            document.select(selected(()))

    def ask_limits(self) -> None:
        """Once a session: measured if this device never was."""
        trainer = self.core.trainer
        if self._limits_of != trainer.session_version and trainer.ask("limits", lambda session: session.limits(), self._take):
            self._limits_of = trainer.session_version

    def measure_limits(self) -> None:
        """Anew: the figures are kept, and those that were taken while others used the device are too low for ever."""
        told = text("machine.limits")
        if not self.core.trainer.ask("limits", lambda session: session.limits(refresh=True), self._take):
            told = text("view.no_passes")
        self.core.say(told)

    def _take(self, limits: Limits | None) -> None:
        self.limits = limits
        self.version += 1


def show_node(core: Core, path: str) -> None:
    """Select the node at a path and bring it into sight."""
    id_ = core.document.go_to(path) if path else ""
    core.refresh()
    rect = core.scene.bounds_of([id_]) if id_ else None
    if rect is not None:
        core.camera.show(rect)
