"""What the window shows, without the window: document, scene, camera, findings, the run and its record.

Panels read it and compare the versions they last drew. `tick` is called once a frame: it lets the check and the worker report,
and starts checks and recompiles that are due. Nothing here waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from munet import Edge, Evaluated, Finished, Graph, MunetError, Problem, Saved, Session
from munet.inspect import PassView, Timings
from studio import messages as say
from studio import storage
from studio.camera import Camera
from studio.checks import Checker, Debounce, Findings, by_node, wires_of
from studio.commands import SetParam
from studio.document import Command, Document
from studio.edits import EditRefused
from studio.hit import Scene
from studio.jobs import Jobs
from studio.nodeviews import declaration_of
from studio.preferences import Preferences
from studio.requests import Outcome
from studio.texts import text
from studio.tools import Tool, perform
from studio.view.record import Record

PROFILE_EVERY_S = 5.0


class Core:
    """See the module's head. `open_session` is for tests."""

    def __init__(self, preferences: Preferences, open_session: Callable[..., Session] = Session.open):
        self.preferences = preferences
        self.document, self.scene, self.camera = Document(), Scene(), Camera()
        self.tool = Tool(self.document, self.scene, preferences.grid if preferences.snap else 0.0)
        self.jobs, self.checker = Jobs(open_session), Checker()
        self.autosave = storage.Autosave()
        self.stamp: storage.Stamp | None = None
        self.findings, self.findings_version = Findings(), 0
        self.run_problems: tuple[Problem, ...] = ()
        self.problems: dict[str, list[Problem]] = {}  # of the drawing that is shown, by node
        self.phase, self.device, self.device_notes = say.IDLE, "", tuple[str, ...]()
        self.record = Record()
        self.passes: tuple[PassView, ...] = ()
        self.timings: Timings | None = None
        self.passes_version = 0
        self.message, self.message_is_error, self.status_version = "", False, 0
        self.stale_nodes: set[str] = set()
        self.stale_wires: set[Edge] = set()
        self._seen = (-1, -1, -1)
        self._debounce = Debounce()
        self._submitted: object = None  # what of the drawing matters to the session, as it was last handed over
        self._autosaved = (time.monotonic(), 0)
        self._deaf = False
        self._awaited: set[str] = set()  # what the worker was asked for and has not yet brought

    # -- editing -------------------------------------------------------------------------------------------------------

    def say(self, message: str, *, error: bool = False) -> None:
        """The status line's message."""
        self.message, self.message_is_error = message, error
        self.status_version += 1

    def edit(self, command: Command) -> bool:
        """Apply a command, or say why it was refused."""
        try:
            changed = self.document.do(command)
        except EditRefused as error:
            self.say(str(error), error=True)
            return False
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
        """A parameter from the inspector; a live one also reaches the run, without a recompile."""
        known = self.document.part.nodes.get(node)
        declared = declaration_of(self.document.graph, known) if known is not None else None
        live = declared is not None and any(p.name == name and p.live for p in declared.params)
        in_step = self._submitted == _essence(self.document.graph)
        path = self.document.state.path_of(node)
        if self.edit(SetParam((node,), name, value, merge)) and live and in_step and self.has_session:
            self.jobs.submit(say.SetValue(path, name, float(value)))
            self._submitted = _essence(self.document.graph)

    def refresh(self) -> None:
        """Bring the scene to the document; what has to be drawn anew is added to the stale sets."""
        document = self.document
        now = (document.version, document.selection_version, self.findings_version)
        if now == self._seen:
            return
        self._seen = now
        wires = wires_of(self.findings, document.state)
        self.scene.update(document.graph, document.part, wires)
        self.tool.wires = wires
        self.problems = by_node((*self.run_problems, *self.findings.problems), document.state)
        self.stale_nodes |= self.scene.changed_nodes
        self.stale_wires |= self.scene.changed_wires

    # -- files ---------------------------------------------------------------------------------------------------------

    def open(self, graph: Graph, path: Path | None, *, saved: bool = True) -> None:
        """Another project in place of this one."""
        self._close_session()
        self.tool.cancel()
        self.document.replace_all(graph, path, saved=saved)
        self.stamp = storage.stamp_of(path) if path else None
        self.findings, self.run_problems = Findings(), ()
        self.findings_version += 1
        self.autosave.discard()
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
        self.preferences = self.preferences.opened(path)
        self.autosave.discard()
        self.say(text("view.saved", name=path.name))
        return True

    def autosave_if_due(self, now: float, *, at_once: bool = False) -> None:
        """`at_once`: before the window falls asleep, however long ago the last one was."""
        saved_at, version = self._autosaved
        waits = now - saved_at < self.preferences.autosave_every_s and not at_once
        if version == self.document.version or waits or not self.document.dirty:
            return
        self._autosaved = (now, self.document.version)
        try:
            self.autosave.write(self.document.graph, self.document.path)
        except MunetError as error:
            self.say(str(error), error=True)

    # -- the run -------------------------------------------------------------------------------------------------------

    @property
    def has_session(self) -> bool:
        return self.phase in (say.READY, say.RUNNING, say.PAUSED, say.COMPILING)

    @property
    def total_steps(self) -> int:
        return self.document.graph.run.steps

    def run(self) -> None:
        if self._hand_over():
            total = self.total_steps
            self.jobs.submit(say.Run(total if self.record.step < total else self.record.step + total))
            self._profile(PROFILE_EVERY_S)

    def step(self, count: int = 1) -> None:
        if self._hand_over():
            self.jobs.submit(say.Step(count))

    def pause(self) -> None:
        """Hold a run, or go on with one that is held."""
        if self.phase == say.PAUSED:
            self.run()
        elif self.phase == say.RUNNING:
            self.jobs.submit(say.Pause())

    def stop(self) -> None:
        if self.has_session:
            self.jobs.submit(say.Stop())

    def reset(self) -> None:
        if self.has_session:
            self.jobs.submit(say.Stop())
            self.jobs.submit(say.Reset())
            self.record.clear()

    def measure(self) -> None:
        """Time every pass once."""
        if self._hand_over():
            self._profile(0.0)

    def _profile(self, every_s: float) -> None:
        self._awaited.add("times")
        self.jobs.submit(say.Profile(every_s))

    def _hand_over(self) -> bool:
        """Let the session have the drawing as it is now; whether it can be trained."""
        graph = self.document.graph
        if not graph.nodes or (self.findings.version == self.document.version and self.findings.problems):
            self.say(text("view.cannot_run"), error=True)
            return False
        essence = _essence(graph)
        if self._submitted is None:
            self.record.clear()
            self.jobs.submit(say.Open(graph, self.preferences.device, version=self.document.version))
        elif self._submitted != essence:
            self.jobs.submit(say.Replace(graph, self.document.version))
        self._submitted = essence
        self._awaited.add("start")
        return True

    def _close_session(self) -> None:
        if self._submitted is not None:
            self.jobs.submit(say.Stop())
            self.jobs.submit(say.Close())
            self._deaf = True
            self.phase = say.IDLE
            self._awaited.clear()
        self._submitted = None
        self.record.clear()
        self.passes, self.timings, self.device = (), None, ""
        self.passes_version += 1

    # -- once a frame --------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        document = self.document
        if self._debounce.due(document.version, now):
            self.checker.submit(document.version, document.graph)
        found = self.checker.poll()
        if found is not None and found.version == document.version:
            self.findings = found
            self.findings_version += 1
            if self.phase in (say.RUNNING, say.PAUSED) and not found.problems and self._submitted != _essence(document.graph):
                self._hand_over()
        for message in self.jobs.poll():
            self._hear(message)
        self.autosave_if_due(now)
        self.refresh()

    @property
    def busy(self) -> bool:
        """Whether something is about to change without the user's doing."""
        checking = self.findings.version != self.document.version
        return checking or bool(self._awaited) or self.phase in (say.RUNNING, say.OPENING, say.COMPILING)

    def _hear(self, message: say.Message) -> None:
        self._awaited.discard("start")
        if self._deaf:  # these are still of the project that was closed
            self._deaf = not (isinstance(message, say.Phase) and message.name in (say.IDLE, say.OPENING))
            if self._deaf:
                return
        match message:
            case say.Phase():
                self.phase = message.name
                if self.phase not in (say.FAILED, say.IDLE):
                    self.say(text(f"job.{message.name}"))
                self.status_version += 1
            case say.Opened():
                self.device, self.device_notes = message.device, message.notes
                self.record.step, self.timings = message.step, None
                self._blame(())
                self._awaited.add("passes")
                self.jobs.submit(say.Ask("passes", lambda session: session.passes))
            case say.Metrics():
                self.record.add(message)
            case say.Timed():
                self._awaited.discard("times")
                self.timings = message.timings
                self.passes_version += 1
            case say.Answer(tag="passes"):
                self._awaited.discard("passes")
                self.passes = message.value
                self.passes_version += 1
            case say.Failed():
                self._hear_failure(message)
            case say.Told():
                self._hear_event(message.event)
            case _:
                pass

    def _hear_event(self, event: object) -> None:
        match event:
            case Finished():
                self.say(text("view.finished", step=event.step))
            case Evaluated():
                values = ", ".join(f"{name} {value:.4g}" for name, value in event.metrics.items())
                self.say(text("view.evaluated", values=values))
            case Saved():
                self.say(text("view.saved", name=event.path))
            case _:
                pass

    def _hear_failure(self, message: say.Failed) -> None:
        self._awaited.clear()
        self._blame(message.problems)
        if message.command in ("Open", "Reset") or message.kind == "device-lost":
            self._submitted = None
        elif message.command == "Replace":
            self._submitted = "refused"  # the session lives on with the drawing it had
        self.say(str(message.problems[0]) if message.problems else text("job.failed"), error=True)

    def _blame(self, problems: tuple[Problem, ...]) -> None:
        self.run_problems = problems
        self.findings_version += 1

    def close(self) -> None:
        """End the threads; nothing is left to recover."""
        self.jobs.submit(say.Stop())
        self.jobs.close(5.0)
        self.checker.close()
        self.autosave.close()


def _essence(graph: Graph) -> object:
    """What of a drawing matters to the session: not where nodes lie, nor notes and frames."""
    nodes = tuple(replace(node, position=(0.0, 0.0), note="") for node in graph.nodes.values())
    parts = tuple((name, _essence(part)) for name, part in sorted(graph.subgraphs.items()))
    return (nodes, graph.edges, parts, graph.run)
