"""A tensor of any rank as a table: which two axes are shown, and where the others stand. Also as text and as a file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

COPIED = 4096  # rows and columns of a copied table, at most


@dataclass(frozen=True)
class Cut:
    """Axes that go down and across, and the index of every axis; those of the two shown axes are where the table starts."""

    down: int = -1  # -1: there is none, the table has one row
    across: int = -1
    at: tuple[int, ...] = ()

    def turned(self) -> Cut:
        return replace(self, down=self.across, across=self.down)

    def with_axes(self, down: int, across: int) -> Cut:
        """Other axes; the same one twice changes places with the other."""
        if down == across:
            return self.turned()
        return replace(self, down=down, across=across)

    def moved(self, axis: int, index: int) -> Cut:
        return replace(self, at=tuple(index if a == axis else i for a, i in enumerate(self.at)))


def first_cut(shape: Sequence[int]) -> Cut:
    """The last two axes, from the first element of all."""
    rank = len(shape)
    return Cut(rank - 2 if rank > 1 else -1, rank - 1 if rank else -1, (0,) * rank)


def fitting(cut: Cut, shape: Sequence[int]) -> Cut:
    """The same cut where it fits the shape, which may have changed, as of another batch; else the first one."""
    if len(cut.at) != len(shape):
        return first_cut(shape)
    return replace(cut, at=tuple(min(i, max(0, size - 1)) for i, size in zip(cut.at, shape, strict=True)))


def plane_of(values: Array, cut: Cut) -> Array:
    """The whole slice, [rows, columns]."""
    if values.ndim == 0:
        return values.reshape(1, 1)
    shown = (cut.down, cut.across)
    index = tuple(slice(None) if axis in shown else i for axis, i in enumerate(cut.at))
    flat = values[index]
    if cut.down < 0:
        return flat.reshape(1, -1)
    return flat if cut.down < cut.across else flat.T


def start_of(cut: Cut) -> tuple[int, int]:
    """Row and column that the table begins with."""
    return (cut.at[cut.down] if cut.down >= 0 else 0, cut.at[cut.across] if cut.across >= 0 else 0)


def shown(value: object) -> str:
    """A number for a cell of the table."""
    if isinstance(value, float | np.floating):
        number = float(value)
        if number == 0 or not np.isfinite(number):
            return "0" if number == 0 else "NaN" if np.isnan(number) else "+Inf" if number > 0 else "-Inf"
        size = abs(number)
        return f"{number:.4f}" if 1e-3 <= size < 1e3 else f"{number:.5g}" if 1e3 <= size < 1e5 else f"{number:.2e}"
    return str(bool(value)) if isinstance(value, bool | np.bool_) else str(value)


def is_strange(value: object) -> bool:
    """Whether it is NaN or infinite."""
    return isinstance(value, float | np.floating) and not np.isfinite(float(value))


def as_text(plane: Array) -> str:
    """Tabs between columns, as spreadsheets take it; the full precision of the dtype."""
    return "\n".join("\t".join(str(value) for value in row) for row in plane[:COPIED, :COPIED].tolist())


def as_npy(values: Array) -> bytes:
    """What numpy.load reads."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(values), allow_pickle=False)
    return buffer.getvalue()
