"""Losses: nodes whose single number training brings down. All are means over the batch, made of primitive operators."""

from __future__ import annotations

from functools import partial

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer
from munet.engine.errors import ShapeError
from munet.engine.ir.module import Value
from munet.engine.operator import Choice, Input, Output, Param, Sample
from munet.nodes.activations import log_softmax, softplus
from munet.nodes.arithmetic import absolute, cast, greater, less, log, maximum, not_equal, sqrt, square, where
from munet.nodes.functions import log1p
from munet.nodes.indexing import pick
from munet.nodes.reductions import mean, sum_

loss = partial(layer, category="Losses", outputs={"loss": Output("", "f32")}, role="loss")


def same_shape(prediction: Value, socket: str, target: Value) -> None:
    """Raises ShapeError where broadcasting would compare every sample with every other one."""
    if prediction.shape != target.shape:
        raise ShapeError(
            f"{socket} has shape {list(target.shape)}, the prediction {list(prediction.shape)}",
            rule="both have the same shape",
            cure="a reshape node before one of them",
            socket=socket,
        )


PAIR = {"prediction": Input("*any", "T:float"), "target": Input("*any", "T:float")}


@loss("mse_loss", inputs=PAIR)
def mse_loss(b: Builder, prediction: Value, target: Value) -> Value:
    """Mean squared error over all elements.

    Formula: loss = mean((prediction − target)²)
    """
    same_shape(prediction, "target", target)
    difference = prediction - target
    return mean(difference * difference)


@loss("l1_loss", inputs=PAIR)
def l1_loss(b: Builder, prediction: Value, target: Value) -> Value:
    """Mean absolute error over all elements.

    Formula: loss = mean(|prediction − target|)
    """
    same_shape(prediction, "target", target)
    return mean(absolute(prediction - target))


def _rounded(difference: Value, corner: float) -> Value:
    """d² / 2 within ± corner, a straight line of slope ± corner outside."""
    size = absolute(difference)
    return where(less(size, corner), square(difference) * 0.5, (size - 0.5 * corner) * corner)


@loss(
    "huber_loss",
    inputs=PAIR,
    params={"delta": Param(1.0, positive=True, doc="where the parabola becomes a line")},
)
def huber_loss(b: Builder, prediction: Value, target: Value, delta: float) -> Value:
    """Mean over all elements of a parabola that goes on as a straight line: outliers pull less (Huber 1964).

    Formula:
        d = prediction − target
        loss = mean(d² / 2 if |d| < delta, else delta · (|d| − delta / 2))
    """
    same_shape(prediction, "target", target)
    return mean(_rounded(prediction - target, delta))


@loss(
    "smooth_l1_loss",
    inputs=PAIR,
    params={"beta": Param(1.0, min=0.0, doc="where the parabola becomes a line")},
)
def smooth_l1_loss(b: Builder, prediction: Value, target: Value, beta: float) -> Value:
    """Mean absolute error with a rounded corner at 0: huber_loss over beta (Girshick 2015, arXiv 1504.08083).

    Formula:
        d = prediction − target
        loss = mean(d² / (2 · beta) if |d| < beta, else |d| − beta / 2)
    """
    same_shape(prediction, "target", target)
    if beta == 0:
        return mean(absolute(prediction - target))
    return mean(_rounded(prediction - target, beta)) * (1 / beta)


UNUSED = -100  # PyTorch's default for labels that do not count
IGNORED = Param(UNUSED, doc="labels with this number do not count; -100, the default, is never looked for")


def counted_mean(losses: Value, label: Value, ignore_index: int) -> Value:
    """The mean of the losses whose label is not `ignore_index`."""
    if ignore_index == UNUSED:
        return mean(losses)
    counts = cast(not_equal(cast(label, dtype="i32"), ignore_index), dtype="f32")
    return sum_(losses * counts) / sum_(counts)


@loss(
    "cross_entropy",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    params={
        "label_smoothing": Param(0.0, min=0.0, max=1.0, doc="share of the target that is spread evenly over all classes"),
        "ignore_index": IGNORED,
    },
)
def cross_entropy(b: Builder, logits: Value, label: Value, label_smoothing: float, ignore_index: int) -> Value:
    """Cross entropy of logits [n, classes] and whole-number labels [n], mean over all samples.

    Formula:
        p = softmax(logits)
        loss = −mean((1 − label_smoothing) · log(p[label]) + label_smoothing · mean(log(p)))
    """
    logs = log_softmax(logits)
    if not label_smoothing and ignore_index == UNUSED:
        return -mean(pick(logs, label))
    losses = -pick(logs, label)
    if label_smoothing:
        losses = losses * (1 - label_smoothing) - mean(logs, axes=(-1,)) * label_smoothing
    return counted_mean(losses, label, ignore_index)


@loss(
    "nll_loss",
    inputs={"logs": Input("*any c", "T:float", doc="logarithms of probabilities"), "label": Input("*any", "I:integer")},
    params={"ignore_index": IGNORED},
    example=Sample({"logs": [[-0.1, -2.4], [-1.2, -0.4]], "label": np.array([0, 1])}),
)
def nll_loss(b: Builder, logs: Value, label: Value, ignore_index: int) -> Value:
    """Mean negative log-likelihood of the labels: cross entropy behind a log_softmax.

    Formula: loss = −mean(logs[label])
    """
    return counted_mean(-pick(logs, label), label, ignore_index)


@loss(
    "bce_loss",
    inputs={"p": Input("*any", "T:float", doc="probabilities"), "target": Input("*any", "T:float")},
    example=Sample({"p": [0.25, 0.5, 0.75], "target": [0.0, 1.0, 1.0]}),
)
def bce_loss(b: Builder, p: Value, target: Value) -> Value:
    """Binary cross entropy of probabilities, mean over all elements; logarithms are held above -100, as in PyTorch.

    Formula: loss = −mean(target · log(p) + (1 − target) · log(1 − p))
    """
    same_shape(p, "target", target)
    yes, no = maximum(log(p), -100.0), maximum(log1p(-p), -100.0)
    return -mean(target * yes + (1.0 - target) * no)


@loss(
    "kl_div_loss",
    inputs={
        "logs": Input("*any", "T:float", doc="logarithms of the probabilities that are trained"),
        "target": Input("*any", "T:float", doc="probabilities"),
    },
    params={"mean_over": Choice("elements", "batch", doc="batch gives the divergence of each sample, as the word is meant")},
    example=Sample({"logs": [-0.5, -1.5], "target": [0.75, 0.25]}),
)
def kl_div_loss(b: Builder, logs: Value, target: Value, mean_over: str) -> Value:
    """Kullback-Leibler divergence of the target from what is trained; nothing where the target is 0.

    Formula: loss = mean(target · (log(target) − logs))
    """
    same_shape(logs, "target", target)
    present = greater(target, 0.0)
    entropy = target * log(where(present, target, 1.0))
    divergence = entropy - target * logs
    return mean(divergence) if mean_over == "elements" else sum_(divergence) / float(max(logs.shape[0] if logs.rank else 1, 1))


def cosine_similarity(x: Value, y: Value, axis: int, eps: float = 1e-8) -> Value:
    """Cosine of the angle between x and y along an axis; norms below eps count as eps."""
    lengths = [maximum(sqrt(sum_(square(v), axes=(axis,))), eps) for v in (x, y)]
    return sum_(x * y, axes=(axis,)) / (lengths[0] * lengths[1])


@layer(
    "cosine_similarity",
    category="Linear algebra",
    inputs={"x": Input("*any", "T:float"), "y": Input("*any", "T:float")},
    params={"axis": Param(1), "eps": Param(1e-8, min=0.0, doc="lengths below count as this")},
    example=Sample({"x": [[1.0, 0.0], [1.0, 2.0]], "y": [[1.0, 1.0], [2.0, 4.0]]}),
    outputs={"y": Output("*kept", doc="x without the axis")},
)
def cosine_similarity_layer(b: Builder, x: Value, y: Value, axis: int, eps: float) -> Value:
    """Cosine of the angle between x and y along an axis: 1 for equal directions, -1 for opposite ones.

    Formula: cosine = Σ (x · y) / (max(√(Σ x²), eps) · max(√(Σ y²), eps))
    """
    same_shape(x, "y", y)
    return cosine_similarity(x, y, axis, eps)


@loss(
    "cosine_embedding_loss",
    inputs={
        "x": Input("n e", "T:float"),
        "y": Input("n e", "T:float"),
        "target": Input("n", "T:float", doc="1 for pairs that belong together, -1 for others"),
    },
    params={"margin": Param(0.0, min=-1.0, max=1.0, doc="others may be as similar as this")},
    example=Sample({"x": [[1.0, 0.0], [0.0, 1.0]], "y": [[1.0, 1.0], [1.0, 1.0]], "target": [1.0, -1.0]}),
)
def cosine_embedding_loss(b: Builder, x: Value, y: Value, target: Value, margin: float) -> Value:
    """Mean of 1 - cosine for pairs that belong together, of cosine - margin, if positive, for others.

    Formula:
        c = cosine of x and y
        loss = mean(1 − c if target > 0, else max(c − margin, 0))
    """
    cosine = cosine_similarity(x, y, -1)
    return mean(where(greater(target, 0.0), 1.0 - cosine, maximum(cosine - margin, 0.0)))


@loss(
    "bce_with_logits",
    inputs={"logits": Input("*any", "T:float"), "target": Input("*any", "T:float")},
    example=Sample({"logits": [-1.0, 0.5, 2.0], "target": [0.0, 1.0, 1.0]}),
)
def bce_with_logits(b: Builder, logits: Value, target: Value) -> Value:
    """Binary cross entropy of sigmoid(logits), mean over all elements; stable for large logits.

    Formula: loss = mean(log(1 + exp(logits)) − logits · target)
    """
    same_shape(logits, "target", target)
    return mean(softplus(logits) - logits * target)
