"""Metrics: numbers recorded each step that nothing is trained on."""

from __future__ import annotations

import math

from munet.engine.builder import Builder
from munet.engine.declaring import layer
from munet.engine.ir.module import Value
from munet.engine.operator import Input, Param
from munet.nodes.activations import log_softmax
from munet.nodes.arithmetic import absolute, cast, equal, exp, greater, less, log, square
from munet.nodes.indexing import pick
from munet.nodes.losses import PAIR, same_shape
from munet.nodes.reductions import argmax, mean, sum_
from munet.nodes.shape_ops import reshape


@layer(
    "accuracy",
    category="Metrics",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    outputs=("accuracy",),
    role="metric",
    larger_is_better=True,
)
def accuracy(b: Builder, logits: Value, label: Value) -> Value:
    """Share of samples whose largest logit is at the label; the first of equal logits counts."""
    return mean(cast(equal(argmax(logits), cast(label, dtype="i32")), dtype="f32"))


@layer(
    "top_k_accuracy",
    category="Metrics",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    params={"k": Param(5, min=1)},
    outputs=("accuracy",),
    role="metric",
    larger_is_better=True,
)
def top_k_accuracy(b: Builder, logits: Value, label: Value, k: int) -> Value:
    """Share of samples whose label is among the k largest logits; logits equal to the label's do not push it out."""
    own = pick(logits, label)
    larger = greater(logits, reshape(own, shape=(*own.shape, 1)))
    return mean(cast(less(sum_(cast(larger, dtype="i32"), axes=(-1,)), k), dtype="f32"))


@layer(
    "mean_absolute_error",
    category="Metrics",
    inputs=PAIR,
    outputs=("error",),
    role="metric",
)
def mean_absolute_error(b: Builder, prediction: Value, target: Value) -> Value:
    """Mean distance of prediction and target."""
    same_shape(prediction, "target", target)
    return mean(absolute(prediction - target))


@layer(
    "psnr",
    category="Metrics",
    inputs=PAIR,
    params={"peak": Param(1.0, positive=True, doc="the largest value there can be")},
    outputs=("psnr",),
    role="metric",
    larger_is_better=True,
)
def psnr(b: Builder, prediction: Value, target: Value, peak: float) -> Value:
    """Peak signal-to-noise ratio of the whole batch in decibels: 10 log10(peak² / mean squared error)."""
    same_shape(prediction, "target", target)
    return log(mean(square(prediction - target)) / peak**2) * (-10 / math.log(10))


@layer(
    "perplexity",
    category="Metrics",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    outputs=("perplexity",),
    role="metric",
)
def perplexity(b: Builder, logits: Value, label: Value) -> Value:
    """exp of the cross entropy: among how many equally likely classes the network still wavers. 1 is perfect."""
    return exp(-mean(pick(log_softmax(logits), label)))
