"""What kind of kernel an op becomes: its body, the space it runs over, its kind. Read off the op, never stored twice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from munet.engine.coordinates import Coordinates, Indices, kernel_of
from munet.engine.ir.module import Op, Region, Shape, Value
from munet.engine.kernels import Contraction, Reduction, Site, Update, reduced_axes


@dataclass(frozen=True, eq=False)
class Form:
    """`kind`: "map", "reduction", "contraction" or "update"; `space` and `axes` as in `Coordinates`."""

    kind: str
    space: Shape
    axes: tuple[int, ...]
    ops: tuple[Op, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @property
    def rows(self) -> int:
        return math.prod(size for axis, size in enumerate(self.space) if axis not in self.axes)

    @property
    def columns(self) -> int:
        return math.prod(self.space[axis] for axis in self.axes)

    def coordinates(self, full: Indices | None = None) -> Coordinates:
        """Coordinates of all results; raises ValueError if one does not lie in the space: a fault of fusion."""
        where = Coordinates("reduction" if self.kind == "reduction" else self.kind, self.space, self.axes, full)
        for op in self.ops:
            where.follow(op)
        for value in self.outputs:
            if value not in where.at and self.kind != "update":
                raise ValueError(f"{value} does not lie in the space {self.space} of its kernel")
        return where


def form_of(op: Op) -> Form:
    """The form of a fused or a plain op (not of a packed one: see `flattened`)."""
    if len(op.regions) > 1:
        raise ValueError("a packed op has a form only once flattened")
    ops = op.regions[0].ops if op.regions else (op,)
    if op.regions and "kind" in op.params:
        kind = "map" if op.params["kind"] == "step" else str(op.params["kind"])
        return Form(kind, op.params["space"], op.params["axes"], ops, op.inputs, op.outputs)
    kernel = kernel_of(op)
    match kernel:
        case Reduction():
            shape = op.inputs[0].shape
            return Form("reduction", shape, reduced_axes(op.params["axes"], len(shape)), ops, op.inputs, op.outputs)
        case Contraction():
            return Form("contraction", op.output.shape, (), ops, op.inputs, op.outputs)
        case Update():
            return Form("update", kernel.space(Site(op)), (), ops, op.inputs, op.outputs)
        case _:
            return Form("map", op.outputs[0].shape, (), ops, op.inputs, op.outputs)


def is_packed(op: Op) -> bool:
    return len(op.regions) > 1


def flattened(region: Region, count: int) -> tuple[Op, Mapping[Value, Value]]:
    """An element-wise body over one long row of `count` elements instead of its own shape; scalars stay scalars.

    Gives the new op and, for each value of the region, its flat stand-in.
    """
    flat: dict[Value, Value] = {}

    def stand_in(value: Value) -> Value:
        if value not in flat:
            flat[value] = Value((count,), value.dtype, value.hint) if value.rank and value.shape == shape else value
        return flat[value]

    shape = region.outputs[0].shape
    ops = tuple(
        replace(op, inputs=tuple(map(stand_in, op.inputs)), outputs=tuple(map(stand_in, op.outputs))) for op in region.ops
    )
    inputs, outputs = tuple(map(stand_in, region.inputs)), tuple(map(stand_in, region.outputs))
    params = {"kind": "map", "space": (count,), "axes": ()}
    return Op("fused", inputs, outputs, params=params, regions=(Region(inputs, ops, outputs),)), flat
