"""Reverse-mode differentiation on the IR: gradients(builder, loss, wrt) -> values, as often as wanted, also of gradients.

Rules are data on the operators and return IR, so what they give is fused and planned like everything else. Done here once and
for all: adding up the cotangents of several uses, summing over broadcast dimensions, and leaving out what no `wrt` depends on.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from munet.engine.builder import Builder
from munet.engine.errors import GraphError, Problem
from munet.engine.ir.module import Op, Value
from munet.engine.operator import NotDifferentiable, Operator, fault_at, find, operator_of


def gradients(b: Builder, loss: Value, wrt: Sequence[Value]) -> list[Value]:
    """d loss / d each of `wrt`, with the shape of each; zeros where the loss does not depend on it.

    `loss` has one element. The builder must be active; ops are added under the origin of the op they belong to.
    Raises GraphError when the way from `wrt` to the loss leads through something without a gradient.
    """
    if loss.element_count != 1 or not loss.dtype.is_float:
        raise GraphError(
            Problem(
                "loss-shape",
                f"the loss has shape {list(loss.shape)} and dtype {loss.dtype}",
                rule="a loss is a single float",
                cure="a mean or sum before it",
            )
        )
    ops = list(b.ops)  # rules add ops to b.ops while we walk
    needed = _depend_on(ops, wrt)
    cotangents: dict[Value, Value] = {loss: _ones(b, loss)}
    for op in reversed(ops):
        incoming = [cotangents.get(value) for value in op.outputs]
        if all(g is None for g in incoming) or not any(value in needed for value in op.inputs):
            continue
        with b.at_origin((*op.origin, "gradient")):
            for value, g in _apply_rule(b, op, incoming):
                if value in needed and g is not None:
                    g = sum_to(g, value.shape)
                    cotangents[value] = cotangents[value] + g if value in cotangents else g
    return [cotangents[value] if value in cotangents else _zeros(b, value) for value in wrt]


def depends(b: Builder, loss: Value, wrt: Sequence[Value]) -> bool:
    """Whether a change of any of `wrt` moves the loss, as far as derivatives can tell."""
    return loss in _depend_on(b.ops, wrt)


def depending(b: Builder, wrt: Sequence[Value]) -> set[Value]:
    """All floats whose derivatives by `wrt` may differ from 0, `wrt` included."""
    return _depend_on(b.ops, wrt)


def values_behind(b: Builder, value: Value) -> set[Value]:
    """All values that `value` is computed from."""
    reached = {value}
    for op in reversed(b.ops):
        if any(output in reached for output in op.outputs):
            reached.update(op.inputs)
    return reached


def _depend_on(ops: Sequence[Op], wrt: Sequence[Value]) -> set[Value]:
    """All floats that depend on one of `wrt`, these included; whole numbers and truth values have no derivative."""
    reached = set(wrt)
    for op in ops:
        if any(value in reached for value in op.inputs):
            reached.update(value for value in op.outputs if value.dtype.is_float)
    return reached


def _apply_rule(b: Builder, op: Op, incoming: Sequence[Value | None]) -> list[tuple[Value, Value | None]]:
    declared = operator_of(op)
    rule = declared.gradient_rule
    if rule is None or isinstance(rule, NotDifferentiable):
        reason = rule.reason if rule else "nobody has written one yet"
        raise GraphError(
            Problem(
                "no-gradient",
                f"{declared.name} has no gradient: {reason}",
                cure="a stop_gradient before it, or another operator",
                node=op.origin[0] if op.origin else "",
            )
        )
    arguments = _arguments(declared, op, incoming)
    grads = rule(**{name: arguments[name] for name in inspect.signature(rule).parameters})
    pairs: list[tuple[Value, Value | None]] = []
    for socket, given in grads.items():
        if socket not in declared.inputs:
            known = ", ".join(declared.inputs) or "none"
            message = f"the gradient of {declared.name} names {socket!r}, which is no input of it; its inputs: {known}"
            raise fault_at(rule, message)
        values = op.sockets_named(socket)
        listed: Sequence[Value | None] = given if isinstance(given, list | tuple) else [given] * len(values)  # type: ignore[assignment]
        if len(listed) != len(values):
            raise fault_at(rule, f"the gradient of {declared.name} gives {len(listed)} values for {len(values)} of {socket!r}")
        pairs += zip(values, listed, strict=True)
    return pairs


def _arguments(declared: Operator, op: Op, incoming: Sequence[Value | None]) -> dict[str, Any]:
    arguments: dict[str, Any] = dict(op.params)
    for name, socket in declared.inputs.items():
        arguments[name] = op.sockets_named(name) if socket.variadic else op.socket(name)
    for name, value in zip(declared.outputs, op.outputs, strict=True):
        arguments.setdefault(name, value)
    arguments["g"] = incoming[0] if len(op.outputs) == 1 else tuple(incoming)
    return arguments


def sum_to(g: Value, shape: tuple[int, ...]) -> Value:
    """Undo broadcasting: sum over the dimensions that `shape` lacks or has as 1."""
    if g.shape == shape:
        return g
    lead = g.rank - len(shape)
    axes = tuple(range(lead)) + tuple(lead + axis for axis, size in enumerate(shape) if size == 1 and g.shape[lead + axis] != 1)
    summed = _call("sum", g, axes=axes, keepdims=False) if axes else g
    return summed if summed.shape == shape else _call("reshape", summed, shape=shape)


def _call(name: str, *args: Any, **params: Any) -> Value:
    declared = find(name)
    assert isinstance(declared, Operator)
    return declared(*args, **params)


def _ones(b: Builder, like: Value) -> Value:
    one = b.constant(1.0, like.dtype)
    return one if like.shape == () else _call("expand", one, shape=like.shape)


def _zeros(b: Builder, like: Value) -> Value:
    zero = b.constant(0.0, like.dtype)
    return zero if like.shape == () else _call("expand", zero, shape=like.shape)
