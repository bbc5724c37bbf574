"""Metrics: numbers recorded each step that nothing is trained on."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer
from munet.engine.ir.module import Value
from munet.engine.operator import Input, Output, Param, Sample
from munet.nodes.activations import log_softmax
from munet.nodes.arithmetic import absolute, cast, equal, exp, greater, less, log, square
from munet.nodes.indexing import pick
from munet.nodes.losses import PAIR, same_shape
from munet.nodes.reductions import argmax, mean, sum_
from munet.nodes.shape_ops import reshape

metric = partial(layer, category="Metrics", role="metric")


@metric(
    "accuracy",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    outputs={"accuracy": Output("", "f32")},
    larger_is_better=True,
)
def accuracy(b: Builder, logits: Value, label: Value) -> Value:
    """Share of samples whose largest logit is at the label; the first of equal logits counts.

    Formula: accuracy = mean(1 if argmax(logits) = label, else 0)
    """
    return mean(cast(equal(argmax(logits), cast(label, dtype="i32")), dtype="f32"))


@metric(
    "top_k_accuracy",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    params={"k": Param(5, min=1)},
    outputs={"accuracy": Output("", "f32")},
    larger_is_better=True,
    example=Sample({"logits": [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], "label": np.array([1, 2])}, {"k": 2}),
)
def top_k_accuracy(b: Builder, logits: Value, label: Value, k: int) -> Value:
    """Share of samples whose label is among the k largest logits; logits equal to the label's do not push it out.

    Formula: accuracy = mean(1 if fewer than k logits are above logits[label], else 0)
    """
    own = pick(logits, label)
    larger = greater(logits, reshape(own, shape=(*own.shape, 1)))
    return mean(cast(less(sum_(cast(larger, dtype="i32"), axes=(-1,)), k), dtype="f32"))


@metric(
    "mean_absolute_error",
    inputs=PAIR,
    outputs={"error": Output("", "f32")},
)
def mean_absolute_error(b: Builder, prediction: Value, target: Value) -> Value:
    """Mean distance of prediction and target.

    Formula: error = mean(|prediction − target|)
    """
    same_shape(prediction, "target", target)
    return mean(absolute(prediction - target))


@metric(
    "psnr",
    inputs=PAIR,
    params={"peak": Param(1.0, positive=True, doc="the largest value there can be")},
    outputs={"psnr": Output("", "f32")},
    larger_is_better=True,
    example=Sample({"prediction": [0.1, 0.5, 0.9], "target": [0.0, 0.5, 1.0]}),
)
def psnr(b: Builder, prediction: Value, target: Value, peak: float) -> Value:
    """Peak signal-to-noise ratio of the whole batch in decibels.

    Formula: psnr = 10 · log10(peak² / mean((prediction − target)²))
    """
    same_shape(prediction, "target", target)
    return log(mean(square(prediction - target)) / peak**2) * (-10 / math.log(10))


@metric(
    "perplexity",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    outputs={"perplexity": Output("", "f32")},
)
def perplexity(b: Builder, logits: Value, label: Value) -> Value:
    """exp of the cross entropy: among how many equally likely classes the network still wavers. 1 is perfect.

    Formula:
        p = softmax(logits)
        perplexity = exp(−mean(log(p[label])))
    """
    return exp(-mean(pick(log_softmax(logits), label)))
