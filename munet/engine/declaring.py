"""How declarations are made: the decorators that authors of nodes write, and all checks of what they wrote.

A decorator turns a function into a declaration of `operator.py` and puts it into the registry. Whatever can be wrong with it is
found here, at import, with file and line.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from munet.engine.dtypes import BY_NAME
from munet.engine.errors import ShapeError
from munet.engine.formulas import of_docstring, of_kernel
from munet.engine.kernels import KernelKind
from munet.engine.operator import (
    DTYPE_CLASSES,
    REGISTRY,
    DataSource,
    Declaration,
    Input,
    Layer,
    Live,
    NotDifferentiable,
    Operator,
    Optimiser,
    Output,
    Param,
    Relay,
    Sample,
    Schedule,
    ShapeRule,
    fault_at,
)
from munet.engine.shapes import parse_pattern, reduced_shape


def not_differentiable(reason: str) -> NotDifferentiable:
    """For `gradient=`: says why there is none; gradients() repeats the reason to the user."""
    return NotDifferentiable(reason)


def operator(
    name: str,
    *,
    category: str,
    inputs: Mapping[str, Input],
    outputs: Mapping[str, Output],
    kernel: KernelKind,
    params: Mapping[str, Param] | None = None,
    samples: Sequence[Sample] = (),
    gradient: NotDifferentiable | None = None,
    role: str = "",
    version: int = 1,
    example: Sample | None = None,
) -> Callable[[Callable[..., Any]], Operator]:
    """Declare an operator; the decorated function is its meaning in NumPy: function(*inputs, **params)."""

    def declare(function: Callable[..., Any]) -> Operator:
        doc, formula = of_docstring(function)
        declared = Operator(
            name,
            category,
            dict(inputs),
            dict(params or {}),
            doc,
            function,
            role,
            version,
            dict(outputs),
            formula=formula or of_kernel(kernel, list(outputs)),
            example=example,
            kernel=kernel,
            samples=samples,
            gradient_rule=gradient,
        )
        _check_sockets(declared)
        _check_signature(declared, [*declared.inputs, *declared.params])
        unknown = kernel.names() - set(declared.inputs) - set(declared.params)
        if unknown:
            raise fault_at(
                function, f"{name}: kernel names {', '.join(sorted(unknown))}, which is neither an input nor a parameter"
            )
        return _register(declared)

    return declare


def layer(
    name: str,
    *,
    category: str,
    inputs: Mapping[str, Input],
    params: Mapping[str, Param] | None = None,
    outputs: Mapping[str, Output] | Sequence[str] = ("y",),
    role: str = "",
    version: int = 1,
    larger_is_better: bool = False,
    example: Sample | None = None,
) -> Callable[[Callable[..., Any]], Layer]:
    """Declare a layer: function(builder, *inputs, **params) returns a value, or a dict of them by output socket.

    What it returns decides about shapes; the outputs' patterns tell people of them. They name dimensions of the inputs,
    parameters, and sizes that the output's `doc` explains. An output that is a name alone is as `Output("*any")`.
    """

    def declare(function: Callable[..., Any]) -> Layer:
        doc, formula = of_docstring(function)
        head = (name, category, dict(inputs), dict(params or {}), doc, function, role, version)
        sockets = dict(outputs) if isinstance(outputs, Mapping) else {socket: Output("*any") for socket in outputs}
        declared = Layer(*head, sockets, larger_is_better, formula, example)
        _check_signature(declared, ["b", *declared.inputs, *declared.params])
        return _register(declared)

    return declare


def source(
    name: str, *, outputs: Mapping[str, Output], params: Mapping[str, Param] | None = None, batch: int = 32, version: int = 1
) -> Callable[[Callable[..., Any]], DataSource]:
    """Declare a data source: function(**params) returns a `munet.data.dataset.Dataset` with an array for each output."""

    def declare(function: Callable[..., Any]) -> DataSource:
        own, (doc, formula) = dict(params or {}), of_docstring(function)
        declared = DataSource(
            name,
            "Sources",
            {},
            own | {"batch": Param(batch, min=1, doc="samples a step")},
            doc,
            function,
            "",
            version,
            dict(outputs),
            formula=formula,
        )
        _check_signature(declared, list(own))
        return _register(declared)

    return declare


SHARED_PARAMS = {  # of all optimisers; see engine/optimising.py. What is 0 at first is off and costs nothing
    "clip_norm": Live(0.0, min=0.0, doc="the gradients' norm, all together, is held below; 0 = off"),
    "clip_value": Live(0.0, min=0.0, doc="each element of a gradient is held within; 0 = off"),
    "parameters": Param(
        "", doc='names such as "conv*/weight *bias", * and ? stand for any; none: all that no other optimiser names'
    ),
    "ema": Live(0.0, min=0.0, max=0.999999, doc="decay of an average of the parameters, e.g. 0.999; 0 = off"),
}


def optimiser(
    name: str, *, params: Mapping[str, Param], slots: Sequence[str] = (), version: int = 1
) -> Callable[[Callable[..., Any]], Optimiser]:
    """Declare an optimiser: function(w, g, s, p) is written for one element; see `nodes/optimisers.py`."""

    def declare(function: Callable[..., Any]) -> Optimiser:
        inputs = {
            "loss": Input("*any", doc="the number to bring down"),
            "rate": Input("", optional=True, doc="a schedule for lr"),
        }
        doc, formula = of_docstring(function)
        head = (name, "Optimisers", inputs, {**params, **SHARED_PARAMS}, doc, function, "", version)
        declared = Optimiser(*head, {}, formula=formula, slots=tuple(slots))
        _check_signature(declared, ["w", "g", "s", "p"])
        return _register(declared)

    return declare


def schedule(name: str, *, params: Mapping[str, Param], version: int = 1) -> Callable[[Callable[..., Any]], Schedule]:
    """Declare a schedule: function(step, **params) -> float, step from 0; runs on the host, once a step."""

    def declare(function: Callable[..., Any]) -> Schedule:
        doc, formula = of_docstring(function)
        head = (name, "Schedules", {}, dict(params), doc, function, "", version)
        declared = Schedule(*head, {"rate": Output("")}, formula=formula)
        _check_signature(declared, ["step", *params])
        return _register(declared)

    return declare


def relay(
    name: str,
    *,
    inputs: Mapping[str, Input] | None = None,
    outputs: Mapping[str, Output] | None = None,
    params: Mapping[str, Param] | None = None,
) -> Callable[[Callable[[], None]], Relay]:
    """Declare a relay: of the function only the docstring is used, the node's help."""

    def declare(function: Callable[[], None]) -> Relay:
        doc, formula = of_docstring(function)
        head = (name, "Structure", dict(inputs or {}), dict(params or {}), doc, function)
        declared = Relay(*head, outputs=dict(outputs or {}), formula=formula)
        _check_signature(declared, [])
        return _register(declared)

    return declare


def reduced(socket: str) -> ShapeRule:
    """Shape rule of reductions: `socket`'s shape without `axes`, or with ones there if `keepdims`."""
    return lambda shapes, params: reduced_shape(shapes[socket], params["axes"], bool(params.get("keepdims", False)))


def _register(declared: Any) -> Any:
    _check_words(declared)
    _check_params(declared)
    if declared.name in REGISTRY:
        raise fault_at(declared.function, f"the name {declared.name!r} is already taken by a {REGISTRY[declared.name].kind}")
    REGISTRY[declared.name] = declared
    return declared


def _check_sockets(declared: Operator) -> None:
    if not declared.doc:
        raise fault_at(declared.function, f"{declared.name} has no docstring; it is the node's help")
    if not declared.samples and declared.category:
        raise fault_at(declared.function, f"{declared.name} has no samples; its tests go by them")
    known = {*BY_NAME, *(entry.dtype.partition(":")[0] for entry in declared.inputs.values())}
    for socket, entry in declared.outputs.items():
        if isinstance(entry.dtype, str) and entry.dtype not in known:
            message = f"{declared.name}.{socket}: no input has the dtype {entry.dtype!r}, and no dtype is called so"
            raise fault_at(declared.function, message)


def _check_words(declared: Declaration) -> None:
    """Names that a project file can hold, patterns and dtypes of input sockets."""
    for word in (declared.name, *declared.inputs, *declared.outputs):
        if not re.fullmatch(r"\w+", word):
            raise fault_at(declared.function, f"{declared.name!r}: the name {word!r} is not made of letters, digits and _ alone")
    for socket, entry in declared.inputs.items():
        try:
            parse_pattern(entry.pattern)
        except ValueError as error:
            raise fault_at(declared.function, f"{declared.name}.{socket}: {error}") from None
        variable, colon, group = entry.dtype.partition(":")
        if colon and group not in DTYPE_CLASSES:
            message = f"{declared.name}.{socket}: there is no class of dtypes {group!r}; known: {', '.join(DTYPE_CLASSES)}"
            raise fault_at(declared.function, message)
        if variable not in BY_NAME and not variable[:1].isupper():
            rule = f"a variable starts with a capital letter, and the dtypes are {', '.join(BY_NAME)}"
            raise fault_at(declared.function, f"{declared.name}.{socket}: there is no dtype {variable!r}; {rule}")


def _check_params(declared: Declaration) -> None:
    """Defaults keep their own limits; only what the host feeds each step is live."""
    for name, param in declared.params.items():
        if param.live and not isinstance(declared, Optimiser | Schedule):
            message = f"{declared.name}.{name} is Live, but only optimisers and schedules have live parameters; use Param"
            raise fault_at(declared.function, message)
        try:
            param.check(name, param.default)
        except ShapeError as error:
            found = error.problem
            raise fault_at(declared.function, f"{declared.name}: the default does not fit: {found.found}, {found.rule}") from None


def _check_signature(declared: Declaration, expected: Sequence[str]) -> None:
    names = list(inspect.signature(declared.function).parameters)
    if names != list(expected):
        raise fault_at(
            declared.function,
            f"{declared.name}: the function takes ({', '.join(names)}), the declaration says ({', '.join(expected)})",
        )
