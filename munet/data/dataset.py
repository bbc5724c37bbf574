"""Dataset: named host arrays for training and for holding out, one row a sample.

The arrays are shared and read-only; sources upload them once, in the dtype in which they are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from munet.engine.errors import MunetError

Array = np.ndarray[Any, np.dtype[Any]]


class DataError(MunetError):
    """A data set is damaged, missing, or its arrays do not fit each other; the text names the file or the array."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Two splits of the same columns; the first dimension counts samples. `test` may be empty: nothing is held out.

    Raises DataError when the columns of a split differ in length, or the splits in names, dtype or sample shape.
    """

    train: Mapping[str, Array]
    test: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.train:
            raise DataError("a data set needs at least one column to train on")
        for split, columns in (("train", self.train), ("test", self.test)):
            _check_rows(split, columns)
            object.__setattr__(self, split, MappingProxyType({name: _read_only(array) for name, array in columns.items()}))
        if self.test:
            _check_same_columns(self.train, self.test)

    @property
    def train_count(self) -> int:
        return len(next(iter(self.train.values())))

    @property
    def test_count(self) -> int:
        return len(next(iter(self.test.values()))) if self.test else 0


def _check_rows(split: str, columns: Mapping[str, Array]) -> None:
    counts: dict[str, int] = {}
    for name, array in columns.items():
        if array.ndim == 0:
            raise DataError(f'{split} column "{name}" is a single number; its first dimension must count samples')
        if array.dtype.hasobject:
            raise DataError(f'{split} column "{name}" holds Python objects; a column holds numbers')
        counts[name] = array.shape[0]
    if len(set(counts.values())) > 1:
        found = ", ".join(f'"{name}" has {count}' for name, count in counts.items())
        raise DataError(f"columns of the {split} split differ in their number of samples: {found}")


def _check_same_columns(train: Mapping[str, Array], test: Mapping[str, Array]) -> None:
    if set(train) != set(test):
        raise DataError(f"the train split has columns {sorted(train)}, the test split {sorted(test)}; they must be the same")
    for name, array in train.items():
        other = test[name]
        if (array.shape[1:], array.dtype) != (other.shape[1:], other.dtype):
            raise DataError(
                f'column "{name}" is {array.dtype}{list(array.shape[1:])} a sample in the train split, '
                f"but {other.dtype}{list(other.shape[1:])} in the test split"
            )


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
