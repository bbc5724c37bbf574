"""The worker thread that owns the session: commands in, messages out, neither side ever waits for the other.

    jobs = Jobs(); jobs.submit(Open(graph)); jobs.submit(Run())
    for message in jobs.poll(): ...

Commands are taken between submits of the run, that is every few tens of milliseconds; a compile is not interrupted. Whatever goes
wrong becomes a `Failed` message and the thread goes on. Graphs and messages are immutable, so nothing is shared.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator

import numpy as np

from munet import (
    Carried,
    DeviceLost,
    Evaluated,
    Event,
    Finished,
    GraphError,
    MunetError,
    NonFiniteError,
    Paused,
    Problem,
    Progress,
    ProjectError,
    Saved,
    Session,
)
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
    Evaluate,
    Failed,
    Load,
    Message,
    Metrics,
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
from studio.texts import text

REPORT_EVERY_S = 1 / 30  # metrics of that time come in one message


class Jobs:
    """One worker. `submit`, `poll` and `phase` may be used from any thread and return at once."""

    def __init__(self, open_session: Callable[..., Session] = Session.open):
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._worker = _Worker(self._commands, self._messages, open_session)
        self._thread = threading.Thread(target=self._worker.loop, name="session", daemon=True)
        self._thread.start()

    @property
    def phase(self) -> str:
        return self._worker.phase

    def submit(self, command: Command) -> None:
        self._commands.put(command)

    def poll(self, limit_s: float = 0.004) -> list[Message]:
        """What has come in, in order; stops after a while, so that a frame is never late."""
        found: list[Message] = []
        end = time.perf_counter() + limit_s
        while time.perf_counter() < end:
            try:
                found.append(self._messages.get_nowait())
            except queue.Empty:
                break
        return found

    def close(self, timeout_s: float = 10.0) -> bool:
        """End the thread and its session; whether it ended in time."""
        self._commands.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()


class _Worker:
    """What runs on the thread."""

    def __init__(
        self,
        commands: queue.SimpleQueue[Command | None],
        messages: queue.SimpleQueue[Message],
        open_session: Callable[..., Session],
    ):
        self._commands, self._messages, self._open_session = commands, messages, open_session
        self.phase = IDLE
        self._session: Session | None = None
        self._opened: Open | None = None
        self._run: Iterator[Event] | None = None
        self._pending: list[Progress] = []
        self._reported = 0.0
        self._profile_every_s = 0.0
        self._profiled = 0.0

    def loop(self) -> None:
        while True:
            batch = self._taken()
            for command in batch:
                if command is None:
                    self._close()
                    return
                self._guarded(command, lambda c=command: self._obey(c))
            if self._run is not None and self.phase == RUNNING:
                self._guarded(None, self._advance)

    def _taken(self) -> list[Command | None]:
        """All waiting commands; blocks while there is nothing else to do. Of equal questions only the newest is kept."""
        busy = self._run is not None and self.phase == RUNNING
        batch: list[Command | None] = [] if busy else [self._commands.get()]
        while True:
            try:
                batch.append(self._commands.get_nowait())
            except queue.Empty:
                break
        newest = {command.tag: command for command in batch if isinstance(command, Ask)}
        return [c for c in batch if not isinstance(c, Ask) or newest[c.tag] is c]

    def _guarded(self, command: Command | None, work: Callable[[], None]) -> None:
        name = type(command).__name__ if command is not None else "Run"
        tag = command.tag if isinstance(command, Ask) else ""
        try:
            work()
        except NonFiniteError as error:
            self._flush()
            self._run = None
            self._put(Failed("not-finite", (error.problem,), name, tag=tag))
            self._become(PAUSED if self._session is not None else FAILED)
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

    def _refused(self, message: Failed) -> None:
        """A run that fails is over; a refused command leaves everything as it was."""
        if message.command == "Run":
            self._flush()
            self._run = None
        self._put(message)
        if self._session is None:
            self._become(FAILED)
        elif self.phase in (OPENING, COMPILING) or (self.phase == RUNNING and self._run is None):
            self._become(RUNNING if self._run is not None else READY)

    # -- commands ------------------------------------------------------------------------------------------------------

    def _obey(self, command: Command) -> None:
        match command:
            case Open():
                self._open(command)
            case Replace():
                self._replace(command)
            case Close():
                self._close()
            case Profile():
                self._profile_every_s = command.every_s
                self._profile(self._need())
            case Pause():
                if self.phase == RUNNING:
                    self._need().pause()
            case Run():
                self._start(command)
            case _:
                self._obey_session(command, self._need())

    def _obey_session(self, command: Command, session: Session) -> None:
        match command:
            case Step():
                before = session.step_count
                if self.phase == RUNNING:
                    session.pause()
                session.step(command.count)
                names = tuple(session.metrics)
                row = np.array([[session.metrics[name] for name in names]], np.float32)
                self._flush()
                if names and session.step_count > before:
                    self._put(Metrics(session.step_count - 1, session.step_count, names, row, 0.0))
                self._become(PAUSED)
            case Stop():
                session.stop()
                session.resume()
                if self._run is not None and self.phase == PAUSED:
                    self._become(RUNNING)
            case Reset():
                if self._opened is not None:
                    self._open(Open(session.graph, self._opened.device, self._opened.seed, self._opened.version))
            case SetValue():
                session.set(command.node, command.param, command.value)
            case Evaluate():
                session.evaluate()
                self._put(Told(session.evaluated))
            case Save():
                session.save(command.path)
                self._put(Told(Saved(str(command.path), session.step_count)))
            case Load():
                session.load(command.path, partial=command.partial)
                self._put(self._now_open(self._opened.version if self._opened else -1, 0.0, None))
            case Ask():
                self._put(Answer(command.tag, command.call(session)))
            case _:
                raise TypeError(f"{command!r} is no command")

    def _need(self) -> Session:
        if self._session is None:
            raise ProjectError([Problem("nothing-open", text("job.idle"))])
        return self._session

    def _open(self, command: Open) -> None:
        self._close()
        self._become(OPENING, command.device)
        started = time.perf_counter()
        self._become(COMPILING)
        self._session = self._open_session(command.graph, command.device, seed=command.seed, weights=command.weights)
        self._opened = command
        self._put(self._now_open(command.version, time.perf_counter() - started, None))
        self._become(READY)

    def _now_open(self, version: int, elapsed_s: float, carried: Carried | None) -> Opened:
        session = self._need()
        info = session.executor.info
        notes, live = tuple(info.notes.values()), dict(session.live)
        return Opened(session.graph, version, info.name, notes, session.step_count, elapsed_s, carried, live)

    def _replace(self, command: Replace) -> None:
        session, before = self._session, self.phase
        if session is None:
            last = self._opened or Open(command.graph)
            self._open(Open(command.graph, last.device, last.seed, command.version))
            return
        self._become(COMPILING)
        started = time.perf_counter()
        carried = session.replace(command.graph)
        if self._opened is not None:
            self._opened = Open(command.graph, self._opened.device, self._opened.seed, command.version)
        self._put(self._now_open(command.version, time.perf_counter() - started, carried))
        self._become(before)

    def _start(self, command: Run) -> None:
        session = self._need()
        session.resume()
        if self._run is None:
            total = command.total if command.total is not None else session.graph.run.steps
            self._run = session.run(total)
        self._become(RUNNING)

    def _close(self) -> None:
        session = self._session
        self._forget_session()
        if session is not None:
            session.close()
            self._become(IDLE)

    def _forget_session(self) -> None:
        self._session = self._run = None
        self._pending.clear()

    # -- the run -------------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """The run's next event."""
        assert self._run is not None
        event = next(self._run, None)
        match event:
            case None:
                self._run = None
                self._flush()
                self._become(READY)
            case Progress():
                if self._pending and self._pending[0].names != event.names:
                    self._flush()
                self._pending.append(event)
                if time.perf_counter() - self._reported > REPORT_EVERY_S:
                    self._flush()
                self._profile_if_due()
            case Paused():
                self._flush()
                self._become(PAUSED)
            case Finished() | Evaluated() | Saved() | Carried():
                self._flush()
                self._put(Told(event))

    def _flush(self) -> None:
        """Metrics that were held back, as one message."""
        if self._pending:
            first, last = self._pending[0], self._pending[-1]
            rows = np.concatenate([event.rows for event in self._pending])
            self._put(Metrics(first.first_step, last.step, last.names, rows, last.steps_per_second))
            self._pending.clear()
        self._reported = time.perf_counter()

    def _profile_if_due(self) -> None:
        if self._profile_every_s and time.perf_counter() - self._profiled > self._profile_every_s:
            self._profile(self._need())

    def _profile(self, session: Session) -> None:
        self._put(Timed(session.timings(refresh=True)))
        self._profiled = time.perf_counter()

    def _become(self, phase: str, detail: str = "") -> None:
        if phase != self.phase:
            self.phase = phase
            self._put(Phase(phase, detail))

    def _put(self, message: Message) -> None:
        self._messages.put(message)
