"""Evaluation: one walk over the held-out split, by programs of its own over the states that training writes.

All samples count once: whole batches run in one program, what is left in a second one of that size. Nothing of it
disturbs training: these programs write only a step counter and a metric ring of their own.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from munet.engine.compile import compile_program
from munet.engine.execute.base import Array, Executor, Ticket
from munet.engine.execute.storage import to_stored
from munet.engine.feeding import in_order, scalar_rows
from munet.engine.graph import Graph
from munet.engine.ir.module import Module
from munet.engine.lower import Feeding, Lowered, lower
from munet.engine.pacing import IN_FLIGHT, Pace
from munet.engine.program import Program

_OWN_GROUPS = ("control", "records")  # what a program keeps for itself; all other states are shared by name


@dataclass(eq=False)
class _Part:
    """A program and the batches it goes through. `done` counts the steps of all evaluations so far: its device counter."""

    program: Program
    lowered: Lowered
    first_row: int
    steps: int
    batch: int
    pace: Pace
    done: int = 0


class Evaluation:
    """Compiled at first use by a session; `run` as often as wanted."""

    def __init__(self, graph: Graph, executor: Executor, train: Program, off: Collection[str] = ()):
        self._executor = executor
        self._states = {state.name: train.state_placement(state.name) for state in train.module.states}
        self._off = off
        self._parts: list[_Part] = []
        whole = lower(graph, "evaluate")
        self.live = dict(whole.live)
        if not whole.module.records:
            return
        count, batch = _batches(whole.sources)
        self._add(whole, "evaluate", 0, max(1, count // batch), batch)
        rest = count % batch
        if rest and _alike(whole.sources):
            self._add(lower(graph, "evaluate", batch=rest), "evaluate rest", count - rest, 1, rest)

    def run(self, live: Mapping[str, float], step: int) -> dict[str, float]:
        """Means over the split of all metrics; `step` is where training stands, for what depends on it."""
        sums: dict[str, float] = {}
        samples = 0
        for part in self._parts:
            rows = self._rows_of(part, dict(live), step)
            for name, column in zip(part.program.module.records, rows.T, strict=True):
                sums[name] = sums.get(name, 0.0) + part.batch * float(column.astype(np.float64).sum())
            samples += part.batch * part.steps
        return {name: total / samples for name, total in sums.items()}

    def close(self) -> None:
        """Unload the programs: the states they read are about to go."""
        for part in self._parts:
            self._executor.unload(part.program.name)
        self._parts.clear()

    def _add(self, lowered: Lowered, name: str, first_row: int, steps: int, batch: int) -> None:
        program = compile_program(with_own_states(lowered.module, name), self._executor.info, states=self._states, off=self._off)
        self._executor.load(program)
        write_data(self._executor, program, lowered)
        pace = Pace(program, self._executor.info, ring_capacity(program))
        self._parts.append(_Part(program, lowered, first_row, steps, batch, pace))

    def _rows_of(self, part: _Part, live: dict[str, float], step: int) -> Array:
        """The metric rows of all batches; the device is asked now and then whether it is done, never waited for."""
        scalars = scalar_rows(part.lowered.scalars, step, 1, live)
        flights: list[Ticket] = []
        found: list[Array] = []
        started = 0
        while started < part.steps or flights:
            in_flight = sum(ticket.steps for ticket in flights)
            count = min(part.pace.steps(), part.steps - started, part.pace.capacity - in_flight)
            if count > 0 and len(flights) < IN_FLIGHT and part.pace.may_start(len(flights)):
                flights.append(self._submit(part, started, count, scalars))
                started += count
            elif self._executor.poll(flights[0]):
                ticket = flights.pop(0)
                found.append(self._executor.records(ticket))
                part.pace.measured(ticket.steps, self._executor.gpu_ms(ticket) or part.pace.step_ms * ticket.steps)
            else:
                time.sleep(part.pace.nap_s)
        return np.concatenate(found)

    def _submit(self, part: _Part, started: int, count: int, scalars: Array) -> Ticket:
        rows = {}
        for feeding in part.lowered.sources:
            first = part.first_row + started * feeding.batch
            rows[feeding.feed] = in_order(first, count, feeding.batch, held_out_count(feeding))
        rows["scalars"] = np.repeat(scalars, count, axis=0)
        feeds = {feed.name: rows[feed.name] for feed in part.program.feeds}
        ticket = self._executor.submit(part.program, first_step=part.done, steps=count, feeds=feeds)
        part.done += count
        return ticket


def ring_capacity(program: Program) -> int:
    """How many steps may be in flight without overwriting a row that is still to be read."""
    rings = [feed.capacity for feed in program.feeds]
    rings += [program.records.capacity] if program.records else []
    return min(rings, default=1024)


def with_own_states(module: Module, name: str) -> Module:
    """The module as the program `name`, with a step counter and a metric ring that no other program uses."""
    sources = tuple(
        replace(source, name=f"{name}/{source.name.rpartition('/')[2]}", group=f"{name}/{source.group}")
        if source.role == "state" and source.group in _OWN_GROUPS
        else source
        for source in module.sources
    )
    return replace(module, name=name, sources=sources)


def write_data(executor: Executor, program: Program, lowered: Lowered, there: Collection[str] = ()) -> None:
    """Upload the data sets that the program reads, but for the sources named in `there`.

    A split may be "train@2": that of the second drawing of a session, where it differs from the first one's.
    """
    datasets = {feeding.node: feeding.dataset for feeding in lowered.sources}
    for source in program.module.sources:
        if source.role != "data" or source.value not in program.placements or source.name in there:
            continue
        node, split, socket = source.name.rsplit("/", 2)
        dataset = datasets[node]
        columns = dataset.train if split.partition("@")[0] == "train" else (dataset.test or dataset.train)
        placement = program.placements[source.value]
        executor.write(placement.buffer, to_stored(columns[socket], source.value.dtype), offset_bytes=placement.offset_bytes)


def held_out_count(feeding: Feeding) -> int:
    columns = feeding.dataset.test or feeding.dataset.train
    return len(next(iter(columns.values())))


def _batches(sources: tuple[Feeding, ...]) -> tuple[int, int]:
    """Samples and batch size of the source with the fewest batches: sources run side by side."""
    counts = [(held_out_count(feeding), feeding.batch) for feeding in sources]
    return min(counts, key=lambda pair: pair[0] // pair[1], default=(1, 1))


def _alike(sources: tuple[Feeding, ...]) -> bool:
    return len({(held_out_count(feeding), feeding.batch) for feeding in sources}) == 1
