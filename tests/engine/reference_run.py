"""Trains a graph in NumPy straight from its module, one op after the other: no transforms, no planning, no session.

Slow and plain, so that it can judge the rest. `double` computes in f64 from the same f32 initial states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from munet.engine.graph import Graph
from munet.engine.hostscalar import StepContext
from munet.engine.initial import draw
from munet.engine.ir.evaluate import evaluate
from munet.engine.lower import Lowered, lower
from munet.engine.operator import Array

Rows = dict[str, Array]  # row numbers of a step's batch, by source node


class ReferenceRun:
    """One training run: `states` by name, `step()` takes one step and gives what it records."""

    def __init__(self, graph: Graph, seed: int, *, double: bool = False):
        self.graph, self.seed = graph, seed
        self.wide = np.float64 if double else np.float32
        self.lowered = lower(graph)
        self.states = {state.name: self._widened(draw(state, seed)) for state in self.lowered.module.states}
        self.steps = 0

    def step(self) -> dict[str, float]:
        rows = batch_rows(self.lowered, self.seed, self.steps)
        _, self.states = evaluate(self.lowered.module, self._sources(self.lowered, self.steps, rows) | self.states)
        ring = self.states["train/records"]
        recorded = ring[self.steps % len(ring)]
        self.steps += 1
        return dict(zip(self.lowered.module.records, map(float, recorded), strict=True))

    def held_out(self) -> dict[str, float]:
        """What the evaluation module records for the whole held-out split, with the parameters as they are now."""
        count = max((feeding.dataset.test_count for feeding in self.lowered.sources), default=0)
        lowered = lower(self.graph, "evaluate", batch=count)
        states = {s.name: self.states.get(s.name, self._widened(draw(s, self.seed))) for s in lowered.module.states}
        rows = {feeding.feed: np.arange(feeding.batch) for feeding in lowered.sources}
        _, after = evaluate(lowered.module, self._sources(lowered, 0, rows) | states)
        return dict(zip(lowered.module.records, map(float, after["evaluate/records"][0]), strict=True))

    def _widened(self, array: Array) -> Array:
        return array.astype(self.wide) if array.dtype.kind == "f" else array

    def _sources(self, lowered: Lowered, step: int, rows: Rows) -> dict[str, Array]:
        """Data sets, the rings with the rows of `step` in place, and the host's scalars."""
        arrays: dict[str, Array] = {}
        for source in lowered.module.sources:
            if source.role == "data":
                node, split, column = source.name.split("/")
                feeding = next(f for f in lowered.sources if f.node == node)
                arrays[source.name] = self._widened(getattr(feeding.dataset, split)[column])
            elif source.role == "feed":
                row: Any = rows[source.name] if source.name != "scalars" else self._scalars(lowered, step)
                ring = np.zeros(source.value.shape, self.wide if source.name == "scalars" else np.int32)
                ring[step % len(ring)] = row
                arrays[source.name] = ring
        return arrays

    def _scalars(self, lowered: Lowered, step: int) -> list[float]:
        context = StepContext(step, dict(lowered.live))
        return [scalar.value(context) for scalar in lowered.scalars]


def batch_rows(lowered: Lowered, seed: int, step: int) -> Rows:
    """Row numbers of a step's batches: a new permutation each epoch, incomplete batches left out."""
    rows: Rows = {}
    for feeding in lowered.sources:
        count = len(next(iter(feeding.dataset.train.values())))
        steps_per_epoch = count // feeding.batch
        epoch, position = divmod(step, steps_per_epoch)
        order = np.random.default_rng([seed, epoch]).permutation(count)
        rows[feeding.feed] = order[position * feeding.batch : (position + 1) * feeding.batch]
    return rows
