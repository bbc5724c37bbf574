"""Rewrites ops to simpler equal ones: identities vanish, constants move together. Gradient rules may then be written plainly.

Only rewrites that change no result by a bit, NaN and infinities included: x * 1 and x + (-0.0) qualify, x * 0 does not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from munet.engine.builder import Builder
from munet.engine.device import DeviceInfo
from munet.engine.ir.module import Module, Op, Value, users


def canonicalise(module: Module, device: DeviceInfo) -> Module:
    made: dict[Value, Op] = {}
    renamed: dict[Value, Value] = {}
    kept: list[Op] = []
    readers, results = users(module.ops), set(module.results())
    pending = list(reversed(module.ops))
    while pending:
        op = pending.pop()
        inputs = tuple(renamed.get(value, value) for value in op.inputs)
        if inputs != op.inputs:
            op = op.with_inputs(inputs)
        product = made.get(op.inputs[0]) if op.operator == "transpose" else None
        if product is not None and product.operator == "matmul" and _swaps(op) and _is_read_once(product, readers, results):
            pending += reversed(_transposed_product(op, product))
            continue
        op = _simpler(op, made)
        same = _same_as_input(op, made)
        if same is not None:
            renamed[op.output] = renamed.get(same, same)
            continue
        kept.append(op)
        made.update(dict.fromkeys(op.outputs, op))
    return module.replace_ops(kept, renamed)


def _number(value: Value, made: dict[Value, Op]) -> float | None:
    """The number that a constant, or an expanded or reshaped constant, holds everywhere."""
    op = made.get(value)
    while op is not None and op.operator in ("expand", "reshape"):
        op = made.get(op.inputs[0])
    return op.params["value"] if op is not None and op.operator == "constant" else None


def _same_as_input(op: Op, made: dict[Value, Op]) -> Value | None:
    """An input that the op only repeats."""
    if op.operator in ("reshape", "flatten", "expand", "stop_gradient") and op.output.shape == op.inputs[0].shape:
        return op.inputs[0]
    if op.operator == "cast" and op.output.dtype is op.inputs[0].dtype:
        return op.inputs[0]
    if op.operator == "transpose" and _axes(op) == tuple(range(op.output.rank)):
        return op.inputs[0]
    if (
        op.operator in ("sum", "mean", "max", "min")
        and op.output.shape == op.inputs[0].shape
        and op.output.element_count == op.inputs[0].element_count
    ):
        return op.inputs[0]
    if op.operator in ("mul", "div", "sub", "add"):
        return _neutral(op, made)
    return None


def _neutral(op: Op, made: dict[Value, Op]) -> Value | None:
    x, y = op.inputs
    right, left = _number(y, made), _number(x, made)
    if x.shape == op.output.shape and (
        (op.operator in ("mul", "div") and right == 1) or (op.operator == "sub" and right == 0 and math.copysign(1, right) > 0)
    ):
        return x
    if op.operator == "mul" and y.shape == op.output.shape and left == 1:
        return y
    return None


def _axes(op: Op) -> tuple[int, ...]:
    return tuple(axis % op.output.rank for axis in op.params["axes"]) or tuple(reversed(range(op.output.rank)))


def _is_read_once(op: Op, readers: Mapping[Value, Sequence[Op]], results: Collection[Value]) -> bool:
    return len(readers.get(op.output, ())) == 1 and op.output not in results


def _swaps(op: Op) -> bool:
    """Whether a transpose exchanges the last two dimensions."""
    rank = op.output.rank
    return rank >= 2 and _axes(op) == (*range(rank - 2), rank - 1, rank - 2)


def _transposed_product(op: Op, product: Op) -> list[Op]:
    """(x y)ᵀ = yᵀ xᵀ: the same products, added in the same order, written where they are wanted.

    A weight's gradient comes so, as layers multiply by the transposed weight.
    """
    b = Builder("transposed")
    with b.active(), b.at_origin(op.origin):
        x, y = (
            b.call("transpose", [value], axes=(*range(value.rank - 2), value.rank - 1, value.rank - 2))
            for value in product.inputs
        )
        b.call("matmul", [y, x])
    last = b.ops[-1]
    return [*b.ops[:-1], replace(last, outputs=op.outputs, origin=product.origin)]


def _simpler(op: Op, made: dict[Value, Op]) -> Op:
    """The same result by a shorter way: views of views in one, element-wise ops on unexpanded constants."""
    before = made.get(op.inputs[0]) if op.inputs else None
    if before is None:
        before_name = ""
    else:
        before_name = before.operator
    if op.operator in ("reshape", "flatten") and before is not None and before_name in ("reshape", "flatten"):
        return replace(op, operator="reshape", inputs=before.inputs, params={"shape": op.output.shape})
    if op.operator == "transpose" and before is not None and before_name == "transpose":
        first, second = _axes(before), _axes(op)
        return replace(op, inputs=before.inputs, params={"axes": tuple(first[axis] for axis in second)})
    if op.operator == "expand" and before is not None and before_name == "expand":
        return replace(op, inputs=before.inputs)
    if op.operator in ("add", "sub", "mul", "div", "maximum", "minimum", "where", "equal", "greater", "less"):
        return _unexpanded(op, made)
    return op


def _unexpanded(op: Op, made: dict[Value, Op]) -> Op:
    """Broadcasting makes expanding one operand needless while another has the result's shape."""
    if not any(value.shape == op.output.shape and _expanded(value, made) is None for value in op.inputs):
        return op
    inputs = tuple(_expanded(value, made) or value for value in op.inputs)
    return op if inputs == op.inputs else op.with_inputs(inputs)


def _expanded(value: Value, made: dict[Value, Op]) -> Value | None:
    op = made.get(value)
    return op.inputs[0] if op is not None and op.operator == "expand" else None
