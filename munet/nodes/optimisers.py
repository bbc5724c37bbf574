"""Optimisers, written for one element: `w` the parameter, `g` its gradient, `s` the slots, `p` the numbers.

Reading a slot gives its value before the step, assigning it the one after.

Numbers that depend only on live parameters and the step (`p.step`, from 1) are combined on the host in double precision; the
formulas are those of PyTorch, so that equal recipes give equal curves.
"""

from __future__ import annotations

from typing import Any

from munet.engine.hostscalar import square_root
from munet.engine.ir.module import Value
from munet.engine.operator import Live, Param, optimiser
from munet.nodes.arithmetic import sqrt


@optimiser(
    "SGD",
    params={
        "lr": Live(0.1, min=0.0),
        "momentum": Param(0.0, min=0.0, max=1.0),
        "nesterov": Param(False),
        "weight_decay": Live(0.0, min=0.0),
    },
    slots=("momentum",),
)
def sgd(w: Value, g: Value, s: Any, p: Any) -> Value:
    """w − lr · g, with optional momentum, Nesterov and L2 decay, as torch.optim.SGD."""
    g = g + p.weight_decay * w if p.used("weight_decay") else g
    if p.momentum:
        s.momentum = p.momentum * s.momentum + g
        g = g + p.momentum * s.momentum if p.nesterov else s.momentum
    return w - p.lr * g


@optimiser(
    "Adam",
    params={
        "lr": Live(1e-3, min=0.0),
        "beta1": Live(0.9, min=0.0, max=0.9999),
        "beta2": Live(0.999, min=0.0, max=0.99999),
        "eps": Live(1e-8, min=0.0),
    },
    slots=("m", "v"),
)
def adam(w: Value, g: Value, s: Any, p: Any) -> Value:
    """Adam with bias correction, as torch.optim.Adam: eps is added after the corrected square root."""
    s.m = p.beta1 * s.m + (1 - p.beta1) * g
    s.v = p.beta2 * s.v + (1 - p.beta2) * g * g
    denominator = sqrt(s.v) / square_root(1 - p.beta2**p.step) + p.eps
    return w - (p.lr / (1 - p.beta1**p.step)) * s.m / denominator
