"""Optimisers, written for one element: `w` the parameter, `g` its gradient, `s` the slots, `p` the numbers.

Reading a slot gives its value before the step, assigning it the one after.

Numbers that depend only on live parameters and the step (`p.step`, from 1) are combined on the host in double precision; the
formulas are those of PyTorch, so that equal recipes give equal curves.
"""

from __future__ import annotations

from typing import Any

from munet.engine.declaring import optimiser
from munet.engine.hostscalar import square_root
from munet.engine.ir.module import Value
from munet.engine.operator import Live, Param
from munet.nodes.arithmetic import sign, sqrt

BETA1, BETA2 = Live(0.9, min=0.0, max=0.9999), Live(0.999, min=0.0, max=0.99999)
DECAY = Live(0.0, min=0.0, doc="L2: so much of the parameter is added to its gradient; 0 at first = off")


def decayed(w: Value, g: Value, p: Any) -> Value:
    """The gradient with that of weight_decay / 2 · w² added."""
    return g + p.weight_decay * w if p.used("weight_decay") else g


@optimiser(
    "SGD",
    params={
        "lr": Live(0.1, min=0.0),
        "momentum": Param(0.0, min=0.0, max=1.0),
        "nesterov": Param(False),
        "weight_decay": DECAY,
    },
    slots=("momentum",),
)
def sgd(w: Value, g: Value, s: Any, p: Any) -> Value:
    """Steps against the gradient, with optional momentum, Nesterov and L2 decay, as torch.optim.SGD without dampening.

    Formula:
        g ← g + weight_decay · w
        b ← momentum · b + g
        w ← w − lr · b
        nesterov: w ← w − lr · (g + momentum · b)
    """
    g = decayed(w, g, p)
    if p.momentum:
        s.momentum = p.momentum * s.momentum + g
        g = g + p.momentum * s.momentum if p.nesterov else s.momentum
    return w - p.lr * g


def adam_step(g: Value, s: Any, p: Any) -> Value:
    """What Adam takes off a parameter."""
    s.m = p.beta1 * s.m + (1 - p.beta1) * g
    s.v = p.beta2 * s.v + (1 - p.beta2) * g * g
    denominator = sqrt(s.v) / square_root(1 - p.beta2**p.step) + p.eps
    return (p.lr / (1 - p.beta1**p.step)) * s.m / denominator


@optimiser(
    "Adam",
    params={"lr": Live(1e-3, min=0.0), "beta1": BETA1, "beta2": BETA2, "eps": Live(1e-8, min=0.0), "weight_decay": DECAY},
    slots=("m", "v"),
)
def adam(w: Value, g: Value, s: Any, p: Any) -> Value:
    """Adam with bias correction, as torch.optim.Adam: eps is added after the corrected square root
    (Kingma and Ba 2015, arXiv 1412.6980). t counts updates from 1.

    Formula:
        g ← g + weight_decay · w
        m ← beta1 · m + (1 − beta1) · g
        v ← beta2 · v + (1 − beta2) · g²
        w ← w − lr · (m / (1 − beta1 ^ t)) / (√(v / (1 − beta2 ^ t)) + eps)
    """
    return w - adam_step(decayed(w, g, p), s, p)


@optimiser(
    "AdamW",
    params={
        "lr": Live(1e-3, min=0.0),
        "beta1": BETA1,
        "beta2": BETA2,
        "eps": Live(1e-8, min=0.0),
        "weight_decay": Live(1e-2, min=0.0, doc="lr times so much of the parameter is taken off it in each step"),
        "decay_vectors": Param(True, doc="whether biases and the weights of norms, all of rank 1, decay too"),
    },
    slots=("m", "v"),
)
def adamw(w: Value, g: Value, s: Any, p: Any) -> Value:
    """Adam with decay apart from the gradient, as torch.optim.AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101).
    t counts updates from 1.

    Formula:
        m ← beta1 · m + (1 − beta1) · g
        v ← beta2 · v + (1 − beta2) · g²
        w ← w − lr · weight_decay · w
        w ← w − lr · (m / (1 − beta1 ^ t)) / (√(v / (1 − beta2 ^ t)) + eps)
    """
    decays = p.used("weight_decay") and (p.decay_vectors or w.rank > 1)
    kept = w * (1 - p.lr * p.weight_decay) if decays else w
    return kept - adam_step(g, s, p)


@optimiser(
    "RMSprop",
    params={
        "lr": Live(1e-2, min=0.0),
        "alpha": Live(0.99, min=0.0, max=0.99999, doc="decay of the mean square"),
        "eps": Live(1e-8, min=0.0),
        "momentum": Param(0.0, min=0.0, max=1.0),
        "centered": Param(False, doc="divide by the deviation instead of the root mean square"),
        "weight_decay": DECAY,
    },
    slots=("square", "mean", "momentum"),
)
def rmsprop(w: Value, g: Value, s: Any, p: Any) -> Value:
    """Gradients divided by the root of their mean square, as torch.optim.RMSprop
    (Tieleman and Hinton 2012; centred: Graves 2013).

    Formula:
        g ← g + weight_decay · w
        v ← alpha · v + (1 − alpha) · g²
        b ← momentum · b + g / (√v + eps)
        w ← w − lr · b
        centered: √(v − a²) instead of √v, where a ← alpha · a + (1 − alpha) · g
    """
    g = decayed(w, g, p)
    s.square = p.alpha * s.square + (1 - p.alpha) * g * g
    power = s.square
    if p.centered:
        s.mean = p.alpha * s.mean + (1 - p.alpha) * g
        power = power - s.mean * s.mean
    step = g / (sqrt(power) + p.eps)
    if p.momentum:
        s.momentum = p.momentum * s.momentum + step
        step = s.momentum
    return w - p.lr * step


@optimiser(
    "Adagrad",
    params={"lr": Live(1e-2, min=0.0), "lr_decay": Live(0.0, min=0.0), "eps": Live(1e-10, min=0.0), "weight_decay": DECAY},
    slots=("sum",),
)
def adagrad(w: Value, g: Value, s: Any, p: Any) -> Value:
    """Gradients divided by the root of the sum of all their squares so far, as torch.optim.Adagrad (Duchi et al. 2011).
    t counts updates from 1.

    Formula:
        g ← g + weight_decay · w
        s ← s + g²
        w ← w − lr / (1 + (t − 1) · lr_decay) · g / (√s + eps)
    """
    g = decayed(w, g, p)
    s.sum = s.sum + g * g
    return w - (p.lr / (1 + (p.step - 1) * p.lr_decay)) * g / (sqrt(s.sum) + p.eps)


@optimiser(
    "Lion",
    params={
        "lr": Live(1e-4, min=0.0),
        "beta1": BETA1,
        "beta2": Live(0.99, min=0.0, max=0.99999),
        "weight_decay": Live(0.0, min=0.0, doc="lr times so much of the parameter is taken off it; 0 at first = off"),
    },
    slots=("m",),
)
def lion(w: Value, g: Value, s: Any, p: Any) -> Value:
    """Steps of equal size by the sign of an average of gradients (Chen et al. 2023, arXiv 2302.06675), with decay as in AdamW.

    Formula:
        d = sign(beta1 · m + (1 − beta1) · g)
        m ← beta2 · m + (1 − beta2) · g
        w ← w − lr · weight_decay · w − lr · d
    """
    before = s.m
    direction = sign(p.beta1 * before + (1 - p.beta1) * g)
    s.m = p.beta2 * before + (1 - p.beta2) * g
    kept = w * (1 - p.lr * p.weight_decay) if p.used("weight_decay") else w
    return kept - p.lr * direction
