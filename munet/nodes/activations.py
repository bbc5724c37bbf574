"""Activations: element-wise functions between layers."""

from __future__ import annotations

import numpy as np

from munet.engine.ir.module import Value
from munet.engine.kernels import Elementwise
from munet.engine.operator import Array, Grads, Input, Output, Sample, operator
from munet.nodes.arithmetic import greater, where
from munet.nodes.samples import apart, normal

X, Y = {"x": Input("*any", "T:float")}, {"y": Output("*any")}
TAILS = Sample({"x": [-90.0, -1.0, 0.5, 90.0]}, gradient=False)  # exp(90) is inf in f32; the result must not be NaN


@operator(
    "relu",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("max(x, 0.0)"),
    samples=[Sample({"x": apart(7, 11)}), TAILS],
)
def relu(x: Array) -> Array:
    """max(x, 0): passes what is above zero; the gradient at 0 is 0."""
    return np.maximum(x, 0)


@relu.gradient
def relu_gradient(g: Value, y: Value) -> Grads:
    return {"x": where(greater(y, 0.0), g, 0.0)}


@operator(
    "tanh",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("tanh(x)"),
    samples=[Sample({"x": normal(7, 11)}), TAILS],
)
def tanh(x: Array) -> Array:
    """Hyperbolic tangent: smooth, from -1 to 1."""
    return np.tanh(x)


@tanh.gradient
def tanh_gradient(g: Value, y: Value) -> Grads:
    return {"x": g * (1.0 - y * y)}


@operator(
    "sigmoid",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("sigmoid(x)"),
    samples=[Sample({"x": normal(7, 11)}), TAILS],
)
def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)): smooth, from 0 to 1."""
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


@sigmoid.gradient
def sigmoid_gradient(g: Value, y: Value) -> Grads:
    return {"x": g * y * (1.0 - y)}


@operator(
    "silu",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("x * sigmoid(x)"),
    samples=[Sample({"x": normal(7, 11)}), TAILS],
)
def silu(x: Array) -> Array:
    """x · sigmoid(x): smooth, unbounded above; also called swish."""
    return x * sigmoid.reference(x)


@silu.gradient
def silu_gradient(g: Value, x: Value, y: Value) -> Grads:
    s = sigmoid(x)
    return {"x": g * (s + y * (1.0 - s))}


@operator(
    "softplus",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("softplus(x)"),
    samples=[Sample({"x": normal(7, 11)}), TAILS],
)
def softplus(x: Array) -> Array:
    """log(1 + exp(x)): a smooth relu; exact in both tails."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@softplus.gradient
def softplus_gradient(g: Value, x: Value) -> Grads:
    return {"x": g * sigmoid(x)}
