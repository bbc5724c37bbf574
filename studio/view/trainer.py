"""What the window knows of the session: its phase, the record of the run, passes and their times; and the requests to the worker.

Nothing here waits. `hear` is called once a frame: it takes in what the worker has said, and hands on live values changed in the
drawing. Panels compare `passes_version`, `session_version` and the record's version with those that they last drew.
Anything else of the session: `ask`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from munet import Carried, Evaluated, Finished, Problem, Saved, Session
from munet.inspect import LiveParameter, PassView, PastRun, Timings
from studio import messages as say
from studio import runs
from studio.document import Document
from studio.essence import Essence, Essences
from studio.jobs import Jobs
from studio.preferences import Preferences
from studio.record import Record
from studio.texts import text

PROFILE_EVERY_S = 5.0
NAMES_SHOWN = 4  # states in a message
CLOSE_S = 30.0  # at most for what was trained to be written, when the window is closed
STANDS_S = 0.5  # so long the name of a phase does not take the place of a message


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
        self.refusals = 0  # counts how often somebody wanted to train a drawing with problems
        self.version = 0  # counts whatever changed in here
        self.stage, self.fraction = "", 0.0  # of a compile
        self.live: dict[str, float] = {}  # the session's live values by "node.param"
        self.folder: Path | None = None  # of the run, once it is written
        self.folders: list[Path] = []  # those of this project's runs since it was opened
        self.runs_version = 0  # another run, or another checkpoint
        self.saved_step = -1  # of the last checkpoint
        self._untitled = runs.new_name()  # under which runs of a project without file and name are kept
        self.runs_root: Path | None = None  # where runs are kept; None = beside the user's state
        self._essences = Essences()
        self._submitted: Essence | None = None  # what of the drawing matters to the session, as it was last handed over
        self._recompiled = ""  # what to say once a recompile for shaders is done
        self._refused = False  # the session has another drawing, as it could not take that one
        self._told_at = -1e9  # when something was told that is worth more than the name of a phase
        self._moving = False
        self._gone_back_to: PastRun | None = None  # the run whose checkpoint was asked for last
        self._awaited: set[str] = set()  # what the worker was asked for and has not yet brought
        self._answers: dict[str, Callable[[Any], None]] = {}
        self._stay = {"passes"}  # tags whose answers go to nobody who may be gone
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
        return not self._refused and not self._essence.needs_compile(self._submitted)

    @property
    def is_behind(self) -> bool:
        """Whether the run goes on with another drawing than that of now, which it was not yet asked to take."""
        trains = self.phase in (say.RUNNING, say.PAUSED) and bool(self._document.graph.nodes)
        return trains and self._essence.needs_compile(self._submitted)

    @property
    def _essence(self) -> Essence:
        return self._essences.of(self._document.graph)

    @property
    def live_parameters(self) -> tuple[LiveParameter, ...]:
        """Of the drawing; none of one that cannot be run."""
        return tuple(self._essence.live.values())

    @property
    def time_left_s(self) -> float | None:
        """Until the run has all its steps, at the speed of now; None where that is not known."""
        rate, left = self.record.steps_per_second, self.total_steps - self.record.step
        return left / rate if self.phase == say.RUNNING and rate > 0 and left > 0 else None

    # -- requests ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        if self.hand_over():
            total = self.total_steps
            self.jobs.submit(say.Run(total if self.record.step < total else self.record.step + total, self._keep()))
            self._profile(PROFILE_EVERY_S)

    def _keep(self) -> say.Keep | None:
        """How the run is written down; the worker heeds it when a run starts."""
        preferences = self._preferences()
        if not preferences.keep_runs:
            return None
        return say.Keep(runs.new_folder(self.runs_folder), preferences.checkpoint_every_s)

    @property
    def runs_folder(self) -> Path:
        """Where runs of the project lie."""
        name = self._document.graph.name or self._untitled
        return runs.folder_of(self._document.path, name, self.runs_root)

    def step(self, count: int = 1) -> None:
        if self.hand_over():
            self.jobs.submit(say.Step(count))

    def pause(self) -> None:
        """Hold a run, or go on with one that is held. During a compile: hold what would go on after it."""
        if self.phase == say.PAUSED:
            self.run()
        elif self.phase in (say.RUNNING, say.OPENING, say.COMPILING):
            self.jobs.submit(say.Pause())

    def stop(self) -> None:
        """End the run; during a compile, end that."""
        if not self.jobs.cancel() and self.has_session:
            self.jobs.submit(say.Stop())

    def reset(self) -> None:
        if self.has_session:
            self.jobs.submit(say.Stop())
            self.jobs.submit(say.Reset())
            self.record.clear()
            self.folder, self.saved_step = None, -1

    def evaluate(self) -> None:
        """Go through the held-out samples now."""
        if self.hand_over():
            self._awaited.add("evaluation")
            self.jobs.submit(say.Evaluate())

    def save_checkpoint(self) -> None:
        """Write the state as it is into the run's folder, under a name of its own."""
        if not self.has_session:
            self._tell(text("train.nothing_to_save"), True)
            return
        self._awaited.add("save")
        self.jobs.submit(say.Save(keep=say.Keep(runs.new_folder(self.runs_folder), self._preferences().checkpoint_every_s)))

    def resume(self, checkpoint: Path, run: PastRun) -> None:
        """Go back to a checkpoint of a run and hold there, with the drawing as it is now: what of it fits is taken, the rest
        starts anew."""
        if self.hand_over():
            self._gone_back_to = run
            self._awaited.add("load")
            self.jobs.submit(say.Load(checkpoint, partial=True))

    def use_device(self, device: str) -> None:
        """Another device was chosen: a session that is open goes on there, with its weights."""
        if self.has_session:
            self._moving = True
            self._awaited.add("move")
            self.jobs.submit(say.Move(device))

    def measure(self) -> None:
        """Time every pass once."""
        if self.hand_over():
            self._profile(0.0)

    def ask(self, tag: str, call: Callable[[Session], Any], then: Callable[[Any], None], *, stays: bool = False) -> bool:
        """Have `call` made on the worker's thread, between submits; `then` gets its result in this thread, some frames later.

        Of waiting calls with the same tag only the newest is made. A fault of `call` is told in the status line, and `then` is
        not called; False, and nothing happens, while there is no session. `stays`: `then` needs no panel, and is called also
        if the window is built anew meanwhile.
        """
        if not self.has_session:
            return False
        self._answers[tag] = then
        (self._stay.add if stays else self._stay.discard)(tag)
        self._awaited.add(tag)
        self.jobs.submit(say.Ask(tag, call))
        return True

    def forget_askers(self) -> None:
        """The panels that have asked are gone: answers to them are dropped."""
        self._answers = {tag: then for tag, then in self._answers.items() if tag in self._stay}

    def is_asked(self, tag: str) -> bool:
        """Whether an answer is still awaited."""
        return tag in self._awaited

    def _hand_on_live(self) -> None:
        """Live values that the drawing gives otherwise than the session has them: they reach it without a compile."""
        if not self.has_session or not self.is_current or not self.live:
            return
        for key, param in self._essence.live.items():
            if self.live.get(key, param.value) != param.value:
                self.live[key] = param.value
                self.jobs.submit(say.SetValue(param.node, param.param, param.value))
                self.version += 1

    def hand_over(self) -> bool:
        """Let the session have the drawing as it is now; whether it can be trained."""
        graph = self._document.graph
        if not graph.nodes:
            self._tell(text("train.empty"), True)
            return False
        if not self._may_run():
            self._tell(text("view.cannot_run"), True)
            self.refusals += 1
            return False
        essence, lineage = self._essence, self._document.state.lineage
        if self._submitted is None:
            self.record.clear()
            path, named = self._document.path, graph.run.initial_weights
            weights = str(path.parent / named) if path is not None and named else None  # the session knows no project file
            device, version = self._preferences().device, self._document.version
            self.jobs.submit(say.Open(graph, device, version=version, weights=weights, lineage=lineage))
        elif not self.is_current:
            self.jobs.submit(say.Replace(graph, self._document.version, lineage))
        self._submitted, self._refused = essence, False
        self._awaited.add("start")
        return True

    def recompile(self, why: str = "") -> bool:
        """Have the drawing compiled anew, for shaders that have changed; states are kept. If it fails, all stays as it was.

        `why`: what to say once it is done, in place of what became of the states.
        """
        if not self.has_session or not self._may_run():
            return False
        self.jobs.submit(say.Replace(self._document.graph, self._document.version, self._document.state.lineage))
        self._submitted, self._refused, self._recompiled = self._essence, False, why
        self._awaited.add("start")
        return True

    def close_session(self) -> None:
        if self._submitted is not None:
            self.jobs.cancel()
            self.jobs.submit(say.Stop())
            self.jobs.submit(say.Close())
            self._deaf = True
            self.phase = say.IDLE
            self._awaited.clear()
            self._answers.clear()
        self._submitted, self._refused, self._moving = None, False, False
        self._untitled = runs.new_name()
        self.record.clear()
        self.folder, self.folders, self.live, self.saved_step = None, [], {}, -1
        self.runs_version += 1
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
        self.jobs.close(CLOSE_S)

    # -- what the worker says ------------------------------------------------------------------------------------------

    def hear(self) -> None:
        """Once a frame: take in what has come."""
        for message in self.jobs.poll():
            self._hear(message)
        self._hand_on_live()

    def _hear(self, message: say.Message) -> None:
        self._awaited.discard("start")
        if self._deaf:  # these are still of the project that was closed
            self._deaf = not (isinstance(message, say.Phase) and message.name in (say.IDLE, say.OPENING))
            if self._deaf:
                return
        self.version += 1
        match message:
            case say.Phase():
                self._hear_phase(message.name)
            case say.Compiling():
                self.stage, self.fraction = message.stage, message.fraction
            case say.Kept():
                self.folder = message.folder
                self.folders.append(message.folder)
                self.runs_version += 1
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
                self._hear_event(message.event, message.asked)

    def _hear_phase(self, phase: str) -> None:
        self.phase = phase
        self.stage, self.fraction = "", 0.0
        if phase == say.RUNNING and not self._refused:
            self.problems = ()  # what stopped it is over
        if phase not in (say.FAILED, say.IDLE) and time.monotonic() - self._told_at > STANDS_S:
            self._tell(text(f"job.{phase}"), False)

    def _say(self, message: str, error: bool = False) -> None:
        """Something worth more than the phase that follows."""
        self._tell(message, error)
        self._told_at = time.monotonic()

    def _hear_opened(self, message: say.Opened) -> None:
        self._awaited -= {"load", "move"}
        self.device, self.device_notes, self.live = message.device, message.notes, dict(message.live)
        self.timings = None
        if message.carried is not None and message.carried.source == "checkpoint":
            past = self._gone_back_to
            if past is not None and Path(past.path) != self.folder:  # what was heard so far is of another run
                self.record.take_up(past.series, past.evaluations)
            self.record.go_back(message.step)
            self.folder = None
            self.runs_version += 1
        self.record.step = message.step
        self.problems = ()
        if message.carried is not None:
            why, self._recompiled = self._recompiled, ""
            more = text("train.goes_on") if message.carried.source == "checkpoint" else ""
            self._say(why or carried_text(message.carried) + more)
        elif message.moved:
            self._moving = False
            self._say(text("train.moved", device=message.device, step=message.step))
        self._another_session()

        def passes(found: tuple[PassView, ...]) -> None:
            self.passes = found
            self.passes_version += 1

        self._answers["passes"] = passes
        self._awaited.add("passes")
        self.jobs.submit(say.Ask("passes", lambda session: session.passes))

    def _hear_event(self, event: object, asked: bool) -> None:
        """What happens by itself again and again is shown in the panels; what was asked for is told."""
        match event:
            case Finished():
                self.runs_version += 1
                reason = f": {event.reason}" if event.reason else ""
                self._say(text("train.ended" if event.stopped else "view.finished", step=event.step) + reason)
            case Evaluated():
                self._awaited.discard("evaluation")
                self.record.evaluated(event.step, event.metrics)
                if asked:
                    values = ", ".join(f"{name} {value:.4g}" for name, value in event.metrics.items())
                    self._tell(text("view.evaluated", values=values or text("train.no_metrics")), False)
            case Saved():
                self._awaited.discard("save")
                self.saved_step = event.step
                self.runs_version += 1
                if asked:
                    self._tell(text("train.saved", step=event.step, name=Path(event.path).name), False)
            case _:
                pass

    def _hear_failure(self, message: say.Failed) -> None:
        if message.kind == "unwritten":  # the run goes on
            self._awaited.discard("save")
            self._tell(text("train.unwritten", error=str(message.problems[0])), True)
            return
        self._moving = False
        if message.step is not None and message.step != self.record.step:
            self.record.stand_at(message.step)
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
            self._recompiled = ""
            self._refused = True  # the session lives on with the drawing it had
        if message.kind == "cancelled":
            self._say(text("train.cancelled"))
        else:
            self._say(str(message.problems[0]) if message.problems else text("job.failed"), error=True)


def carried_text(carried: Carried) -> str:
    """What became of the states: how many were kept, and the names of those that start anew or are gone."""
    parts = [text("train.kept", count=len(carried.kept))]
    for key, names in (("train.started", carried.started), ("train.dropped", carried.dropped)):
        if names:
            more = text("train.more", count=len(names) - NAMES_SHOWN) if len(names) > NAMES_SHOWN else ""
            parts.append(text(key, names=", ".join(names[:NAMES_SHOWN]) + more))
    return text(f"train.from_{carried.source}", step=carried.step) + "; ".join(parts)
