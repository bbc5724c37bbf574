"""Declarations: what operators, layers, sources, optimisers, schedules are, and the registry that holds them.

A declaration is complete in one place: sockets, parameters, the NumPy meaning, the kernel, the gradient, samples.
Palette, inspector, checks, documentation, tests and both executors are made from it. The decorators that make them are in
`declaring.py`.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from munet.engine.dtypes import BOOL, BY_NAME, DType
from munet.engine.errors import DeclarationError, ShapeError
from munet.engine.ir.module import NO_PARAMS, Op, ParamValue, Shape, Value, current_builder
from munet.engine.kernels import KernelKind
from munet.engine.shapes import Dims

Array = np.ndarray[Any, Any]
Grads = Mapping[str, Value | Sequence[Value] | None]
ShapeRule = Callable[[Mapping[str, Any], Mapping[str, Any]], Shape]  # (shapes by socket, params) -> shape
DTypeRule = Callable[[Mapping[str, DType], Mapping[str, Any]], DType]  # (dtypes by variable, params) -> dtype

DTYPE_CLASSES: dict[str, Callable[[DType], bool]] = {
    "any": lambda d: True,
    "number": lambda d: d.kind != "bool",
    "float": lambda d: d.is_float,
    "integer": lambda d: d.is_integer,
}
DTYPE_WORDS = {"any": "of any type", "number": "a number", "float": "a float", "integer": "a whole number"}
LARGEST = 2**31 - 1  # of whole-number parameters: kernels compute with 32 bits


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _listed(value: Any) -> list[Any]:
    """What is in a list or tuple; anything else as the only one."""
    return [*cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else [value]


def _shown(value: Any) -> str:
    """As a project file writes it, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) < 60 else text[:57] + "..."


@dataclass(frozen=True)
class Input:
    """An input socket. `dtype`: a dtype's name, or a variable such as "T" with an optional class, "T:float".

    Inputs that share a variable share its dtype; classes are any, number, float, integer.
    """

    pattern: str
    dtype: str = "T:number"
    optional: bool = False
    variadic: bool = False
    doc: str = ""


@dataclass(frozen=True)
class Output:
    """An output socket: a pattern over the inputs' names, or a rule giving the shape; dtype as in `Input`, or a rule."""

    pattern: str | ShapeRule
    dtype: str | DTypeRule = "T"
    doc: str = ""


@dataclass(frozen=True)
class Param:
    """A parameter of a node. Its type is the type of its default; hard limits refuse, soft limits shape the slider.

    `live` parameters may change while training runs, without compiling again.
    """

    default: ParamValue
    min: float | None = None
    max: float | None = None
    soft_max: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False
    positive: bool = False  # strictly above zero
    doc: str = ""

    def check(self, name: str, value: Any) -> ParamValue:
        """`value` as this parameter's type; raises ShapeError that says what was expected."""
        value = self._typed(name, value)
        for number in _listed(value):
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            if not math.isfinite(number):
                raise self._refused(name, value, "a finite number")
            if self.positive and number <= 0:
                raise self._refused(name, value, "above 0")
            if (self.min is not None and number < self.min) or (self.max is not None and number > self.max):
                low, high = self.min, self.max
                limits = f"at least {low}" if high is None else f"at most {high}" if low is None else f"from {low} to {high}"
                raise self._refused(name, value, limits)
        if self.choices and value not in self.choices:
            raise self._refused(name, value, f"one of {', '.join(self.choices)}")
        return value

    def _typed(self, name: str, value: Any) -> ParamValue:
        default = self.default
        if isinstance(default, tuple):
            return self._whole_numbers(name, value, len(self.default))
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise self._refused(name, value, "true or false")
            return value
        if isinstance(default, int):
            if isinstance(value, float) and value.is_integer():
                return int(value)
            if not _is_whole(value):
                raise self._refused(name, value, "a whole number")
            if abs(value) > LARGEST:
                raise self._refused(name, value, "a whole number within 32 bits")
            return value
        if isinstance(default, float):
            if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
                raise self._refused(name, value, "a finite number")
            return float(value)
        if isinstance(default, str):
            if not isinstance(value, str):
                raise self._refused(name, value, "text")
            return value
        return value

    def _whole_numbers(self, name: str, value: Any, count: int) -> tuple[int, ...]:
        """As many as the default has if there is a limit (pairs of pixels), else any number (axes); one number stands for all."""
        numbers = [value] * max(count, 1) if _is_whole(value) else _listed(value)
        if not all(_is_whole(number) and abs(number) <= LARGEST for number in numbers):
            raise self._refused(name, value, "a list of whole numbers")
        if count and len(numbers) != count and self.min is not None:
            raise self._refused(name, value, f"{count} whole numbers")
        return tuple(numbers)

    def _refused(self, name: str, value: Any, expected: str) -> ShapeError:
        return ShapeError(
            f"{name} is {_shown(value)}",
            rule=f"{name} is {expected}",
            cure=f"{name} = {_shown(self.default)}, its default",
            socket=name,
            code="bad-parameter",
        )


def Live(default: float, **limits: Any) -> Param:
    """A number that may change while training runs."""
    return Param(float(default), live=True, **limits)


def Axes(default: tuple[int, ...] = ()) -> Param:
    """Axes of a tensor, counted from the end if negative; none means all."""
    return Param(default, doc="axes; none means all")


def Choice(*choices: str, doc: str = "") -> Param:
    return Param(choices[0], choices=choices, doc=doc)


@dataclass(frozen=True)
class Sample:
    """Inputs and parameters for one test of an operator. `gradient=False` where a kink makes finite differences meaningless."""

    inputs: Mapping[str, Any]
    params: Mapping[str, ParamValue] = field(default_factory=lambda: NO_PARAMS)
    gradient: bool = True


@dataclass(frozen=True)
class NotDifferentiable:
    """Why an operator has no gradient."""

    reason: str


@dataclass(eq=False)
class Declaration:
    """What every kind of node has in common: what the palette and the inspector show."""

    name: str
    category: str
    inputs: Mapping[str, Input]
    params: Mapping[str, Param]
    doc: str
    function: Callable[..., Any]
    role: str = ""  # "", "loss", "metric"
    version: int = 1
    outputs: Mapping[str, Output] = field(default_factory=lambda: MappingProxyType({}))
    larger_is_better: bool = False  # metrics only: which way is up
    formula: tuple[str, ...] = ()  # lines, as mathematics writes it: of the docstring, or else of the kernel
    example: Sample | None = None  # for the help; where there is none, one is made up (`example.py`)

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()

    def checked_params(self, given: Mapping[str, Any]) -> dict[str, ParamValue]:
        """All parameters with defaults filled in; raises ShapeError for an unknown or unfit one."""
        for name in given:
            if name not in self.params:
                known = ", ".join(self.params) or "it has none"
                raise ShapeError(
                    f"{self.name} has no parameter {name!r}",
                    rule=f"its parameters: {known}",
                    socket=name,
                    code="unknown-parameter",
                )
        return {name: param.check(name, given.get(name, param.default)) for name, param in self.params.items()}

    def check_sockets(self, given: Iterable[str]) -> None:
        """Raises ShapeError for an unknown input socket or a missing one."""
        given = list(given)
        for name in given:
            if name not in self.inputs:
                raise ShapeError(
                    f"{self.name} has no input {name!r}",
                    rule=f"its inputs: {', '.join(self.inputs) or 'none'}",
                    socket=name,
                    code="unknown-socket",
                )
        for name, socket in self.inputs.items():
            if name not in given and not socket.optional:
                raise ShapeError(
                    f"input {name} is not connected",
                    rule=f"{self.name} needs {name}",
                    cure=f"wire something into {name}",
                    socket=name,
                    code="missing-input",
                )


@dataclass(eq=False)
class Operator(Declaration):
    """A declared kind of computation. Calling it with values adds an op to the current builder."""

    kernel: KernelKind | None = None
    samples: Sequence[Sample] = ()
    gradient_rule: Callable[..., Grads] | NotDifferentiable | None = None
    shape_rule: Callable[..., Mapping[str, int]] | None = None

    def reference(self, *args: Any, **params: Any) -> Any:
        """The NumPy meaning."""
        return self.function(*args, **params)

    def shape(self, rule: Callable[..., Mapping[str, int]]) -> Callable[..., Mapping[str, int]]:
        """Decorator: computed dimensions, rule(d, **params) -> sizes by name."""
        self.shape_rule = rule
        return rule

    def gradient(self, rule: Callable[..., Grads]) -> Callable[..., Grads]:
        """Decorator: the gradient rule, taking by name any of: g, the inputs, the outputs, the parameters."""
        known = {"g", *self.inputs, *self.outputs, *self.params}
        unknown = set(inspect.signature(rule).parameters) - known
        if unknown:
            raise fault_at(rule, f"gradient of {self.name}: unknown argument {', '.join(sorted(unknown))}")
        self.gradient_rule = rule
        return rule

    def infer(self, inputs: Mapping[str, Sequence[Value]], params: Mapping[str, ParamValue]) -> list[tuple[Shape, DType]]:
        """Shapes and dtypes of the outputs. Raises ShapeError with the declared rule."""
        dims, dtypes = Dims(), dict[str, DType]()
        for socket, values in inputs.items():
            declared = self.inputs[socket]
            for value in values:
                dims.match(self.name, socket, declared.pattern, value.shape, bind_star=not declared.variadic)
                self._match_dtype(socket, declared.dtype, value.dtype, dtypes)
        if self.shape_rule is not None:
            dims.sizes |= self.shape_rule(dims, **params)
        shapes = {s: tuple(v.shape for v in vs) if self.inputs[s].variadic else vs[0].shape for s, vs in inputs.items()}
        results: list[tuple[Shape, DType]] = []
        for output in self.outputs.values():
            shape = dims.build(output.pattern) if isinstance(output.pattern, str) else output.pattern(shapes, params)
            if callable(output.dtype):
                dtype = output.dtype(dtypes, params)
            else:
                dtype = BY_NAME.get(output.dtype) or dtypes[output.dtype]
            results.append((shape, dtype))
        return results

    def _match_dtype(self, socket: str, declared: str, found: DType, known: dict[str, DType]) -> None:
        variable, _, group = declared.partition(":")
        expected = BY_NAME.get(variable) or known.get(variable)
        if expected is not None and expected is not found:
            raise ShapeError(
                f"{self.name}.{socket} is {found}, expected {expected}",
                rule=f"{socket} is {expected}",
                cure="a comparison before it" if expected is BOOL else "a cast node before it",
                socket=socket,
                code="dtype-mismatch",
            )
        if group and not DTYPE_CLASSES[group](found):
            raise ShapeError(
                f"{self.name}.{socket} is {found}",
                rule=f"{socket} is {DTYPE_WORDS[group]}",
                cure="a cast node before it",
                socket=socket,
                code="dtype-mismatch",
            )
        known[variable] = found

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Add an op to the current builder: values by position or name, numbers become constants, parameters by name.

        Returns the output value, or a tuple of them when the operator has several.
        """
        values: dict[str, list[Any]] = {}
        names = list(self.inputs)
        for i, arg in enumerate(args):
            socket = names[min(i, len(names) - 1)]
            if i >= len(names) and not self.inputs[socket].variadic:
                raise TypeError(f"{self.name} takes {len(names)} inputs")
            values.setdefault(socket, []).append(arg)
        for name in [n for n in named if n in self.inputs]:
            values[name] = _listed(named.pop(name))
        return current_builder().add_op(self, {s: [v for v in vs if v is not None] for s, vs in values.items()}, named)


@dataclass(eq=False)
class Layer(Declaration):
    """A node that expands into operators and may own parameters and states: function(builder, **inputs, **params)."""


@dataclass(eq=False)
class DataSource(Declaration):
    """A node that brings data: function(**params) -> Dataset. Every source also has the parameter `batch`."""


@dataclass(eq=False)
class Optimiser(Declaration):
    """An update rule per element: function(w, g, slots, scalars) -> new w; `slots` names its states."""

    slots: tuple[str, ...] = ()


@dataclass(eq=False)
class Schedule(Declaration):
    """A number over time, computed on the host: function(step, **params) -> float."""


@dataclass(eq=False)
class Relay(Declaration):
    """A node that only says how others are joined; `subgraphs.py` resolves it before anything is lowered."""


REGISTRY: dict[str, Declaration] = {}


def find(name: str) -> Declaration:
    """The declaration called `name`; raises KeyError."""
    return REGISTRY[name]


def operator_of(op: Op) -> Operator:
    """The declaration of an op made by an operator (not by a transform)."""
    declaration = REGISTRY[op.operator]
    if not isinstance(declaration, Operator):
        raise TypeError(f"{op.operator} is a {declaration.kind}, not an operator")
    return declaration


def fault_at(function: Callable[..., Any], message: str) -> DeclarationError:
    """A fault of the author of `function`, with its file and line."""
    code = function.__code__
    return DeclarationError(f"{code.co_filename}:{code.co_firstlineno}: {message}")
