"""Module, Op and Value: the whole intermediate representation, as frozen data.

A module is a list of single-assignment ops in an order that can be run. Values are compared by identity, so
a transform that changes an op makes new ops and values and leaves the old module untouched.

Every buffer that outlives a step, or that the host fills, enters through a named `Source` of the module:

    state   survives the step: parameters, moments, counters, metric rings; its `result` is the value after the step
    data    a data set, resident on the device
    feed    a ring of rows that the host fills ahead of the steps: live scalars, the batch order

A fused op is an op whose region is its body; the CPU executor interprets the very same body.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

from munet.engine.dtypes import DType

Shape = tuple[int, ...]
Origin = tuple[str, ...]  # path of names from the drawing: subgraph instance, node, part of it

ParamValue = Any  # None, bool, int, float, str, or tuples of these: hashable, checked by operator.py
Operand = Any  # a Value, a number, or a host scalar
NO_PARAMS: Mapping[str, ParamValue] = MappingProxyType({})


class BuilderLike(Protocol):
    """What `Value`'s arithmetic needs of a builder; `builder.py` has the real one."""

    def call(self, operator: str, operands: Sequence[Any]) -> Value: ...

    def add_op(self, operator: Any, inputs: Mapping[str, Sequence[Any]], params: Mapping[str, Any]) -> Any: ...


BUILDER: ContextVar[BuilderLike] = ContextVar("builder")


def current_builder() -> BuilderLike:
    """The builder that ops are being added to; raises RuntimeError outside of building."""
    try:
        return BUILDER.get()
    except LookupError:
        raise RuntimeError("no module is being built here: ops can only be added inside `with builder.active():`") from None


def _emit(operator: str, *operands: Any) -> Value:
    return current_builder().call(operator, operands)


@dataclass(frozen=True, eq=False)
class Value:
    """The result of an op, a source or a region input: static shape, dtype, and a name hint for people."""

    shape: Shape
    dtype: DType
    hint: str = ""

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def element_count(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes in a device buffer, before any alignment."""
        return (self.element_count * self.dtype.stored_bits + 7) // 8

    def __repr__(self) -> str:
        return f"{self.hint or 'value'}:{self.dtype}{list(self.shape)}"

    # Arithmetic adds ops to the current builder, so that layers and gradient rules read like formulas.
    def __add__(self, other: Operand) -> Value:
        return _emit("add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return _emit("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return _emit("sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return _emit("sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return _emit("mul", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return _emit("mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return _emit("div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return _emit("div", other, self)

    def __neg__(self) -> Value:
        return _emit("neg", self)

    def __pow__(self, other: Operand) -> Value:
        return _emit("pow", self, other)

    def __lt__(self, other: Operand) -> Value:
        return _emit("less", self, other)

    def __gt__(self, other: Operand) -> Value:
        return _emit("greater", self, other)


@dataclass(frozen=True, eq=False)
class Region:
    """A body held by an op: its own inputs, ops in running order, and the values it gives back."""

    inputs: tuple[Value, ...]
    ops: tuple[Op, ...]
    outputs: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Op:
    """One use of an operator.

    `sockets[i]` names the declared input that `inputs[i]` is wired to: an absent optional input is simply not
    listed, a variadic one is listed several times. Ops made by transforms (with regions) leave `sockets` empty.
    """

    operator: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    sockets: tuple[str, ...] = ()
    params: Mapping[str, ParamValue] = field(default_factory=lambda: NO_PARAMS)
    regions: tuple[Region, ...] = ()
    origin: Origin = ()

    @property
    def output(self) -> Value:
        """The only output; for ops that have exactly one."""
        (value,) = self.outputs
        return value

    def socket(self, name: str) -> Value | None:
        """The value wired to the input `name`, None if it is absent."""
        for socket, value in zip(self.sockets, self.inputs, strict=True):
            if socket == name:
                return value
        return None

    def sockets_named(self, name: str) -> tuple[Value, ...]:
        """All values wired to the variadic input `name`, in order."""
        return tuple(value for socket, value in zip(self.sockets, self.inputs, strict=True) if socket == name)

    def with_inputs(self, inputs: Sequence[Value]) -> Op:
        return replace(self, inputs=tuple(inputs))

    def __repr__(self) -> str:
        return f"<{self.operator} {'/'.join(self.origin)}>"


@dataclass(frozen=True, eq=False)
class Source:
    """A named buffer that enters the module; see the module's head for the three roles.

    `group` says which sources lie together in one arena, in order of declaration: all parameters, all first
    moments ... have the same layout then, which lets one pass update them all.
    """

    name: str
    role: str  # "state", "data" or "feed"
    value: Value
    group: str = ""
    result: Value | None = None  # states only: the value after the step; None = only read here
    initial: Initial | None = None  # states only: how it starts

    def __post_init__(self) -> None:
        if self.role not in ("state", "data", "feed"):
            raise ValueError(f"unknown role {self.role!r} of source {self.name!r}")


@dataclass(frozen=True)
class Initial:
    """How a state starts: `kind` names a rule of `munet/engine/initial.py`, `args` its numbers; drawn on the host."""

    kind: str
    args: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Module:
    """What one step computes. `outputs` are read back only when asked for; `records` go into the metric ring."""

    name: str
    ops: tuple[Op, ...]
    sources: tuple[Source, ...]
    outputs: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    records: tuple[str, ...] = ()  # names of the metric ring's columns

    @property
    def states(self) -> tuple[Source, ...]:
        return tuple(source for source in self.sources if source.role == "state")

    def source(self, name: str) -> Source:
        for source in self.sources:
            if source.name == name:
                return source
        raise KeyError(name)

    def results(self) -> Iterator[Value]:
        """Every value that must exist after the step: state results, then outputs."""
        for source in self.sources:
            if source.result is not None:
                yield source.result
        yield from self.outputs.values()

    def replace_ops(self, ops: Sequence[Op], renamed: Mapping[Value, Value] | None = None) -> Module:
        """The same module with other ops; results that `renamed` maps are followed to their new values."""
        renamed = renamed or {}

        def follow(value: Value) -> Value:
            while value in renamed:
                value = renamed[value]
            return value

        sources = tuple(
            source if source.result is None else replace(source, result=follow(source.result)) for source in self.sources
        )
        outputs = {name: follow(value) for name, value in self.outputs.items()}
        return replace(self, ops=tuple(ops), sources=sources, outputs=outputs)


def users(ops: Sequence[Op]) -> dict[Value, list[Op]]:
    """For each value the ops that read it, in running order, each op once."""
    table: dict[Value, list[Op]] = {}
    for op in ops:
        for value in dict.fromkeys(op.inputs):
            table.setdefault(value, []).append(op)
    return table


def producers(ops: Sequence[Op]) -> dict[Value, Op]:
    """For each value the op that makes it."""
    return {value: op for op in ops for value in op.outputs}


def in_running_order(ops: Sequence[Op]) -> list[Op]:
    """The ops so that each comes after those it reads, otherwise in the order given."""
    made = producers(ops)
    done: dict[Op, None] = {}
    for root in ops:
        stack: list[tuple[Op, bool]] = [(root, False)]
        while stack:
            op, ready = stack.pop()
            if op in done:
                continue
            if ready:
                done[op] = None
            else:
                stack.append((op, True))
                stack += [(made[v], False) for v in reversed(op.inputs) if v in made and made[v] not in done]
    return list(done)
