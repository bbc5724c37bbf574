"""Interprets scalar expressions with NumPy: judges what kernels say about themselves, without a GPU.

Many elements at once: a variable stands for an array of its values, one for each element that is asked for. A condition
narrows the elements before the taken side is evaluated, so every load can be held to its promise of being in range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from munet.engine import philox
from munet.engine.dtypes import BOOL, DType
from munet.engine.index import Index, Loaded, Quotient, Var, Within, var
from munet.engine.ir.module import Op, Shape, Value
from munet.engine.kernels import Site, Update
from munet.engine.operator import operator_of
from munet.engine.scalar import Apply, Divides, Expr, Fold, InRange, Literal, Load, Position, Where

Array = np.ndarray[Any, Any]

SIGNS: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal, "and": np.logical_and, "or": np.logical_or,
    "xor": np.logical_xor, "not": np.logical_not, "negate": np.negative, "&": np.bitwise_and, "|": np.bitwise_or,
    "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift,
}  # fmt: skip


def _words(a: Array, b: Array, step: Array, element: Array) -> Array:
    """All elements of a stream have one key and one step."""
    key, steps = (int(a.flat[0]), int(b.flat[0])), int(step.flat[0])
    return philox.random_words(key, steps, element) if element.size else np.zeros((0, 4), np.uint32)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
    "softplus": lambda x: np.logaddexp(0, x),
    "round": np.rint,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "max": np.maximum, "min": np.minimum, "pow": np.power, "atan2": np.arctan2, "floordiv": np.floor_divide,
    "erf": np.frompyfunc(math.erf, 1, 1),
    "random_bits": lambda a, b, step, element: _words(a, b, step, element)[..., 0],
    "random_uniform": lambda a, b, step, element: philox.to_uniform(_words(a, b, step, element)[..., 0]),
    "random_normal": lambda a, b, step, element: philox.to_normal(_words(a, b, step, element)),
    "clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
}  # fmt: skip
FOLDS: dict[str, Callable[..., Any]] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class Elements:
    """The elements being worked on: arrays of all values by `Value`, and the value of each variable for each element."""

    arrays: Mapping[Value, Array]
    variables: Mapping[Var, Array]
    count: int

    def where(self, test: Array) -> Elements:
        return Elements(self.arrays, {v: numbers[test] for v, numbers in self.variables.items()}, int(test.sum()))

    def at(self, variables: Sequence[Var], numbers: Sequence[int]) -> Elements:
        """With fold variables set to the same numbers for all elements."""
        more = {v: np.full(self.count, number) for v, number in zip(variables, numbers, strict=True)}
        return Elements(self.arrays, {**self.variables, **more}, self.count)


def computed(dtype: DType) -> np.dtype[Any]:
    """What the interpreter computes in: double precision, 64-bit whole numbers, truth values."""
    return np.dtype("f8" if dtype.is_float else "?" if dtype is BOOL else "i8")


def index_value(index: Index, at: Elements) -> Array:
    total = np.full(at.count, index.const)
    for atom, coefficient in index.terms:
        if isinstance(atom, Var):
            number = at.variables[atom]
        elif isinstance(atom, Loaded):
            number = np.asarray(interpret(atom.expression, at)).astype(np.int64)
        elif isinstance(atom, Within):
            number = index_value(atom.inner, at)
        else:
            inner = index_value(atom.inner, at)
            number = inner // atom.divisor if isinstance(atom, Quotient) else inner % atom.divisor
        assert at.count == 0 or (atom.low <= number.min() and number.max() <= atom.high), f"{atom} is out of its bounds"
        total = total + coefficient * number
    return total


def interpret(expr: Expr, at: Elements) -> Array:
    """The expression for each of the elements."""
    match expr:
        case Literal():
            return np.full(at.count, expr.value, computed(expr.dtype))
        case Load():
            return _load(expr, at)
        case Apply():
            return _apply(expr, [interpret(arg, at) for arg in expr.args])
        case Where():
            test = interpret(expr.test, at).astype(bool)
            result = np.empty(at.count, computed(expr.dtype))
            result[test], result[~test] = interpret(expr.yes, at.where(test)), interpret(expr.no, at.where(~test))
            return result
        case InRange():
            number = index_value(expr.index, at)
            return (expr.low <= number) & (number < expr.high)
        case Divides():
            return index_value(expr.index, at) % expr.divisor == 0
        case Position():
            return index_value(expr.index, at).astype(computed(expr.dtype))
        case Fold():
            return _fold(expr, at)


def _load(expr: Load, at: Elements) -> Array:
    array = at.arrays[expr.value]
    indices = [index_value(index, at) for index in expr.index]
    for axis, (index, size) in enumerate(zip(indices, expr.value.shape, strict=True)):
        wrong = index[(index < 0) | (index >= size)]
        assert not wrong.size, f"load of {expr.value} at {wrong[0]} on axis {axis}"
    picked = array[tuple(indices)] if indices else np.full(at.count, array)
    return picked.astype(computed(expr.dtype))


def _apply(expr: Apply, args: Sequence[Array]) -> Array:
    if expr.name in ("f32", "i32", "u32"):
        return np.trunc(args[0]).astype(np.int64) if expr.name != "f32" else args[0].astype(np.float64)
    for arg, given in zip(args, expr.args, strict=True):
        assert arg.dtype == computed(given.dtype), f"{expr.name}: {given.dtype} came as {arg.dtype}"
    function = SIGNS.get(expr.name) or FUNCTIONS.get(expr.name) or getattr(np, expr.name)
    return function(*args).astype(computed(expr.dtype))


def _fold(expr: Fold, at: Elements) -> Array:
    if expr.combine in ("argmax", "argmin"):
        columns = [interpret(expr.body, at.at(expr.variables, numbers)) for numbers in _all(expr)]
        return (np.argmax if expr.combine == "argmax" else np.argmin)(np.stack(columns), axis=0)
    start = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}[expr.combine]
    result = np.full(at.count, start, "f8" if expr.dtype.is_float else "i8")
    for numbers in _all(expr):
        result = FOLDS[expr.combine](result, interpret(expr.body, at.at(expr.variables, numbers)))
    return result


def _all(expr: Fold) -> list[tuple[int, ...]]:
    return list(product(*(range(v.size) for v in expr.variables)))


def elements_of(shape: Shape, arrays: Mapping[Value, Array]) -> tuple[tuple[Index, ...], Elements]:
    """A coordinate for each axis, and all elements of the shape in row-major order."""
    index = tuple(var(f"i{axis}", size) for axis, size in enumerate(shape))
    count = math.prod(shape)
    numbers = np.indices(shape).reshape(len(shape), count)
    variables = {atom: numbers[axis] for axis, i in enumerate(index) for atom, _ in i.terms if isinstance(atom, Var)}
    return index, Elements(arrays, variables, count)


def run_kernel(op: Op, arrays: Mapping[Value, Array]) -> list[Array]:
    """The op's results as its kernel describes them."""
    kernel, site = operator_of(op).kernel, Site(op)
    if isinstance(kernel, Update):
        index, at = elements_of(kernel.space(site), arrays)
        result = arrays[op.inputs[0]].copy()
        target = kernel.target(site, index)
        result[tuple(index_value(i, at) for i in target)] = interpret(kernel.element(site, 0, index), at)
        return [result]
    assert kernel is not None
    results: list[Array] = []
    for output, value in enumerate(op.outputs):
        index, at = elements_of(value.shape, arrays)
        results.append(interpret(kernel.element(site, output, index), at).reshape(value.shape))
    return results
