"""Losses: nodes whose single number training brings down. All are means over the batch, made of primitive operators."""

from __future__ import annotations

from munet.engine.builder import Builder
from munet.engine.errors import ShapeError
from munet.engine.ir.module import Value
from munet.engine.operator import Input, layer
from munet.nodes.activations import softplus
from munet.nodes.arithmetic import exp, log, stop_gradient, sub
from munet.nodes.indexing import pick
from munet.nodes.reductions import max_, mean, sum_


def same_shape(prediction: Value, socket: str, target: Value) -> None:
    """Raises ShapeError where broadcasting would compare every sample with every other one."""
    if prediction.shape != target.shape:
        raise ShapeError(
            f"{socket} has shape {list(target.shape)}, the prediction {list(prediction.shape)}",
            rule="both have the same shape",
            cure="a reshape node before one of them",
            socket=socket,
        )


@layer(
    "mse_loss",
    category="Losses",
    inputs={"prediction": Input("*any", "T:float"), "target": Input("*any", "T:float")},
    outputs=("loss",),
    role="loss",
)
def mse_loss(b: Builder, prediction: Value, target: Value) -> Value:
    """Mean squared error over all elements."""
    same_shape(prediction, "target", target)
    difference = prediction - target
    return mean(difference * difference)


def log_softmax(x: Value) -> Value:
    """Logarithm of softmax over the last axis; the largest is taken off first, so that nothing overflows."""
    shifted = sub(x, stop_gradient(max_(x, axes=(-1,), keepdims=True)))
    return shifted - log(sum_(exp(shifted), axes=(-1,), keepdims=True))


@layer(
    "cross_entropy",
    category="Losses",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    outputs=("loss",),
    role="loss",
)
def cross_entropy(b: Builder, logits: Value, label: Value) -> Value:
    """Mean of -log softmax(logits)[label]: for logits [n, classes] and whole-number labels [n]."""
    return -mean(pick(log_softmax(logits), label))


@layer(
    "bce_with_logits",
    category="Losses",
    inputs={"logits": Input("*any", "T:float"), "target": Input("*any", "T:float")},
    outputs=("loss",),
    role="loss",
)
def bce_with_logits(b: Builder, logits: Value, target: Value) -> Value:
    """Binary cross entropy of sigmoid(logits), mean over all elements; stable for large logits."""
    same_shape(logits, "target", target)
    return mean(softplus(logits) - logits * target)
