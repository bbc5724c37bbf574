"""What trains on the worker's thread: the run's iterator, or steps on demand; metrics of a while go in one message."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from munet import Carried, Event, Paused, Progress, Saved, Session
from studio.keeping import Keeper
from studio.messages import PAUSED, READY, Kept, Message, Metrics, Run, Told

REPORT_EVERY_S = 1 / 30  # metrics of that time come in one message
TIMED_STEPS = 2  # that a timing takes: passes, then levels
STEPS_S = 0.05  # steps on demand are made in portions of about so long, between which commands are taken


class Running:
    """`advance` does a little and gives the phase that has come about, "" if it is the same."""

    def __init__(self, put: Callable[[Message], None], keeper: Keeper):
        self._put, self._keeper = put, keeper
        self._run: Iterator[Event] | None = None
        self._total: int | None = None
        self._pending: list[Progress] = []
        self._reported = 0.0
        self.steps_left = 0  # of those asked for one by one
        self.heard = 0  # the last step whose metrics were taken in

    @property
    def has_run(self) -> bool:
        """Whether a run is begun and not at its end, held or not."""
        return self._run is not None

    @property
    def is_there(self) -> bool:
        return self._run is not None or self.steps_left > 0

    def start(self, command: Run, session: Session) -> None:
        """Begin a run, or go on with the one there is."""
        session.resume()
        self.steps_left = 0
        if self._run is None:
            self._total = command.total if command.total is not None else session.graph.run.steps
            if command.keep is not None and self._keeper.start(command.keep, session):
                self._put(Kept(command.keep.folder))
            self._run = session.run(self._total, self._keeper.folder)

    def move(self, session: Session, *, runs: bool) -> None:
        """The same run goes on with another session."""
        self._run = session.run(self._total, self._keeper.folder) if runs else None
        if self.steps_left:
            session.pause()

    def drop(self) -> None:
        self._run, self.steps_left = None, 0
        self._pending.clear()

    def advance(self, session: Session) -> str:
        if self.steps_left:
            return self._step_on(session)
        return self._next(session)

    def _next(self, session: Session) -> str:
        """The run's next event."""
        assert self._run is not None
        event = next(self._run, None)
        match event:
            case None:
                self._run = None
                self.flush()
                return READY
            case Progress():
                self._take_in(event)
                saved = self._keeper.save_if_due(session)
                if saved is not None:
                    self._put(Told(saved))
            case Paused():
                self.flush()
                return PAUSED
            case _:
                self._tell(event)
        return ""

    def take_overtaken(self, session: Session) -> None:
        """What a run that is held had to do at steps that were timed or asked for."""
        for event in session.overtaken():
            if isinstance(event, Progress):
                self._take_in(event)
            else:
                self._tell(event)

    def _tell(self, event: Event) -> None:
        self.flush()
        if isinstance(event, Saved):
            self._keeper.saved(event)
        self._put(Told(event))

    def has_room(self, session: Session) -> bool:
        """Whether steps may be timed: those count, and a run must not become longer by them."""
        return self._run is None or self._total is None or session.step_count + TIMED_STEPS <= self._total

    def take_rest(self, session: Session) -> None:
        """Steps that no run of events has brought: those that are asked for, those timed between them, and those of before a
        failure."""
        found: list[Progress] = []
        for event in reversed(session.events().events):
            if isinstance(event, Carried) and event.source == "checkpoint":
                break  # what came before it is of another run
            if isinstance(event, Progress):
                if event.step <= self.heard:
                    break
                found.append(event)
        for event in reversed(found):
            self._take_in(event)
            if self._run is None:
                self._keeper.progress(event)

    def _step_on(self, session: Session) -> str:
        """A portion of the steps that were asked for."""
        started = time.perf_counter()
        count = 1
        while self.steps_left and time.perf_counter() - started < STEPS_S:
            count = min(self.steps_left, 2 * count)
            self.steps_left -= count
            session.step(count)
            self.take_overtaken(session)
        self.take_rest(session)
        if self.steps_left:
            return ""
        self.flush()
        return PAUSED

    def _take_in(self, event: Progress) -> None:
        if event.step <= self.heard:  # a run brings once more what was taken in after a failure
            return
        self.heard = event.step
        if self._pending and self._pending[0].names != event.names:
            self.flush()
        self._pending.append(event)
        if time.perf_counter() - self._reported > REPORT_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Metrics that were held back, as one message."""
        if self._pending:
            first, last = self._pending[0], self._pending[-1]
            rows = np.concatenate([event.rows for event in self._pending])
            self._put(Metrics(first.first_step, last.step, last.names, rows, last.steps_per_second))
            self._pending.clear()
        self._reported = time.perf_counter()
