"""Runs a module op by op in NumPy, unplanned: the judge of every transform, gradient and kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from munet.engine.dtypes import F32
from munet.engine.ir.module import Module, Op, Region, Value
from munet.engine.operator import Array, operator_of


def run_op(op: Op, inputs: Sequence[Array]) -> list[Array]:
    """The op's results; a fused op is interpreted by its body, a packed one by its bodies in turn.

    The inputs of a packed op's regions are among the op's own; its outputs are those of the regions, one after the other.
    """
    if len(op.regions) == 1:
        return run_region(op.regions[0], inputs)
    if op.regions:
        given_values = dict(zip(op.inputs, inputs, strict=True))
        return [array for region in op.regions for array in run_region(region, [given_values[v] for v in region.inputs])]
    declared = operator_of(op)
    arguments: list[Any] = []
    given = dict[str, list[Array]]()
    for socket, array in zip(op.sockets, inputs, strict=True):
        given.setdefault(socket, []).append(array)
    variadic: list[Array] | None = None
    for name, socket in declared.inputs.items():
        if socket.variadic:
            variadic = given.get(name, [])
        else:
            arguments.append(given[name][0] if name in given else None)
    if variadic is not None:
        arguments += variadic
    with np.errstate(all="ignore"):
        result = declared.reference(*arguments, **op.params)
    results: list[Any] = [*result] if isinstance(result, tuple) else [result]
    return [_as_declared(value, array, inputs) for value, array in zip(op.outputs, results, strict=True)]


def _as_declared(value: Value, array: Any, inputs: Sequence[Array]) -> Array:
    """The declared dtype; float results stay double when the inputs are, so that the judge is more exact than the judged."""
    array = np.asarray(array)
    if value.dtype is F32 and array.dtype == np.float64 and (any(x.dtype == np.float64 for x in inputs) or not inputs):
        return array
    return array.astype(value.dtype.host, copy=False)


def run_region(region: Region, inputs: Sequence[Array]) -> list[Array]:
    values: dict[Value, Array] = dict(zip(region.inputs, inputs, strict=True))
    run_ops(region.ops, values)
    return [values[value] for value in region.outputs]


def run_ops(ops: Sequence[Op], values: dict[Value, Array]) -> None:
    for op in ops:
        for value, array in zip(op.outputs, run_op(op, [values[v] for v in op.inputs]), strict=True):
            values[value] = array


def evaluate(module: Module, sources: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
    """One step: arrays of all sources by name in; outputs by name, and states after the step by name, out.

    Give f64 arrays for f32 sources to judge in double precision.
    """
    values = {source.value: np.asarray(sources[source.name]) for source in module.sources}
    run_ops(module.ops, values)
    outputs = {name: values[value] for name, value in module.outputs.items()}
    states = {s.name: values[s.result if s.result is not None else s.value] for s in module.states}
    return outputs, states
