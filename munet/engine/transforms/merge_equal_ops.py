"""Merges ops that compute the same: equal operator, inputs and parameters (common subexpressions)."""

from __future__ import annotations

from typing import Any

from munet.engine.device import DeviceInfo
from munet.engine.ir.module import Module, Op, Value


def merge_equal_ops(module: Module, device: DeviceInfo) -> Module:
    renamed: dict[Value, Value] = {}
    first: dict[Any, Op] = {}
    kept: list[Op] = []
    for op in module.ops:
        inputs = tuple(renamed.get(value, value) for value in op.inputs)
        if inputs != op.inputs:
            op = op.with_inputs(inputs)
        key = (op.operator, tuple(id(value) for value in inputs), op.sockets, tuple(op.params.items()))
        same = None if op.regions else first.setdefault(key, op)
        if same is None or same is op:
            kept.append(op)
        else:
            renamed |= dict(zip(op.outputs, same.outputs, strict=True))
    return module.replace_ops(kept, renamed)
