"""Builder: collects ops and sources into a Module. Lowering, layers, gradient rules and optimisers all write through it.

Within `with builder.active():` operators called with values, and arithmetic on values, add ops here. `with builder.at("node"):`
adds a name to the origin of what is added meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from munet.engine.dtypes import BY_NAME, F32, I32, DType
from munet.engine.errors import GraphError, Problem
from munet.engine.hostscalar import HostScalar
from munet.engine.ir.module import BUILDER, Initial, Module, Op, Origin, Shape, Source, Value
from munet.engine.operator import Operator, find

STAMP, FAILED = "_stamp", "_failed"  # columns of the metric ring that the session looks at; see `_hold_states`
STAMP_RANGE = 1 << 20  # step numbers modulo this are exact in f32
FEED_BYTES = 8 << 20  # a ring takes about so much at most
FEWEST_ROWS = 16
FEED_ROWS = 1024  # rings hold at most so many steps ahead; a power of two, so that the modulo is a mask


class Builder:
    """See the module's head. `training` is false while a module for evaluation or prediction is built."""

    def __init__(self, name: str, *, training: bool = True):
        self.name = name
        self.training = training
        self.ops: list[Op] = []
        self.sources: dict[str, Source] = {}
        self._source_names: dict[Value, str] = {}
        self._owners: dict[str, str] = {}  # states' names -> the nodes they belong to
        self.scalars: dict[str, tuple[int, HostScalar]] = {}  # by text: column and value
        self.outputs: dict[str, Value] = {}
        self.recorded: dict[str, Value] = {}
        self.watched: dict[Value, None] = {}
        self._origin: Origin = ()
        self._constants: dict[tuple[float | int | bool, str], Value] = {}
        self._step: Value | None = None
        # stand-ins until the number of columns is known
        self._scalar_feed = Value((FEED_ROWS, 1), F32, "scalars")
        self._scalar_row: Value | None = None

    @property
    def origin(self) -> Origin:
        return self._origin

    @contextmanager
    def at(self, *names: str) -> Iterator[None]:
        before = self._origin
        self._origin = (*before, *names)
        try:
            yield
        finally:
            self._origin = before

    @contextmanager
    def at_origin(self, origin: Origin) -> Iterator[None]:
        """Set the whole origin for a while; gradients file their ops under the op they belong to."""
        before, self._origin = self._origin, origin
        try:
            yield
        finally:
            self._origin = before

    @contextmanager
    def active(self) -> Iterator[Builder]:
        token = BUILDER.set(self)
        try:
            yield self
        finally:
            BUILDER.reset(token)

    # -- ops ---------------------------------------------------------------------------------------------------------

    def call(self, operator: str, operands: Sequence[Any], **params: Any) -> Value:
        """An operator by its name, for code that stands below the nodes; this builder must be active."""
        declared = find(operator)
        assert isinstance(declared, Operator)
        return declared(*operands, **params)

    def add_op(self, operator: Operator, inputs: Mapping[str, Sequence[Any]], params: Mapping[str, Any]) -> Any:
        """One op; numbers among the inputs become constants of the dtype of the values beside them.

        Returns the output value, or a tuple when there are several. Raises ShapeError.
        """
        operator.check_sockets(name for name, values in inputs.items() if values)
        dtypes = _dtypes_of_numbers(operator, inputs)
        ordered = {
            name: [self.as_value(value, dtypes[name]) for value in inputs[name]] for name in operator.inputs if inputs.get(name)
        }
        checked = operator.checked_params(params)
        outputs = tuple(
            Value(shape, dtype, name if len(operator.outputs) > 1 else operator.name)
            for name, (shape, dtype) in zip(operator.outputs, operator.infer(ordered, checked), strict=True)
        )
        op = Op(
            operator.name,
            tuple(value for values in ordered.values() for value in values),
            outputs,
            tuple(name for name, values in ordered.items() for _ in values),
            checked,
            origin=self._origin,
        )
        self.ops.append(op)
        return outputs[0] if len(outputs) == 1 else outputs

    def as_value(self, value: Any, dtype: DType) -> Value:
        """A value as it is; a number as a constant of `dtype`; a host scalar as a column of the step's scalars."""
        if isinstance(value, Value):
            return value
        if isinstance(value, HostScalar):
            return self.scalar(value)
        if isinstance(value, bool | int | float):
            return self.constant(value, dtype)
        raise TypeError(f"{value!r} is neither a value nor a number")

    def constant(self, number: float | int | bool, dtype: DType = F32) -> Value:
        key = (number, dtype.name)
        if key not in self._constants:
            with self.at_origin(()):
                self._constants[key] = self._op("constant", {}, {"value": float(number), "dtype": dtype.name})
        return self._constants[key]

    def _op(self, name: str, inputs: Mapping[str, Sequence[Value]], params: Mapping[str, Any] | None = None) -> Any:
        declared = find(name)
        assert isinstance(declared, Operator)
        return self.add_op(declared, inputs, params or {})

    # -- sources -----------------------------------------------------------------------------------------------------

    def source(self, source: Source) -> Value:
        if source.name in self.sources:
            raise ValueError(f"two sources are called {source.name!r}")
        self.sources[source.name] = source
        self._source_names[source.value] = source.name
        return source.value

    def state(self, name: str, shape: Shape, *, initial: Initial, group: str, dtype: DType = F32) -> Value:
        """A state called `name` under the current origin; one asked for again (a shared layer) is the same state."""
        path = "/".join((*self._origin, name)) if self._origin else name
        owner = self._origin[0] if self._origin else ""
        if self._owners.setdefault(path, owner) != owner:  # ids may hold "/"
            found = f'its state "{path}" is called like one of "{self._owners[path]}"'
            raise GraphError(Problem("ambiguous-state", found, "states have different names", "rename one of the nodes"))
        if path in self.sources:
            return self.sources[path].value
        return self.source(Source(path, "state", Value(shape, dtype, path), group, initial=initial))

    def parameter(self, name: str, shape: Shape, initial: Initial) -> Value:
        """A trainable parameter, "<node>/<name>"."""
        return self.state(name, shape, initial=initial, group="parameter")

    def set_result(self, state: Value, result: Value) -> None:
        """Say what a state is after the step."""
        name = self._source_names[state]
        self.sources[name] = replace(self.sources[name], result=result)

    def feed(self, name: str, row_shape: Shape, dtype: DType) -> Value:
        """This step's row of a ring that the host fills ahead. Large rows get a shorter ring."""
        row_bytes = max(math.prod(row_shape) * dtype.stored_bits // 8, 1)
        rows = min(FEED_ROWS, max(FEWEST_ROWS, 1 << (FEED_BYTES // row_bytes).bit_length() >> 1))
        ring = self.source(Source(name, "feed", Value((rows, *row_shape), dtype, name)))
        return self._op("take_row", {"x": [ring], "step": [self.step]})

    @property
    def step(self) -> Value:
        """The number of steps done so far, i32; a state of the program, advanced at the end of each step."""
        if self._step is None:
            with self.at_origin(()):
                self._step = self.state(f"{self.name}/step", (), initial=Initial("zeros"), group="control", dtype=I32)
        return self._step

    def scalar(self, value: HostScalar) -> Value:
        """A host scalar as a rank-0 value of this step."""
        if value.text not in self.scalars:
            self.scalars[value.text] = (len(self.scalars), value)
        row = self._scalar_row
        if row is None:
            with self.at_origin(()):
                row = self._scalar_row = self._op("step_scalars", {"x": [self._scalar_feed], "step": [self.step]})
        return self._op("take_scalar", {"x": [row]}, {"column": self.scalars[value.text][0]})

    def record(self, name: str, value: Value) -> None:
        """Put a rank-0 f32 value into the metric ring under `name`."""
        self.recorded[name] = value

    def watch(self, value: Value) -> None:
        """Should the value ever not be finite, no state changes in that step or after it, until the host has looked."""
        self.watched[value] = None

    def _hold_states(self, now: Value) -> None:
        """Every state keeps its old value while the flag is up. The ring tells the host: by a stamp, whether a step wrote its
        row at all, and by the flag, whether that step failed."""
        flag = self.state(f"{self.name}/failed", (), initial=Initial("zeros"), group="control", dtype=I32)
        raised = self._op("watch", {"flag": [flag], "values": list(self.watched)})
        failed = raised > 0
        for name, source in self.sources.items():
            if source.result is not None:
                owner = self._owners.get(name, "")
                with self.at_origin((owner,) if owner and not name.startswith(f"{self.name}/") else ()):
                    held = self._op("where", {"test": [failed], "x": [source.value], "y": [source.result]})
                self.sources[name] = replace(source, result=held)
        self.set_result(flag, raised)
        self.record(STAMP, self._op("cast", {"x": [self.call("mod", [now, STAMP_RANGE]) + 1]}, {"dtype": "f32"}))
        self.record(FAILED, self._op("cast", {"x": [raised]}, {"dtype": "f32"}))

    # -- the end -----------------------------------------------------------------------------------------------------

    def _end_step(self) -> None:
        if not self.recorded and not self.watched:
            if self._step is not None:
                self.set_result(self._step, self._step + 1)
            return
        # The ring is written last; if it read the counter itself, that could only advance in one more pass behind.
        now = self._op("set_aside", {"x": [self.step]})
        self.set_result(self.step, self.step + 1)
        if self.watched:
            self._hold_states(now)
        shape = (FEED_ROWS, len(self.recorded))
        ring = self.state(f"{self.name}/records", shape, initial=Initial("zeros"), group="records")
        self.set_result(ring, self._op("write_row", {"ring": [ring], "step": [now], "values": list(self.recorded.values())}))

    def finish(self) -> Module:
        """The module: with the metric ring written and the step counter advanced. Expects to be active."""
        with self.at_origin(()):
            self._end_step()
        ops = self.ops
        if self._scalar_row is not None:
            feed, row = Value((FEED_ROWS, len(self.scalars)), F32, "scalars"), Value((len(self.scalars),), F32, "scalars")
            self.sources["scalars"] = Source("scalars", "feed", feed)
            ops = [_with_values(op, {self._scalar_feed: feed, self._scalar_row: row}) for op in ops]
        return Module(self.name, tuple(ops), tuple(self.sources.values()), dict(self.outputs), tuple(self.recorded))


def _with_values(op: Op, renamed: Mapping[Value, Value]) -> Op:
    if not any(value in renamed for value in (*op.inputs, *op.outputs)):
        return op
    return replace(op, inputs=tuple(renamed.get(v, v) for v in op.inputs), outputs=tuple(renamed.get(v, v) for v in op.outputs))


def _dtypes_of_numbers(operator: Operator, inputs: Mapping[str, Sequence[Any]]) -> dict[str, DType]:
    """For each input the dtype that a plain number takes there: that of the values sharing its dtype variable, else f32."""
    known: dict[str, DType] = {}
    variables = {name: declared.dtype.partition(":")[0] for name, declared in operator.inputs.items()}
    for name, values in inputs.items():
        for value in values:
            if isinstance(value, Value):
                known.setdefault(variables[name], value.dtype)
    return {name: BY_NAME.get(variable) or known.get(variable, F32) for name, variable in variables.items()}
