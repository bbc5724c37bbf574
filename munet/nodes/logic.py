"""Tests of numbers and logic of truth values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer, not_differentiable, operator
from munet.engine.ir.module import Value
from munet.engine.kernels import Elementwise
from munet.engine.operator import Array, Input, Operator, Output, Sample
from munet.nodes.arithmetic import cast
from munet.nodes.reductions import AXES, KEPT, max_, min_
from munet.nodes.samples import truths

CATEGORY = "Comparison"
NO_GRADIENT = not_differentiable("its result is a truth value")
BOTH = {"x": Input("*any", "bool"), "y": Input("*any", "bool")}


def _test(name: str, meaning: Callable[..., Any], doc: str) -> Operator:
    def function(x: Array) -> Array:
        return np.asarray(meaning(x))

    function.__doc__ = doc
    return operator(
        name,
        category=CATEGORY,
        inputs={"x": Input("*any", "T:float")},
        outputs={"y": Output("*any", "bool")},
        kernel=Elementwise(f"{name}(x)"),
        samples=[Sample({"x": [math.nan, math.inf, -math.inf, 0.0, 1.0, -3e38]})],
        gradient=NO_GRADIENT,
    )(function)


isnan = _test("isnan", np.isnan, "Where x is not a number.")
isinf = _test("isinf", np.isinf, "Where x is infinite.")
isfinite = _test("isfinite", np.isfinite, "Where x is a number and not infinite.")


def _logic(name: str, expression: str, meaning: Callable[..., Any], doc: str) -> Operator:
    def function(x: Array, y: Array) -> Array:
        return np.asarray(meaning(x, y))

    function.__doc__ = doc
    return operator(
        name,
        category=CATEGORY,
        inputs=BOTH,
        outputs={"z": Output("*any", "bool")},
        kernel=Elementwise(expression),
        samples=[Sample({"x": truths(7, 11), "y": truths(7, 11, seed=8)}), Sample({"x": truths(5, 1), "y": truths(3, seed=8)})],
        gradient=NO_GRADIENT,
    )(function)


logical_and = _logic("logical_and", "x and y", np.logical_and, "Where both hold.")
logical_or = _logic("logical_or", "x or y", np.logical_or, "Where at least one holds.")
logical_xor = _logic("logical_xor", "x != y", np.logical_xor, "Where exactly one holds.")


@operator(
    "logical_not",
    category=CATEGORY,
    inputs={"x": Input("*any", "bool")},
    outputs={"y": Output("*any", "bool")},
    kernel=Elementwise("not x"),
    samples=[Sample({"x": truths(7, 11)})],
    gradient=NO_GRADIENT,
)
def logical_not(x: Array) -> Array:
    """Where x does not hold."""
    return np.logical_not(x)


@layer(
    "any",
    category="Reductions",
    inputs={"x": Input("*any", "bool")},
    params=AXES,
    outputs={"y": Output("*kept", "bool", doc=KEPT)},
)
def any_(b: Builder, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Whether x holds anywhere along `axes`; no axes means all.

    Formula: y = x₁ or x₂ or …
    """
    return cast(max_(cast(x, dtype="i32"), axes=axes, keepdims=keepdims), dtype="bool")


@layer(
    "all",
    category="Reductions",
    inputs={"x": Input("*any", "bool")},
    params=AXES,
    outputs={"y": Output("*kept", "bool", doc=KEPT)},
)
def all_(b: Builder, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Whether x holds everywhere along `axes`; no axes means all.

    Formula: y = x₁ and x₂ and …
    """
    return cast(min_(cast(x, dtype="i32"), axes=axes, keepdims=keepdims), dtype="bool")
