"""Schedules: a number over time, worked out on the host once a step, wired into an optimiser's `rate`."""

from __future__ import annotations

import math

from munet.engine.declaring import schedule
from munet.engine.operator import Live, Param


@schedule("constant_rate", params={"rate": Live(1e-3, min=0.0)})
def constant_rate(step: int, rate: float) -> float:
    """Always `rate`.

    Formula: rate(t) = rate
    """
    return rate


@schedule(
    "cosine",
    params={"rate": Live(1e-3, min=0.0), "steps": Param(1000, min=1), "final": Live(0.0, min=0.0), "warmup": Param(0, min=0)},
)
def cosine(step: int, rate: float, steps: int, final: float, warmup: int) -> float:
    """Linear warm-up, then half a cosine from `rate` down to `final` at `steps`; stays there
    (Loshchilov and Hutter 2017, arXiv 1608.03983, without restarts).

    Formula:
        s = min((t − warmup) / max(steps − warmup, 1), 1)
        rate(t) = rate · (t + 1) / warmup if t < warmup, else final + (rate − final) · (1 + cos(π · s)) / 2
    """
    if step < warmup:
        return rate * (step + 1) / warmup
    done = min((step - warmup) / max(steps - warmup, 1), 1.0)
    return final + (rate - final) * 0.5 * (1 + math.cos(math.pi * done))


@schedule("linear_warmup", params={"rate": Live(1e-3, min=0.0), "warmup": Param(100, min=1), "start": Live(0.0, min=0.0)})
def linear_warmup(step: int, rate: float, warmup: int, start: float) -> float:
    """A straight line from `start` to `rate` over the first `warmup` steps, then `rate`; the first step is above `start`.

    Formula: rate(t) = start + (rate − start) · min((t + 1) / warmup, 1)
    """
    return start + (rate - start) * min((step + 1) / warmup, 1.0)


@schedule(
    "step_decay",
    params={"rate": Live(1e-3, min=0.0), "every": Param(100, min=1, doc="steps"), "factor": Live(0.1, min=0.0, max=1.0)},
)
def step_decay(step: int, rate: float, every: int, factor: float) -> float:
    """`rate`, multiplied by `factor` after each `every` steps, as torch.optim.lr_scheduler.StepLR.

    Formula: rate(t) = rate · factor ^ ⌊t / every⌋
    """
    return rate * factor ** (step // every)


@schedule("exponential", params={"rate": Live(1e-3, min=0.0), "factor": Live(0.999, min=0.0, max=1.0)})
def exponential(step: int, rate: float, factor: float) -> float:
    """`rate`, multiplied by `factor` after each step, as torch.optim.lr_scheduler.ExponentialLR.

    Formula: rate(t) = rate · factor ^ t
    """
    return rate * factor**step


@schedule(
    "one_cycle",
    params={
        "rate": Live(1e-3, min=0.0, doc="the largest"),
        "steps": Param(1000, min=2),
        "rise": Param(0.3, min=0.0, max=1.0, doc="share of the steps in which it rises"),
        "start_divisor": Param(25.0, positive=True, doc="it starts as rate over this"),
        "final_divisor": Param(1e4, positive=True, doc="and ends as its start over this"),
    },
)
def one_cycle(step: int, rate: float, steps: int, rise: float, start_divisor: float, final_divisor: float) -> float:
    """Half a cosine up to `rate`, half a cosine down, as torch.optim.lr_scheduler.OneCycleLR without momentum
    (Smith and Topin 2017, arXiv 1708.07120).

    Formula:
        t ← min(t, steps − 1)
        low = rate / start_divisor
        end = low / final_divisor
        top = rise · steps − 1
        s = t / top if t ≤ top, else (t − top) / (steps − 1 − top)
        rate(t) = rate + (low − rate) · (1 + cos(π · s)) / 2 if t ≤ top, else end + (rate − end) · (1 + cos(π · s)) / 2
    """
    start = rate / start_divisor
    top, last = rise * steps - 1, steps - 1
    step = min(step, last)
    if step <= top or top >= last:
        return _cosine(start, rate, step / top if top > 0 else 1.0)
    return _cosine(rate, start / final_divisor, (step - top) / (last - top))


def _cosine(first: float, last: float, done: float) -> float:
    return last + (first - last) * 0.5 * (1 + math.cos(math.pi * done))
