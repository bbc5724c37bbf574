"""An example for each kind of node, made from its declaration: small inputs in, what really comes out.

    relu      x [-1 0.5 2] → y [0 0.5 2]
    Conv2d    x f32[2 8 8 8] → y f32[2 16 6 6]

Inputs are those of the declaration's `example` if it has one; else small numbers in the shape of its patterns; else those of
the smallest sample; else typical shapes. Numbers are computed by the NumPy reference and shown where they are few and no state
(a weight, a stream of random numbers) has a part in them; otherwise shapes alone are worked out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from munet.engine.builder import Builder
from munet.engine.dtypes import BY_NAME, F32, F64, of_array
from munet.engine.errors import GraphError, ShapeError
from munet.engine.ir.evaluate import run_ops
from munet.engine.ir.module import Source, Value
from munet.engine.kernels import Elementwise
from munet.engine.operator import (
    Array,
    DataSource,
    Declaration,
    Layer,
    Operator,
    Optimiser,
    ParamValue,
    Sample,
    Schedule,
)
from munet.engine.shapes import parse_pattern

MOST_NUMBERS = 12  # in one tensor; of more the shape alone is told
STEPS = (0, 50, 100, 500, 1000)  # at which schedules are looked at
UPDATES = 3  # that an optimiser makes
# Numbers to put in: the first that give finite and different results. None means 1 2 3 ..., for who works on whole tensors.
BOTH_SIGNS, ABOVE_ZERO, WITHIN_ONE, SHARES = (-1.0, 0.5, 2.0), (0.25, 1.0, 4.0), (-0.5, 0.0, 0.75), (0.25, 0.5, 0.75)
WHOLE, TRUTHS = (2, 0, 1), ((True, True, False, False), (True, False, True, False))
FEW = {"n": 2, "m": 2}  # sizes of dimensions where numbers are to be seen; others are 3
TYPICAL = {"n": 2, "c": 8, "h": 8, "w": 8, "l": 16, "t": 5, "s": 6, "d": 8, "e": 8}  # and where not; others are 4

Numbers = tuple[float, ...] | None
Arrays = Mapping[str, Sequence[Array]]  # by socket; several of a variadic one


@dataclass(frozen=True)
class Tensor:
    """What goes in or comes out at a socket. A size is a name where it depends on data; `numbers` is None if they are many."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    numbers: Any = None  # nested lists

    def __str__(self) -> str:
        if self.numbers is not None:
            return f"{self.name} {_text(self.numbers)}"
        return f"{self.name} {self.dtype}[{' '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Example:
    """`params` are all that the node has, but switches that are off."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    params: Mapping[str, ParamValue]

    @property
    def lines(self) -> tuple[str, ...]:
        """As people read it: what goes in → what comes out, and with which parameters."""
        result = ", ".join(map(str, self.outputs))
        first = f"{', '.join(map(str, self.inputs))} → {result}" if self.inputs else result
        given = ", ".join(f"{name} {_text(value)}" for name, value in self.params.items())
        return (first, f"with {given}") if given else (first,)


@cache
def example_of(declared: Declaration) -> Example | None:
    """None for what computes nothing: relays, and what no inputs were found for."""
    match declared:
        case Operator() | Layer():
            return _of_values(declared)
        case Optimiser():
            return _of_optimiser(declared)
        case Schedule():
            params = declared.checked_params({})
            rates = [float(declared.function(step, **params)) for step in STEPS]
            steps = Tensor("step", (len(STEPS),), "i32", list(STEPS))
            return Example((steps,), (Tensor("rate", (len(STEPS),), "f32", rates),), _shown(declared, params))
        case DataSource():
            params = declared.checked_params({})
            known = {name: value for name, value in params.items() if isinstance(value, int)} | {"n": params["batch"]}
            outputs = (
                Tensor(socket, tuple(_sized(word, known) for word in str(output.pattern).split()), str(output.dtype))
                for socket, output in declared.outputs.items()
            )
            return Example((), tuple(outputs), {"batch": params["batch"]})
        case _:
            return None


# -- operators and layers --------------------------------------------------------------------------------------------------


def _of_values(declared: Operator | Layer) -> Example | None:
    """The first trial whose results tell something; else the first that works at all."""
    first: Example | None = None
    for arrays, params, for_numbers in _trials(declared):
        try:
            found, tells = _tried(declared, arrays, params)
        except (ShapeError, GraphError, ArithmeticError, LookupError, TypeError, ValueError):
            continue  # what was made up is not what the node is made for: an index out of range, say
        if tells and not (for_numbers and found.outputs[0].numbers is None):
            return found
        first = first or found
    return first


def _trials(declared: Operator | Layer) -> Iterator[tuple[Arrays, Mapping[str, Any], bool]]:
    """Inputs and parameters to try, the most telling first; and whether they are only worth it if numbers can be shown."""
    if declared.example is not None:
        yield _of_sample(declared, declared.example), declared.example.params, False
        return
    pointwise = isinstance(declared, Operator) and isinstance(declared.kernel, Elementwise)
    sets: tuple[Numbers, ...] = (BOTH_SIGNS, ABOVE_ZERO, WITHIN_ONE) if pointwise else (None, SHARES)
    for numbers in sets:
        yield _made_up(declared, numbers, _few), {}, True
    if isinstance(declared, Operator):
        for sample in sorted(declared.samples, key=_elements):
            yield _of_sample(declared, sample), sample.params, False
    yield _made_up(declared, SHARES, _typical), {}, False


def _elements(sample: Sample) -> int:
    return sum(np.size(part) for value in sample.inputs.values() for part in (value if isinstance(value, list) else [value]))


def _of_sample(declared: Declaration, sample: Sample) -> Arrays:
    many = {name for name, socket in declared.inputs.items() if socket.variadic}
    return {name: [np.asarray(array) for array in (value if name in many else [value])] for name, value in sample.inputs.items()}


def _few(words: Sequence[str], alone: bool) -> tuple[int, ...]:
    """A shape of a few elements; `alone`: no pattern of the node has more than its starred part."""
    return _shaped(words, FEW, 3, (3,) if alone else (2,) if len(words) < 3 else ())


def _typical(words: Sequence[str], alone: bool) -> tuple[int, ...]:
    """A shape as networks have it: a batch of 2, images of 8 x 8."""
    return _shaped(words, TYPICAL, 4, (2, 8) if alone else (2,) if words[:1] and words[0].startswith("*") else (4, 4))


def _shaped(words: Sequence[str], known: Mapping[str, int], other: int, star: tuple[int, ...]) -> tuple[int, ...]:
    shape: list[int] = []
    for word in words:
        shape += star if word.startswith("*") else [int(word) if word.isdecimal() else known.get(word, other)]
    return tuple(shape)


def _sized(word: str, known: Mapping[str, Any]) -> int | str:
    """A word of a source's pattern: a number, or a parameter's, or else the word."""
    return int(word) if word.isdecimal() else known.get(word, word)


def _made_up(declared: Declaration, numbers: Numbers, shaped: Callable[[Sequence[str], bool], tuple[int, ...]]) -> Arrays:
    """Numbers in the shape of each input's pattern; optional inputs get none, variadic ones two tensors."""
    needed = {name: socket for name, socket in declared.inputs.items() if not socket.optional}
    patterns = {name: parse_pattern(socket.pattern) for name, socket in needed.items()}
    alone = all(len(words) == 1 and words[0].startswith("*") for words in patterns.values())
    truths = alone and all(socket.dtype == "bool" for socket in needed.values())
    arrays: dict[str, list[Array]] = {}
    place = 0
    for name, socket in needed.items():
        shape = (4,) if truths else shaped(patterns[name], alone)
        arrays[name] = []
        for _ in range(2 if socket.variadic else 1):
            arrays[name].append(_filled(socket.dtype, shape, numbers, place))
            place += 1
    return arrays


def _filled(dtype: str, shape: tuple[int, ...], numbers: Numbers, place: int) -> Array:
    """Numbers in turn; every second input has them the other way round, or counts from one further on."""
    variable, _, group = dtype.partition(":")
    count = math.prod(shape)
    if variable == "bool":
        row = TRUTHS[place % 2]
        return np.array([row[i % 4] for i in range(count)]).reshape(shape)
    known = BY_NAME.get(variable)
    if group == "integer" or (known is not None and known.is_integer):
        whole = np.array([WHOLE[i % len(WHOLE)] for i in range(count)])
        return whole.astype(known.host if known is not None else np.int32).reshape(shape)
    if numbers is None:
        return np.arange(1.0 + place, 1.0 + place + count).reshape(shape)
    row = numbers[::-1] if place % 2 else numbers
    return np.array([row[i % len(row)] for i in range(count)]).reshape(shape)


def _tried(declared: Operator | Layer, arrays: Arrays, given: Mapping[str, Any]) -> tuple[Example, bool]:
    """The example, and whether its results tell something: finite numbers that are not all alike, nor those that went in."""
    b = Builder("example")
    values: dict[Value, Array] = {}
    wired: dict[str, list[Value]] = {}
    params = declared.checked_params(given)
    with b.active(), b.at(declared.name):
        for name, parts in arrays.items():
            for index, array in enumerate(parts):
                kind = of_array(array)
                source = Source(f"{name} {index}", "data", Value(array.shape, F32 if kind is F64 else kind, name))
                values[b.source(source)] = array
                wired.setdefault(name, []).append(source.value)
        results = _applied(b, declared, wired, params)
    inputs, outputs = [(value.hint, value) for value in values], [*results.items()]
    few = all(value.element_count <= MOST_NUMBERS and value.rank <= 2 for _, value in (*inputs, *outputs))
    if few and len(b.sources) == len(inputs):  # else it has states
        run_ops(b.ops, values)
        tells = _tell(declared, [values[v] for _, v in inputs], [values[v] for _, v in outputs])
    else:
        values, tells = {}, not few
    ins, outs = (tuple(_tensor(name, v, values.get(v)) for name, v in pairs) for pairs in (inputs, outputs))
    return Example(ins, outs, _shown(declared, params, given)), tells


def _applied(
    b: Builder, declared: Operator | Layer, wired: Mapping[str, list[Value]], params: Mapping[str, ParamValue]
) -> Mapping[str, Value]:
    """The outputs by socket."""
    if isinstance(declared, Operator):
        b.add_op(declared, wired, params)
        return dict(zip(declared.outputs, b.ops[-1].outputs, strict=True))
    declared.check_sockets(wired)
    Operator(declared.name, "", declared.inputs, {}, "", declared.function).infer(wired, {})
    arguments = {
        name: tuple(wired.get(name, ())) if socket.variadic else next(iter(wired.get(name, ())), None)
        for name, socket in declared.inputs.items()
    }
    found = declared.function(b, **arguments, **params)
    if isinstance(found, dict):
        return found
    return dict(zip(declared.outputs, found if isinstance(found, tuple) else (found,), strict=True))


def _tell(declared: Declaration, inputs: Sequence[Array], results: Sequence[Array]) -> bool:
    if not all(np.isfinite(array).all() for array in results):
        return False
    pointwise = isinstance(declared, Operator) and isinstance(declared.kernel, Elementwise)
    if not pointwise and len(results) == 1 and any(np.array_equal(array, results[0]) for array in inputs):
        return False
    return any(array.size < 2 or len(np.unique(array)) > 1 for array in results)


def _tensor(name: str, value: Value, array: Array | None) -> Tensor:
    return Tensor(name, value.shape, value.dtype.name, None if array is None else array.tolist())


# -- optimisers --------------------------------------------------------------------------------------------------------------


class _Slots:
    """States of one parameter as values: reading gives the one before the step, or what was assigned."""

    def __init__(self, **values: Value):
        self.__dict__.update(values)


class _Numbers:
    """An optimiser's parameters, as they are."""

    def __init__(self, params: Mapping[str, Any], step: int):
        self.__dict__.update(params, step=step)

    def used(self, name: str) -> bool:
        return bool(self.__dict__[name])


def _of_optimiser(declared: Optimiser) -> Example:
    """A parameter of 1 whose gradient is 0.5 in each step."""
    params = declared.checked_params({})
    held = {"w": np.array(1.0)} | {slot: np.array(0.0) for slot in declared.slots}
    path: list[float] = []
    for step in range(1, UPDATES + 1):
        b = Builder("example")
        with b.active(), b.at(declared.name):
            w, g, *rest = (b.source(Source(name, "data", Value((), F32, name))) for name in ("w", "g", *declared.slots))
            slots = _Slots(**dict(zip(declared.slots, rest, strict=True)))
            updated = declared.function(w, g, slots, _Numbers(params, step))
        values = {w: held["w"], g: np.array(0.5)} | {value: held[slot] for slot, value in zip(declared.slots, rest, strict=True)}
        run_ops(b.ops, values)
        held = {"w": values[updated]} | {slot: values[vars(slots)[slot]] for slot in declared.slots}
        path.append(float(held["w"]))
    inputs = (Tensor("w", (), "f32", 1.0), Tensor("g", (), "f32", 0.5))
    after = f"w after {', '.join(str(step) for step in range(1, UPDATES + 1))} steps"
    return Example(inputs, (Tensor(after, (UPDATES,), "f32", path),), _shown(declared, params))


# -- texts -----------------------------------------------------------------------------------------------------------------


def _shown(declared: Declaration, params: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Those that were given, and others that are neither switches nor off."""
    given = given or {}
    usual = {
        name: value for name, value in params.items() if value and not isinstance(value, bool) and np.any(np.asarray(value) != 0)
    }
    chosen = {name: params[name] for name in declared.params if name in given or name in usual}
    # pairs of pixels stay tuples, of fixed length; axes and shapes are lists
    return {name: value if declared.params[name].default != () else [*value] for name, value in chosen.items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value + 0.0:.4g}"  # -0.0 is told as 0
    if isinstance(value, list):
        return f"[{' '.join(map(_text, value))}]"
    if isinstance(value, tuple):
        return " × ".join(map(str, value))
    return str(value)
