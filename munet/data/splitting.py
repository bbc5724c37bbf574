"""Splits samples into those to train on and those held out; looks at their number alone, so it is the same for ever."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from munet.data.dataset import Array, DataError, Dataset


def split(columns: Mapping[str, Array], held_out: float) -> Dataset:
    """A data set with the share `held_out` of the rows, from 0 to below 1, drawn by chance, kept for testing.

    Raises DataError where nothing would be left to train on.
    """
    order = mixed(len(next(iter(columns.values()))))
    count = held_out_count(len(order), held_out)
    return Dataset(
        train={name: array[order[count:]] for name, array in columns.items()},
        test={name: array[order[:count]] for name, array in columns.items()} if count else {},
    )


def held_out_count(count: int, held_out: float) -> int:
    if count == 0:
        raise DataError("there are no samples")
    return min(round(count * held_out), count - 1)


def mixed(count: int) -> Array:
    """The numbers below `count` in an order by chance; the same on every machine."""
    # Raw words are sorted, because NumPy promises the words of a generator, not what it makes of them.
    return np.argsort(np.random.Philox(key=2024).random_raw(count), kind="stable")
