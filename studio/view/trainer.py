"""What the window knows of the session: its phase, the record of the run, passes and their times; and the requests to the worker.

Nothing here waits. `hear` is called once a frame and takes in what the worker has said; panels compare `passes_version`,
`session_version` and the record's version with those that they last drew. Anything else of the session: `ask`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from munet import Evaluated, Finished, Graph, Problem, Saved, Session
from munet.inspect import PassView, Timings
from studio import messages as say
from studio.document import Document
from studio.jobs import Jobs
from studio.preferences import Preferences
from studio.texts import text
from studio.view.record import Record

PROFILE_EVERY_S = 5.0


class Trainer:
    """See the module's head. `tell(message, error)` is the status line, `may_run` says whether the drawing can be trained."""

    def __init__(
        self, document: Document, preferences: Callable[[], Preferences], tell: Callable[[str, bool], None],
        may_run: Callable[[], bool], open_session: Callable[..., Session],
    ):  # fmt: skip
        self._document, self._preferences, self._tell, self._may_run = document, preferences, tell, may_run
        self.jobs = Jobs(open_session)
        self.problems: tuple[Problem, ...] = ()  # of the run: what stopped it, what could not be compiled
        self.phase, self.device, self.device_notes = say.IDLE, "", tuple[str, ...]()
        self.record = Record()
        self.passes: tuple[PassView, ...] = ()
        self.timings: Timings | None = None
        self.passes_version = 0
        self.session_version = 0  # another session, or the same one with another program: what was asked of the old one is stale
        self.version = 0  # counts whatever changed in here
        self._submitted: object = None  # what of the drawing matters to the session, as it was last handed over
        self._awaited: set[str] = set()  # what the worker was asked for and has not yet brought
        self._answers: dict[str, Callable[[Any], None]] = {}
        self._deaf = False

    @property
    def has_session(self) -> bool:
        return self.phase in (say.READY, say.RUNNING, say.PAUSED, say.COMPILING)

    @property
    def total_steps(self) -> int:
        return self._document.graph.run.steps

    @property
    def busy(self) -> bool:
        """Whether something is awaited or changes by itself."""
        return bool(self._awaited) or self.phase in (say.RUNNING, say.OPENING, say.COMPILING)

    @property
    def is_current(self) -> bool:
        """Whether the session has the drawing as it is now."""
        return self._submitted == _essence(self._document.graph)

    # -- requests ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        if self.hand_over():
            total = self.total_steps
            self.jobs.submit(say.Run(total if self.record.step < total else self.record.step + total))
            self._profile(PROFILE_EVERY_S)

    def step(self, count: int = 1) -> None:
        if self.hand_over():
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
        if self.hand_over():
            self._profile(0.0)

    def ask(self, tag: str, call: Callable[[Session], Any], then: Callable[[Any], None]) -> bool:
        """Have `call` made on the worker's thread, between submits; `then` gets its result in this thread, some frames later.

        Of waiting calls with the same tag only the newest is made. A fault of `call` is told in the status line, and `then` is
        not called; False, and nothing happens, while there is no session.
        """
        if not self.has_session:
            return False
        self._answers[tag] = then
        self._awaited.add(tag)
        self.jobs.submit(say.Ask(tag, call))
        return True

    def is_asked(self, tag: str) -> bool:
        """Whether an answer is still awaited."""
        return tag in self._awaited

    def set_live(self, path: str, name: str, value: float) -> None:
        """A live parameter that was just changed in the drawing: it reaches the run without a recompile."""
        self.jobs.submit(say.SetValue(path, name, value))
        self._submitted = _essence(self._document.graph)

    def hand_over(self) -> bool:
        """Let the session have the drawing as it is now; whether it can be trained."""
        graph = self._document.graph
        if not graph.nodes or not self._may_run():
            self._tell(text("view.cannot_run"), True)
            return False
        essence = _essence(graph)
        if self._submitted is None:
            self.record.clear()
            self.jobs.submit(say.Open(graph, self._preferences().device, version=self._document.version))
        elif self._submitted != essence:
            self.jobs.submit(say.Replace(graph, self._document.version))
        self._submitted = essence
        self._awaited.add("start")
        return True

    def close_session(self) -> None:
        if self._submitted is not None:
            self.jobs.submit(say.Stop())
            self.jobs.submit(say.Close())
            self._deaf = True
            self.phase = say.IDLE
            self._awaited.clear()
            self._answers.clear()
        self._submitted = None
        self.record.clear()
        self.problems = ()
        self.passes, self.timings, self.device = (), None, ""
        self._another_session()

    def _profile(self, every_s: float) -> None:
        self._awaited.add("times")
        self.jobs.submit(say.Profile(every_s))

    def _another_session(self) -> None:
        self.passes_version += 1
        self.session_version += 1
        self.version += 1

    def close(self) -> None:
        """End the thread."""
        self.jobs.submit(say.Stop())
        self.jobs.close(5.0)

    # -- what the worker says ------------------------------------------------------------------------------------------

    def hear(self) -> None:
        """Once a frame: take in what has come."""
        for message in self.jobs.poll():
            self._hear(message)

    def _hear(self, message: say.Message) -> None:
        self._awaited.discard("start")
        if self._deaf:  # these are still of the project that was closed
            self._deaf = not (isinstance(message, say.Phase) and message.name in (say.IDLE, say.OPENING))
            if self._deaf:
                return
        self.version += 1
        match message:
            case say.Phase():
                self.phase = message.name
                if self.phase not in (say.FAILED, say.IDLE):
                    self._tell(text(f"job.{message.name}"), False)
            case say.Opened():
                self._hear_opened(message)
            case say.Metrics():
                self.record.add(message)
            case say.Timed():
                self._awaited.discard("times")
                self.timings = message.timings
                self.passes_version += 1
            case say.Answer():
                self._awaited.discard(message.tag)
                then = self._answers.pop(message.tag, None)
                if then is not None:
                    then(message.value)
            case say.Failed():
                self._hear_failure(message)
            case say.Told():
                self._hear_event(message.event)

    def _hear_opened(self, message: say.Opened) -> None:
        self.device, self.device_notes = message.device, message.notes
        self.record.step, self.timings = message.step, None
        self.problems = ()
        self._another_session()

        def passes(found: tuple[PassView, ...]) -> None:
            self.passes = found
            self.passes_version += 1

        self._answers["passes"] = passes
        self._awaited.add("passes")
        self.jobs.submit(say.Ask("passes", lambda session: session.passes))

    def _hear_event(self, event: object) -> None:
        match event:
            case Finished():
                self._tell(text("view.finished", step=event.step), False)
            case Evaluated():
                values = ", ".join(f"{name} {value:.4g}" for name, value in event.metrics.items())
                self._tell(text("view.evaluated", values=values), False)
            case Saved():
                self._tell(text("view.saved", name=event.path), False)
            case _:
                pass

    def _hear_failure(self, message: say.Failed) -> None:
        if message.tag:  # a question that has no answer; the run is as it was
            self._awaited.discard(message.tag)
            self._answers.pop(message.tag, None)
        else:
            self._awaited.clear()
            self._answers.clear()
            self.problems = message.problems
        if message.command in ("Open", "Reset") or message.kind == "device-lost":
            self._submitted = None
        elif message.command == "Replace":
            self._submitted = "refused"  # the session lives on with the drawing it had
        self._tell(str(message.problems[0]) if message.problems else text("job.failed"), True)


def _essence(graph: Graph) -> object:
    """What of a drawing matters to the session: not where nodes lie, nor notes and frames."""
    nodes = tuple(replace(node, position=(0.0, 0.0), note="") for node in graph.nodes.values())
    parts = tuple((name, _essence(part)) for name, part in sorted(graph.subgraphs.items()))
    return (nodes, graph.edges, parts, graph.run)
