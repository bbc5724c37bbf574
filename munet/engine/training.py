"""The training loop of one program: steps submitted many at a time and ahead of what has finished, results taken as they come.

Nothing waits per step. Losing the iterator loses nothing: what is under way is taken by the next one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from munet.engine.builder import FAILED, STAMP, STAMP_RANGE
from munet.engine.checkpoint import HELD_OUT, Header
from munet.engine.diagnose import find_culprit
from munet.engine.errors import NonFiniteError, OutOfDeviceMemory
from munet.engine.evaluation import ring_capacity
from munet.engine.events import Event, Finished, Paused, Progress
from munet.engine.execute.base import Array, Executor, PassTime, Ticket
from munet.engine.feeding import ShuffledOrder, scalar_rows
from munet.engine.lower import Lowered
from munet.engine.pacing import Pace
from munet.engine.program import Program
from munet.engine.renaming import Renaming, renaming
from munet.engine.states import write_states

BAD = "train/failed"  # state of every training program, whatever its own name
_RATE_OVER = 12  # submits over which the speed is taken: several may arrive at once
_PAUSE_S = 0.02  # between two looks while training stands still


@dataclass
class Totals:
    """What training has cost since the session was opened; evaluations and checkpoints are not in it."""

    steps: int = 0
    submits: int = 0
    blocking_waits: int = 0
    gpu_ms: float = 0.0
    timed_steps: int = 0
    wall_s: float = 0.0


class Training:
    """`step_count` counts the steps submitted, those before a resume included; `live` are the live values by "node.param"."""

    def __init__(self, executor: Executor, lowered: Lowered, program: Program, seed: int, tell: Callable[[Event], Event]):
        self.executor, self.tell = executor, tell
        self.step_count, self.seed = 0, seed
        self.metrics: dict[str, float] = {}  # of the last finished step
        self.totals = Totals()
        self.stopping = self.paused = False
        self.live: dict[str, float] = {}
        self._flights: deque[Ticket] = deque()
        self._waiting: deque[Event] = deque()  # taken while nobody iterated
        self._arrivals: deque[tuple[float, int]] = deque(maxlen=_RATE_OVER)  # (time, steps done), of the last submits
        self.take_over(lowered, program, renaming(None))

    def take_over(self, lowered: Lowered, program: Program, renames: Renaming) -> None:
        """Train this program from now on; nothing of the one before may be under way. Live values stay unless drawn anew."""
        drawn = renames.live_now(self.lowered.live, lowered.live) if hasattr(self, "lowered") else {}
        live = renames.live_now(self.live, lowered.live)
        kept = {key: value for key, value in live.items() if drawn.get(key) == lowered.live[key]}
        self.lowered, self.program = lowered, program
        self.live = dict(lowered.live) | kept
        self._timed_before = (self.totals.gpu_ms, self.totals.timed_steps)  # with the program before
        self._pace = Pace(program, self.executor.info, ring_capacity(program))
        self._start_orders()

    def go_on_from(self, header: Header, states: Mapping[str, Array], renames: Renaming) -> None:
        """Take over a checkpoint's states, step, seed, and live values but those that the drawing gives otherwise now."""
        self.drain()
        write_states(self.executor, self.program, states)
        self.step_count, self.seed = header.step, header.seed
        self.metrics = {name: value for name, value in header.metrics.items() if not name.startswith(HELD_OUT)}
        drawn = renames.live_now(header.drawn, self.live)
        for key, value in renames.live_now(header.live, self.live).items():
            if drawn.get(key) == self.lowered.live.get(key):
                self.live[key] = float(value)
        self._start_orders()

    def _start_orders(self) -> None:
        """Batch orders anew, from the seed."""
        self._orders = {
            feeding.feed: ShuffledOrder(feeding.node, feeding.dataset.train_count, feeding.batch, self.seed)
            for feeding in self.lowered.sources
        }

    def steps(self, count: int, *, wait: bool = True, heed_pause: bool = True) -> Iterator[Event]:
        """So many more steps; Progress as results arrive, then Finished.

        wait        block for the last submit, the only wait there is; else it is polled for like the others
        heed_pause  while paused submit nothing, and give Paused each time that more is asked for
        """
        end, started = self.step_count + max(0, count), time.perf_counter()
        self._arrivals.clear()
        self._arrivals.append((started, self.step_count - sum(ticket.steps for ticket in self._flights)))
        while self._flights or self._waiting or (self.step_count < end and not self.stopping):
            while self._waiting:
                yield self._waiting.popleft()
            held = heed_pause and self.paused
            more = self.step_count < end and not self.stopping
            if more and not held:
                self._submit_ahead(end)
            elif more and not self._flights:
                time.sleep(_PAUSE_S)
                yield self.tell(Paused(self.step_count))
            if wait and len(self._flights) == 1 and (self.step_count >= end or self.stopping):
                self._wait_for_first()
            arrived = False
            while self._flights and self.executor.poll(self._flights[0]):
                arrived = True
                yield self._take(self._flights.popleft())
            if self._flights and not arrived:
                time.sleep(self._pace.nap_s)
        elapsed_s = time.perf_counter() - started
        self.totals.wall_s += elapsed_s
        yield Finished(self.step_count, dict(self.metrics), elapsed_s, self.step_count < end)

    def drain(self) -> None:
        """Wait until nothing is under way; what comes in is told to the next who iterates. Raises NonFiniteError."""
        while self._flights:
            self._wait_for_first()
            self._waiting.append(self._take(self._flights.popleft()))

    def arrived(self) -> list[Event]:
        """Wait until nothing is under way; what nobody was told yet. Raises NonFiniteError."""
        self.drain()
        found, self._waiting = list(self._waiting), deque()
        return found

    def settle(self) -> None:
        """Wait until nothing is under way; the results are not taken yet."""
        for ticket in self._flights:
            self.executor.wait(ticket)

    @property
    def step_us(self) -> float | None:
        """GPU time of a step of this program as it runs, the mean so far; None before any was timed."""
        ms, steps = self._timed_before
        timed = self.totals.timed_steps - steps
        return 1000 * (self.totals.gpu_ms - ms) / timed if timed else None

    def profile(self, levels: bool = False) -> list[PassTime]:
        """One more step of training, each pass timed alone, or each level; told to the next who iterates.

        Raises NonFiniteError. The step says nothing about the speed of others, so pacing and totals do not hear of it.
        """
        self.drain()
        feeds = self.feeds(self.step_count, 1)
        ticket, times = self.executor.profile(self.program, first_step=self.step_count, feeds=feeds, levels=levels)
        self.step_count += 1
        rate = 0.0 if not self._arrivals else self._rate(time.perf_counter(), self.step_count)
        self._waiting.append(self._told(ticket, rate))
        return times

    def feeds(self, first_step: int, steps: int) -> dict[str, Array]:
        """The rows that the host feeds for these steps, by feed."""
        feeds: dict[str, Array] = {}
        for feed in self.program.feeds:
            if feed.name in self._orders:
                feeds[feed.name] = self._orders[feed.name].rows(first_step, steps)
            else:
                feeds[feed.name] = scalar_rows(self.lowered.scalars, first_step, steps, self.live)
        return feeds

    # -- inside --------------------------------------------------------------------------------------------------------

    def _submit_ahead(self, end: int) -> None:
        """Submit as far ahead as is sensible; the steps in flight stay together within the rings."""
        while self.step_count < end and self._pace.may_start(len(self._flights)):
            room = self._pace.capacity - sum(ticket.steps for ticket in self._flights)
            count = min(self._pace.steps(), end - self.step_count, room)
            if count < 1 or (self._flights and count < min(self._pace.steps(), end - self.step_count) // 2):
                return  # a bigger submit will fit soon
            feeds = self.feeds(self.step_count, count)
            self._flights.append(self.executor.submit(self.program, first_step=self.step_count, steps=count, feeds=feeds))
            self.step_count += count
            self.totals.submits += 1

    def _wait_for_first(self) -> None:
        before = self.executor.counters.blocking_waits
        self.executor.wait(self._flights[0])
        self.totals.blocking_waits += self.executor.counters.blocking_waits - before

    def _take(self, ticket: Ticket) -> Event:
        """The results of a finished submit."""
        now, done = time.perf_counter(), ticket.first_step + ticket.steps
        if not self._arrivals:
            self._arrivals.append((now, ticket.first_step))
        elapsed_s = now - self._arrivals[-1][0]
        self._arrivals.append((now, done))
        gpu_ms = self.executor.gpu_ms(ticket)
        self._pace.measured(ticket.steps, 1000 * elapsed_s if gpu_ms is None else gpu_ms)
        self.totals.steps += ticket.steps
        if gpu_ms is not None:
            self.totals.gpu_ms += gpu_ms
            self.totals.timed_steps += ticket.steps
        return self._told(ticket, self._rate(now, done))

    def _rate(self, now: float, done: int) -> float:
        """Steps a second of late."""
        since, before = self._arrivals[0]
        return (done - before) / max(now - since, 1e-9)

    def _told(self, ticket: Ticket, rate: float) -> Event:
        """The metrics of finished steps. Raises NonFiniteError if one of them failed; those before it are told next."""
        rows, done = self.executor.records(ticket), ticket.first_step + ticket.steps
        names = self.program.records.names if self.program.records else ()
        shown = [i for i, name in enumerate(names) if not name.startswith("_")]
        failed = _failed_step(ticket, rows, names)
        names = tuple(names[i] for i in shown)
        if failed is not None:
            if failed > ticket.first_step:  # those before it went well; the next who iterates is told
                self._waiting.append(self._progress(failed, rows[: failed - ticket.first_step, shown], names, rate))
            raise self._stopped_at(failed)
        return self._progress(done, rows[:, shown], names, rate)

    def _progress(self, done: int, rows: Array, names: tuple[str, ...], rate: float) -> Event:
        self.metrics = {name: float(value) for name, value in zip(names, rows[-1], strict=True)}
        return self.tell(Progress(done, dict(self.metrics), rows, names, rate))

    def _stopped_at(self, step: int) -> NonFiniteError:
        """Bring the session to the state before the failed step, and say what made it fail."""
        for ticket in self._flights:
            self.executor.wait(ticket)
        self._flights.clear()
        self.step_count = step
        flag = self.program.state_placement(BAD)
        try:
            culprit = find_culprit(self.executor, self.lowered.module, self.program, step, self.feeds(step, 1))
        except OutOfDeviceMemory as error:
            return NonFiniteError(
                step + 1, f"a number is not finite; which one cannot be told, as a replay does not fit ({error})"
            )
        finally:
            self.executor.write(flag.buffer, np.zeros(1, np.int32), offset_bytes=flag.offset_bytes)
        if culprit is None:
            return NonFiniteError(step + 1, "a number is not finite, but none is when the step is replayed op by op")
        return NonFiniteError(step + 1, culprit.text, node=culprit.node, operator=culprit.operator)


def _failed_step(ticket: Ticket, rows: Array, names: tuple[str, ...]) -> int | None:
    """The step (from 0) of a submit at which the states began to stand still, None if all went well."""
    if FAILED not in names:
        return None
    failed, stamps = rows[:, names.index(FAILED)] != 0, rows[:, names.index(STAMP)]
    expected = (ticket.first_step + np.arange(ticket.steps)) % STAMP_RANGE + 1
    wrong = failed | (stamps != expected)
    return ticket.first_step + int(np.argmax(wrong)) if wrong.any() else None
