"""What the window shows, without the window: document, scene, camera, findings, and the trainer with the run.

Panels read it and compare the versions they last drew. `tick` is called once a frame: it lets the check and the worker report,
and starts checks and recompiles that are due. Nothing here waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from munet import Edge, Graph, MunetError, Problem, Session
from munet.inspect import WireView
from studio import blocks, storage
from studio.blocks import Shelf
from studio.camera import Camera
from studio.checks import Checker, Debounce, Findings, by_node, wires_of
from studio.commands import SetParam
from studio.document import Command, Document
from studio.edits import EditRefused
from studio.facts import Facts
from studio.hit import Scene
from studio.messagelog import MessageLog
from studio.preferences import Preferences
from studio.requests import Outcome, perform
from studio.texts import shown, text
from studio.tools import Tool
from studio.view.trainer import Trainer

MESSAGE_STAYS_S, ERROR_STAYS_S = 10.0, 30.0  # in the status line
SCENE_S = 0.006  # of a frame, for taking a large change of the drawing into the scene


class Core:
    """See the module's head. `open_session` is for tests."""

    def __init__(self, preferences: Preferences, open_session: Callable[..., Session] = Session.open):
        self.preferences = preferences
        self.document, self.scene, self.camera = Document(), Scene(), Camera()
        self.tool = Tool(self.document, self.scene, preferences.grid if preferences.snap else 0.0)
        self.checker = Checker()
        self.autosave = storage.Autosave()
        self.stamp: storage.Stamp | None = None
        self.findings, self.findings_version = Findings(), 0
        self.problems: dict[str, list[Problem]] = {}  # of the drawing that is shown, by node
        self.message, self.message_is_error, self.status_version = "", False, 0
        self._said_at = 0.0
        self.log = MessageLog()
        self.opened_version = 0  # counts projects that were opened
        self.gradient_norms: dict[str, float] = {}  # by path of node; whoever looks into the run fills it
        self.previews: frozenset[str] = frozenset()  # paths of the nodes that show a preview below them
        self.gradient_version = 0  # counts changes of it
        self.stale_nodes: set[str] = set()
        self.stale_wires: set[Edge] = set()
        self._seen: object = None
        self._carried_of: object = None
        self._carried: Mapping[tuple[str, str], WireView] = {}
        self.facts = Facts()
        self.shelf = Shelf()
        self.shelf.look(blocks.folder_of(preferences))
        self._debounce = Debounce()
        self._autosaved, self._autosave_fault = (time.monotonic(), 0), ""  # when, and which version
        self.trainer = Trainer(self.document, lambda: self.preferences, self.say, self._may_run, open_session)

    # -- editing -------------------------------------------------------------------------------------------------------

    def say(self, message: str, error: bool = False) -> None:
        """The status line's message."""
        self.message, self.message_is_error, self._said_at = shown(message), error, time.monotonic()
        self.log.add(self.message, error)
        self.status_version += 1

    def hush(self) -> None:
        """What was said belongs to a moment that is over: the state of the run takes its place. The log keeps it."""
        words = text(f"job.{self.trainer.phase}") if self.trainer.has_session else ""
        if (words, False) != (self.message, self.message_is_error):
            self.message, self.message_is_error = words, False
            self.status_version += 1

    def edit(self, command: Command) -> bool:
        """Apply a command, or say why it was refused."""
        try:
            changed = self.document.do(command)
        except EditRefused as error:
            self.say(str(error), error=True)
            return False
        if changed:
            self.hush()
        self.refresh()
        return changed

    def perform(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """What a tool asked for, done as far as it concerns the document; the rest is the window's."""
        rest, refused = perform(self.document, outcomes)
        for error in refused:
            self.say(str(error), error=True)
        self.refresh()
        return rest

    def set_param(self, node: str, name: str, value: Any, merge: str = "") -> None:
        """A parameter from the inspector. A live one reaches the run from the drawing, without a recompile."""
        self.edit(SetParam((node,), name, value, merge))

    def show_previews(self, nodes: frozenset[str]) -> None:
        """Previews below these nodes, by their paths, and below no others."""
        self.previews = nodes
        self.preferences = self.preferences.with_previews(self.document.path, nodes)

    def refresh(self) -> None:
        """Bring the scene to the document, a large change over several frames; what has to be drawn anew is added to the stale
        sets."""
        document = self.document
        now = (document.version, document.selection_version, self.findings_version, self.trainer.problems)
        if now == self._seen and not self.scene.pending:
            return
        self._seen = now
        carried = (self.findings, document.state.inside)
        if carried != self._carried_of:
            self._carried_of, self._carried = carried, wires_of(self.findings, document.state)
        self.scene.update(document.graph, document.part, self._carried, SCENE_S)
        self.tool.wires = self._carried
        found = by_node((*self.trainer.problems, *self.findings.problems), document.state)
        if found != self.problems:
            self.problems = found
        self.stale_nodes |= self.scene.changed_nodes
        self.stale_wires |= self.scene.changed_wires

    # -- files ---------------------------------------------------------------------------------------------------------

    def recover(self, lost: storage.Recovered) -> None:
        """Take up what another studio left. Its file is compared with what that one knew of it before it is written."""
        self.open(lost.graph, lost.path, saved=False)
        self.stamp = lost.stamp if lost.path is not None else None
        self.autosave_if_due(0.0, at_once=True)
        if self._autosaved[1] == self.document.version:  # else the old one is all that there is until it is saved
            storage.forget(lost)

    def open(self, graph: Graph, path: Path | None, *, saved: bool = True) -> None:
        """Another project in place of this one."""
        self.trainer.close_session()
        self.hush()
        self.tool.cancel()
        self.document.replace_all(graph, path, saved=saved)
        self.stamp = storage.stamp_of(path) if path else None
        self.findings = Findings()
        self.findings_version += 1
        self.autosave.discard()
        self.opened_version += 1
        self.previews = self.preferences.previews_of(path)
        if path is not None:
            self.preferences = self.preferences.opened(path)
        self.refresh()

    def open_file(self, path: Path) -> bool:
        try:
            graph, stamp = storage.read(path)
        except MunetError as error:
            self.say(str(error).splitlines()[0], error=True)
            return False
        self.open(graph, path)
        self.stamp = stamp
        self.say(text("view.opened", name=path.name))
        return True

    def save(self, path: Path) -> bool:
        """Write the project; whether that was possible."""
        graph = self.document.graph
        try:
            self.stamp = storage.write(graph, path)
        except MunetError as error:
            self.say(str(error), error=True)
            return False
        self.document.mark_saved(graph, path)
        self.preferences = self.preferences.opened(path).with_previews(path, self.previews)
        self.autosave.discard()
        self.say(text("view.saved", name=path.name))
        return True

    def autosave_if_due(self, now: float, *, at_once: bool = False) -> None:
        """`at_once`: before the window falls asleep, however long ago the last one was. One that fails is tried again."""
        saved_at, version = self._autosaved
        waits = now - saved_at < self.preferences.autosave_every_s and not at_once
        if version == self.document.version:
            return
        if not self.document.dirty:  # all was taken back
            self._autosaved = (saved_at, self.document.version)
            self.autosave.discard()
            return
        if waits:
            return
        try:
            self.autosave.write(self.document.graph, self.document.path, self.stamp)
        except MunetError as error:
            self._autosaved = (now, version)
            if str(error) != self._autosave_fault:
                self.say(str(error), error=True)
            self._autosave_fault = str(error)
        else:
            self._autosaved, self._autosave_fault = (now, self.document.version), ""

    def _may_run(self) -> bool:
        return not (self.findings.version == self.document.version and self.findings.problems)

    # -- once a frame --------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        document = self.document
        if self._debounce.due(document.version, now):
            folder = document.path.parent if document.path is not None else None
            self.checker.submit(document.version, document.graph, folder)
        found = self.checker.poll()
        if found is not None and found.version == document.version:
            self.findings = found
            self.findings_version += 1
        self.trainer.hear()
        # Also when a compile has just ended: what was drawn meanwhile comes next.
        if self.findings.version == document.version and not self.findings.problems and self.trainer.is_behind:
            self.trainer.hand_over()
        self.facts.poll()
        if self.shelf.poll() and self.shelf.faults:
            self.say(text("block.broken", count=len(self.shelf.faults), first=self.shelf.faults[0]), error=True)
        if self.message and now - self._said_at > (ERROR_STAYS_S if self.message_is_error else MESSAGE_STAYS_S):
            self.hush()
        self.autosave_if_due(now)
        self.refresh()

    @property
    def busy(self) -> bool:
        """Whether something is about to change without the user's doing."""
        checks = self.findings.version != self.document.version
        return checks or self.scene.pending > 0 or self.trainer.busy or self.facts.busy or self.shelf.busy

    def close(self, *, keep: bool = False) -> None:
        """End the threads; nothing is left to recover, unless unsaved work is to be kept."""
        self.trainer.close()
        self.checker.close()
        self.facts.close()
        if keep and self.document.dirty:
            self.autosave.let_go()
        else:
            self.autosave.close()
