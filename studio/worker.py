"""What runs on the worker's thread: takes commands, owns the session, and makes a message of whatever goes wrong.

A refused command leaves everything as it was; a run that fails is over; after the loss of the device the thread goes on without
a session. A compile that is cancelled, or fails, leaves the session and its phase as they were.
"""

from __future__ import annotations

import queue
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from munet import (
    Carried,
    DeviceLost,
    Graph,
    GraphError,
    MunetError,
    NonFiniteError,
    Problem,
    ProjectError,
    Saved,
    Session,
    dump_project,
)
from munet.inspect import read_header
from studio.keeping import Keeper
from studio.lineage import Lineage, renamed
from studio.messages import (
    COMPILING,
    FAILED,
    IDLE,
    OPENING,
    PAUSED,
    READY,
    RUNNING,
    Answer,
    Ask,
    Close,
    Command,
    Compiling,
    Evaluate,
    Failed,
    Kept,
    Load,
    Message,
    Move,
    Open,
    Opened,
    Pause,
    Phase,
    Profile,
    Replace,
    Reset,
    Run,
    Save,
    SetValue,
    Step,
    Stop,
    Timed,
    Told,
)
from studio.running import REPORT_EVERY_S, Running
from studio.texts import text

DRAWINGS = 200  # that are remembered, so that checkpoints of before a renaming can be gone back to
AT_ONCE = (Stop, Pause, Ask, SetValue, Close)  # also while steps that were asked for are made; other commands wait for their end


class CompileCancelled(Exception):
    """Somebody asked for the end of a compile."""


class Worker:
    """Made by `Jobs`. `cancelled` and `closing` may be set from any thread."""

    def __init__(
        self,
        commands: queue.SimpleQueue[Command | None],
        messages: queue.SimpleQueue[Message],
        open_session: Callable[..., Session],
    ):
        self._commands, self._messages, self._open_session = commands, messages, open_session
        self.phase = IDLE
        self.cancelled = threading.Event()
        self.closing = threading.Event()  # what is still to be compiled comes to nothing
        self._session: Session | None = None
        self._opened: Open | None = None
        self._drawn: deque[tuple[Graph, Lineage]] = deque(maxlen=DRAWINGS)  # what the project was since it was opened
        self._open_failed = self._redraw_failed = False
        self._resting = IDLE  # the phase before a compile
        self._staged = 0.0
        self._profile_every_s = self._profiled = 0.0
        self._profile_wanted = False  # asked for, and not yet done
        self._waiting: list[Command] = []  # until the steps that were asked for are made
        self._keeper = Keeper(lambda error: self._put(Failed("unwritten", (Problem("unwritten", str(error)),))))
        self._running = Running(self._put, self._keeper)

    def loop(self) -> None:
        while True:
            for command in self._taken():
                if command is None:
                    self._close()
                    return
                if self._running.steps_left and not isinstance(command, AT_ONCE):
                    self._waiting.append(command)
                else:
                    self._guarded(command, lambda c=command: self._obey(c))
            if self._trains:
                self._guarded(None, self._advance)

    @property
    def _trains(self) -> bool:
        return self.phase == RUNNING and self._running.is_there

    def _taken(self) -> list[Command | None]:
        """All waiting commands; blocks while there is nothing else to do. Of equal questions only the newest is kept."""
        batch: list[Command | None] = []
        if not self._running.steps_left:
            batch += self._waiting
            self._waiting = []
        if not batch and not self._trains:
            batch.append(self._commands.get())
        while True:
            try:
                batch.append(self._commands.get_nowait())
            except queue.Empty:
                break
        newest = {command.tag: command for command in batch if isinstance(command, Ask)}
        return [c for c in batch if not isinstance(c, Ask) or newest[c.tag] is c]

    def _advance(self) -> None:
        session = self._need()
        phase = self._running.advance(session)
        due = self._profile_every_s and time.perf_counter() - self._profiled > self._profile_every_s
        if (due and phase != READY) or self._profile_wanted:
            self._profile_if_room(session)
        if phase:
            self._become(phase)

    # -- failures ------------------------------------------------------------------------------------------------------

    def _guarded(self, command: Command | None, work: Callable[[], None]) -> None:
        name = type(command).__name__ if command is not None else "Run"
        tag = command.tag if isinstance(command, Ask) else ""
        try:
            work()
        except CompileCancelled:
            self._put(Failed("cancelled", (), name))
            self._redraw_failed = name == "Replace"
            self._rest()
        except NonFiniteError as error:
            self._held_by(Failed("not-finite", (error.problem,), name, tag=tag))
        except DeviceLost as error:
            self._forget_session()
            problem = Problem("device-lost", str(error), cure="open the project again; checkpoints are kept")
            self._put(Failed("device-lost", (problem,), name))
            self._become(FAILED)
        except ProjectError as error:
            self._refused(Failed("project", error.problems, name, tag=tag))
        except GraphError as error:
            self._refused(Failed("project", (error.problem,), name, tag=tag))
        except MunetError as error:
            self._refused(Failed("refused", (Problem("refused", str(error)),), name, tag=tag))
        except Exception as error:  # noqa: BLE001  # the window must learn of it, and the thread must live on
            found = text("job.unexpected", error=f"{type(error).__name__}: {error}")
            self._refused(Failed("bug", (Problem("unexpected", found),), name, traceback.format_exc(), tag))

    def _held_by(self, message: Failed) -> None:
        """A step was not finite: the run ends in the state before it."""
        session = self._session
        if session is not None:
            self._running.take_rest(session)
            message = replace(message, step=session.step_count)
        self._running.flush()
        self._running.drop()
        self._put(message)
        self._become(PAUSED if session is not None else FAILED)

    def _refused(self, message: Failed) -> None:
        """A run that fails is over; a refused command leaves everything as it was."""
        if message.command == "Replace":
            self._redraw_failed = True
        if message.command in ("Run", "Step"):
            self._running.flush()
            self._running.drop()
        self._put(message)
        if self._session is None:
            self._open_failed = message.command in ("Open", "Reset", "Replace")
            self._become(FAILED)
        elif self.phase in (OPENING, COMPILING):
            self._rest()
        elif self.phase == RUNNING and not self._trains:
            self._become(READY)

    def _rest(self) -> None:
        """Back to what was before a compile that came to nothing."""
        self._open_failed = self._session is None
        self._become(self._resting if self._session is not None else IDLE)

    # -- commands ------------------------------------------------------------------------------------------------------

    def _obey(self, command: Command) -> None:
        if self._open_failed and not isinstance(command, Open | Replace | Close):
            return  # it was asked for together with the opening that failed
        if self._redraw_failed and isinstance(command, Run | Step) and self.phase != RUNNING:
            return  # it was meant for the drawing that was refused, not for the one before it
        match command:
            case Open():
                self._open(command)
            case Replace():
                self._replace(command)
            case Close():
                self._close()
                self._drawn.clear()
            case Profile():
                self._profile_every_s = command.every_s
                self._profile_wanted = True
                self._profile_if_room(self._need())
            case Pause():
                self._pause()
            case Run():
                self._running.start(command, self._need())
                self._become(RUNNING)
            case _:
                self._obey_session(command, self._need())

    def _obey_session(self, command: Command, session: Session) -> None:
        match command:
            case Step():
                session.pause()
                self._running.steps_left = max(0, command.count)
                self._become(RUNNING if command.count > 0 else PAUSED)
                if command.count > 0:
                    self._advance()  # a few are made at once
            case Stop():
                self._stop(session)
            case Reset():
                if self._opened is not None:
                    self._open(replace(self._opened, graph=session.graph))
            case SetValue():
                session.set(command.node, command.param, command.value)
            case Evaluate():
                metrics = session.evaluate()
                if metrics:
                    self._keeper.make_anew(session)
                    self._keeper.report(session.step_count, metrics)
                self._put(Told(session.evaluated, asked=True))
            case Save():
                self._save(command, session)
            case Load():
                self._load(command, session)
            case Move():
                self._move(command, session)
            case Ask():
                self._put(Answer(command.tag, command.call(session)))
            case _:
                raise TypeError(f"{command!r} is no command")

    def _need(self) -> Session:
        if self._session is None:
            raise ProjectError([Problem("nothing-open", text("job.idle"))])
        return self._session

    def _pause(self) -> None:
        if self.phase == RUNNING:
            self._need().pause()
            self._running.steps_left = 0
            if not self._running.has_run:
                self._running.flush()
                self._become(PAUSED)

    def _stop(self, session: Session) -> None:
        session.stop()
        session.resume()
        self._running.steps_left = 0
        if self._running.has_run:
            self._become(RUNNING)  # until it has ended in order
        elif self.phase in (RUNNING, PAUSED):
            self._running.flush()
            self._become(READY)

    def _save(self, command: Save, session: Session) -> None:
        path = command.path
        if path is None:
            if command.keep is not None and self._keeper.start(command.keep, session):
                self._put(Kept(command.keep.folder))
            self._keeper.make_anew(session)
            folder = self._keeper.folder
            if folder is None:
                return  # why has been told
            path = folder.path / f"step-{session.step_count}.safetensors"
        session.save(path)
        self._put(Told(Saved(str(path), session.step_count), asked=True))

    def _load(self, command: Load, session: Session) -> None:
        mark = session.events(2**62).next
        header = session.load(command.path, partial=command.partial, renamed=self._renamed_since(command.path, session))
        carried = next((event for event in session.events(mark).events if isinstance(event, Carried)), None)
        self._running.drop()
        self._running.heard = header.step
        self._keeper.resumed(command.path, header.step)
        self._put(self._now_open(self._opened.version if self._opened else -1, 0.0, carried))
        self._become(PAUSED)

    def _renamed_since(self, checkpoint: Path, session: Session) -> dict[str, str]:
        """What has been renamed since a checkpoint was written, if its drawing was one of this project since it was opened."""
        project = read_header(checkpoint).project
        for graph, lineage in reversed(self._drawn):
            if self._opened is not None and lineage is not self._opened.lineage and dump_project(graph) == project:
                return renamed(graph, lineage, session.graph, self._opened.lineage)
        return {}

    # -- opening and compiling -----------------------------------------------------------------------------------------

    def _begin_compile(self, phase: str, detail: str = "") -> None:
        self.cancelled.clear()
        self._resting = self.phase
        self._become(phase, detail)

    def _compiling(self, stage: str, fraction: float) -> None:
        """The session's hook while it compiles."""
        if self.cancelled.is_set() or self.closing.is_set():
            raise CompileCancelled
        now = time.perf_counter()
        if now - self._staged > REPORT_EVERY_S or fraction == 0.0:
            self._staged = now
            self._put(Compiling(stage, fraction))

    def _open(self, command: Open) -> None:
        self._close()
        self._begin_compile(OPENING, command.device)
        started = time.perf_counter()
        self._become(COMPILING)
        self._session = self._open_session(
            command.graph, command.device, seed=command.seed, weights=command.weights, progress=self._compiling
        )
        self._opened, self._open_failed, self._redraw_failed = command, False, False
        self._drawn.append((command.graph, command.lineage))
        self._running.heard = self._session.step_count
        self._put(self._now_open(command.version, time.perf_counter() - started, None))
        self._become(READY)

    def _now_open(self, version: int, elapsed_s: float, carried: Carried | None, moved: bool = False) -> Opened:
        session = self._need()
        info = session.executor.info
        notes, live = tuple(info.notes.values()), dict(session.live)
        return Opened(session.graph, version, info.name, notes, session.step_count, elapsed_s, carried, live, moved)

    def _replace(self, command: Replace) -> None:
        session = self._session
        if session is None:
            last = self._opened or Open(command.graph)
            self._open(replace(last, graph=command.graph, version=command.version, lineage=command.lineage))
            return
        self._begin_compile(COMPILING)
        started = time.perf_counter()
        before = self._opened.lineage if self._opened is not None else command.lineage
        renames = renamed(session.graph, before, command.graph, command.lineage)
        carried = session.replace(command.graph, renamed=renames, progress=self._compiling)
        self._drawn.append((command.graph, command.lineage))
        self._redraw_failed = False
        self._keeper.redrawn(command.graph)
        if self._opened is not None:
            self._opened = replace(self._opened, graph=command.graph, version=command.version, lineage=command.lineage)
        self._put(self._now_open(command.version, time.perf_counter() - started, carried))
        self._become(self._resting)

    def _move(self, command: Move, session: Session) -> None:
        """The old session lives until the new one has its state."""
        self._begin_compile(COMPILING)
        started, opened = time.perf_counter(), self._opened or Open(session.graph)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.safetensors"
            session.save(path)
            other = self._open_session(session.graph, command.device, seed=session.seed, weights="", progress=self._compiling)
            try:
                other.load(path)
            except BaseException:
                other.close()
                raise
        self._running.flush()
        self._session = other
        session.close()
        self._opened = replace(opened, device=command.device)
        self._running.move(other, runs=self._running.has_run and self._resting == RUNNING)
        self._put(self._now_open(opened.version, time.perf_counter() - started, None, moved=True))
        self._become(self._resting)

    def _close(self) -> None:
        session = self._session
        if session is None:
            self._forget_session()
            return
        try:  # what was trained is not lost with the session, unless the device is gone
            saved = self._keeper.end(session)
        except MunetError:
            saved = None
        if saved is not None:
            self._put(Told(saved))
        self._forget_session()
        session.close()
        self._become(IDLE)

    def _forget_session(self) -> None:
        self._keeper.end(None)
        self._running.drop()
        self._waiting, self._profile_wanted = [], False
        self._session, self._open_failed = None, False

    def _profile_if_room(self, session: Session) -> None:
        """At once, or after the run where that would become longer by it."""
        if self._running.has_room(session):
            self._profile_wanted = False
            self._profile(session)

    def _profile(self, session: Session) -> None:
        self._put(Timed(session.timings(refresh=True)))
        self._running.take_overtaken(session)
        if not self._running.has_run:
            self._running.take_rest(session)
            self._running.flush()
        self._profiled = time.perf_counter()

    def _become(self, phase: str, detail: str = "") -> None:
        if phase != self.phase:
            self.phase = phase
            self._put(Phase(phase, detail))

    def _put(self, message: Message) -> None:
        self._messages.put(message)
