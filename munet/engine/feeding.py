"""Rows that the host feeds ahead of the steps: which samples a step takes, and its live numbers.

All of it is a function of (seed, step) and of the live values, so a resumed run goes on bit for bit. An epoch takes
every sample at most once, in an order drawn for it; samples beyond the last whole batch are left out of that epoch. A large
batch of all samples has them in their own order: drawing another for each step would cost more than a GPU's step does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from munet.engine.errors import MunetError
from munet.engine.hostscalar import HostScalar, StepContext
from munet.engine.operator import Array
from munet.engine.philox import stream_key

UNSHUFFLED = 1024  # samples: a batch of all of them is not shuffled if there are more


class ShuffledOrder:
    """Row numbers of a source node's samples, shuffled anew each epoch.

    Orders come from a counter-based generator keyed by (seed, node): that of any epoch is found without the ones before
    it. Raw words are sorted, because NumPy promises the words of a generator, not what it makes of them.
    """

    def __init__(self, node: str, count: int, batch: int, seed: int):
        self._count, self._batch = count, batch
        low, high = stream_key(seed, ("order", node))
        self._key = low | high << 32
        self._first = 0  # epoch of the first row of _orders
        self._orders: Array = np.empty((0, count), np.int32)

    @property
    def batches(self) -> int:
        """Whole batches in an epoch."""
        return self._count // self._batch

    def rows(self, first_step: int, steps: int) -> Array:
        """i32 [steps, batch]."""
        if self._batch == self._count > UNSHUFFLED:
            return np.broadcast_to(np.arange(self._count, dtype=np.int32), (steps, self._count))
        first, last = first_step // self.batches, (first_step + steps - 1) // self.batches
        self._keep(first, last)
        used = self._orders[first - self._first : last - self._first + 1, : self.batches * self._batch]
        batches = used.reshape(-1, self._batch)
        start = first_step - first * self.batches
        return batches[start : start + steps]

    def _keep(self, first: int, last: int) -> None:
        """Have the orders of these epochs ready; the one that the last call ended in is not drawn again."""
        known = range(self._first, self._first + len(self._orders))
        if first in known and last in known:
            return
        kept = self._orders[first - self._first :] if first in known else self._orders[:0]
        new = self._drawn(first + len(kept), last + 1)
        self._orders = np.concatenate([kept, new]) if len(kept) else new
        self._first = first

    def _drawn(self, first: int, end: int) -> Array:
        blocks = -(-self._count // 4)  # the generator gives four words for each value of its counter
        words = np.random.Philox(key=self._key, counter=first * blocks).random_raw((end - first) * blocks * 4)
        return np.argsort(words.reshape(end - first, -1)[:, : self._count], axis=1, kind="stable").astype(np.int32)


def in_order(first_row: int, steps: int, batch: int, count: int) -> Array:
    """Row numbers without shuffling, i32 [steps, batch]; those beyond the last sample start again."""
    return (np.arange(first_row, first_row + steps * batch, dtype=np.int64) % count).astype(np.int32).reshape(steps, batch)


def scalar_rows(scalars: Sequence[HostScalar], first_step: int, steps: int, live: Mapping[str, float]) -> Array:
    """The table of host scalars, f32 [steps, columns]; worked out in double precision."""
    rows = np.empty((steps, len(scalars)), np.float64)
    together = StepContext(np.arange(first_step, first_step + steps), live)
    try:
        with np.errstate(divide="raise", invalid="raise"):
            for column, scalar in enumerate(scalars):
                rows[:, column] = scalar.value(together)
    except (ArithmeticError, ValueError):  # again, one by one, to name the step
        for column, scalar in enumerate(scalars):
            rows[:, column] = [_number(scalar, StepContext(step, live)) for step in range(first_step, first_step + steps)]
    if np.abs(rows).max(initial=0.0) > np.finfo(np.float32).max:
        step, column = np.argwhere(np.abs(rows) > np.finfo(np.float32).max)[0]
        found = f"the number {scalars[column].text} is {rows[step, column]:.3g}"
        raise MunetError(f"step {first_step + step + 1}: {found}. Rule: numbers of a step fit f32. Try: a smaller rate.")
    return rows.astype(np.float32)


def _number(scalar: HostScalar, context: StepContext) -> float:
    try:
        return scalar.value(context)
    except (ArithmeticError, ValueError) as error:
        raise MunetError(f"step {context.step + 1}: the number {scalar.text} cannot be worked out: {error}") from None
