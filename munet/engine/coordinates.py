"""Where the elements of a kernel's values lie in the space it runs over.

A kernel runs over a `space`, a shape. Most of its values have that very shape. Views that only move elements put theirs
elsewhere; in a kernel over rows some values have one number a row. Fusion asks whether ops read each other place for place,
planning whether a result may overwrite an input, code generation at which index to pull and store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from munet.engine.index import Index, var
from munet.engine.ir.module import Op, Shape, Value
from munet.engine.kernels import KernelKind, Site, View
from munet.engine.operator import operator_of
from munet.engine.scalar import Expr, Load, loads

Indices = tuple[Index, ...]


def kernel_of(op: Op) -> KernelKind:
    """The kernel of an op made by an operator."""
    kernel = operator_of(op).kernel
    assert kernel is not None
    return kernel


def identity_element(op: Op) -> Expr:
    """The op's element at plain coordinates of its first result."""
    shape = op.outputs[0].shape
    return kernel_of(op).element(Site(op), 0, tuple(var(f"i{axis}", size) for axis, size in enumerate(shape)))


class Coordinates:
    """For each value of a kernel that lies in its space, its index as a function of the space's.

    `kind` is the kernel's; for "reduction" the `axes` of the space are the columns, the others the rows.
    """

    def __init__(self, kind: str, space: Shape, axes: Sequence[int] = (), full: Indices | None = None):
        self.kind, self.space, self.axes = kind, space, tuple(axes)
        self.full = full or tuple(var(f"s{axis}", size) for axis, size in enumerate(space))
        self.at: dict[Value, Indices] = {}
        self.row_values: set[Value] = set()

    def copy(self) -> Coordinates:
        """The same coordinates, to try something on."""
        other = Coordinates(self.kind, self.space, self.axes, self.full)
        other.at, other.row_values = dict(self.at), set(self.row_values)
        return other

    def follow(self, op: Op) -> bool:
        """Give the op's results their coordinates; False when they do not lie in the space."""
        kernel = kernel_of(op)
        first = op.inputs[0] if op.inputs else None
        if isinstance(kernel, View) and kernel.inverse is not None and first in self.at:
            self.at[op.output] = kernel.inverse(Site(op), self.at[first])
            if self.is_row_value(first):
                self.row_values.add(op.output)
            return True
        for value in op.outputs:
            known = [self.at[v] for v in op.inputs if v in self.at and v.shape == value.shape]
            coordinates = known[0] if known and self.kind != "reduction" else self._place(value.shape)
            if coordinates is None:
                return False
            self.at[value] = coordinates
            if self.kind == "reduction" and value.shape != self.space:
                self.row_values.add(value)
        return True

    def is_row_value(self, value: Value) -> bool:
        """Whether a value of a kernel over rows has one number a row."""
        return value in self.row_values

    def _place(self, shape: Shape) -> Indices | None:
        if shape == self.space:
            return self.full
        if self.kind != "reduction":
            return None
        kept = [axis for axis in range(len(self.space)) if axis not in self.axes]
        if shape == tuple(self.space[axis] for axis in kept):
            return tuple(self.full[axis] for axis in kept)
        if shape == tuple(1 if axis in self.axes else size for axis, size in enumerate(self.space)):
            return tuple(Index(0) if axis in self.axes else self.full[axis] for axis in range(len(self.space)))
        return None

    def aligned(self, op: Op, floating: Callable[[Value], Op | None], read: dict[tuple[Op, Indices], tuple[Load, ...]]) -> bool:
        """Whether the op, at its coordinates, loads every value that has coordinates there at just those.

        `floating` gives the op of a value that is computed where it is read; `read` keeps what ops load, from call to call.
        """
        pending: list[tuple[Op, Indices]] = [(op, self.at[op.outputs[0]])]
        seen: set[tuple[Op, Indices]] = set()
        while pending:
            current, index = pending.pop()
            if (current, index) in seen:
                continue
            seen.add((current, index))
            if (current, index) not in read:
                read[current, index] = tuple(loads(kernel_of(current).element(Site(current), 0, index)))
            for load in read[current, index]:
                if load.value in self.at:
                    if not self._same_place(load.index, self.at[load.value]):
                        return False
                elif (producer := floating(load.value)) is not None:
                    pending.append((producer, load.index))
        return True

    def _same_place(self, found: Indices, expected: Indices) -> bool:
        if self.kind != "reduction":
            return found == expected
        # Another column of the same row may be computed anew in a kernel over rows, so only the row must agree.
        columns = {atom for axis in self.axes for atom, _ in self.full[axis].terms}
        return all(
            got == want or any(atom in columns for atom, _ in want.terms) for got, want in zip(found, expected, strict=True)
        )
