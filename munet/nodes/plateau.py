"""The one schedule that looks at the loss. It lives on the device: its memory is states, so it resumes bit for bit."""

from __future__ import annotations

from munet.engine.builder import Builder
from munet.engine.declaring import layer
from munet.engine.dtypes import F32
from munet.engine.ir.module import Initial, Value
from munet.engine.operator import Input, Output, Param
from munet.nodes.arithmetic import less, where
from munet.nodes.logic import logical_and, logical_not


@layer(
    "plateau",
    category="Schedules",
    inputs={"loss": Input("", "f32", doc="the number that should fall")},
    params={
        "rate": Param(1e-3, min=0.0, doc="at the start"),
        "factor": Param(0.5, min=0.0, max=1.0, doc="multiplies the rate when the loss no longer falls"),
        "patience": Param(60, min=1, doc="steps without a better loss before that"),
        "threshold": Param(0.002, min=0.0, max=1.0, doc="better means lower by more than this share"),
        "smoothing": Param(0.9, min=0.0, max=0.9999, doc="of the running mean of the loss that is judged"),
        "warmup": Param(0, min=0, doc="steps in which the rate first rises to its start"),
    },
    outputs={"rate": Output("", "f32")},
)
def plateau(
    b: Builder, loss: Value, rate: float, factor: float, patience: int, threshold: float, smoothing: float, warmup: int
) -> Value:
    """`rate`, multiplied by `factor` whenever a running mean of the loss has not improved for `patience` steps.

    The loss of this step decides about the next. Like torch.optim.lr_scheduler.ReduceLROnPlateau with threshold_mode "rel", but
    by steps and on a smoothed loss; after a cut the mean of that moment is the one to beat.

    Formula:
        m ← smoothing · m + (1 − smoothing) · loss
        scale ← scale · factor, after `patience` steps without m < best · (1 − threshold)
        rate(t) = rate · scale · min((t + 1) / warmup, 1)
    """
    scale = b.state("scale", (), initial=Initial("ones"), group="schedule")
    if b.training:
        _watch_loss(b, loss, scale, factor, patience, threshold, smoothing)
    risen = scale * rate
    if not warmup:
        return risen
    done = b.state("done", (), initial=Initial("zeros"), group="schedule", dtype=F32)
    if b.training:
        b.set_result(done, done + 1.0)
    share = (done + 1.0) / float(warmup)
    return risen * where(less(share, 1.0), share, 1.0)


def _watch_loss(b: Builder, loss: Value, scale: Value, factor: float, patience: int, threshold: float, smoothing: float) -> None:
    mean = b.state("mean", (), initial=Initial("constant", (float("inf"),)), group="schedule")
    best = b.state("best", (), initial=Initial("constant", (float("inf"),)), group="schedule")
    bad = b.state("bad", (), initial=Initial("zeros"), group="schedule")
    first = less(3.0e38, mean)  # the mean starts with the first loss
    now = where(first, loss, mean * smoothing + loss * (1.0 - smoothing))
    better = less(now, where(first, now + 1.0, best * (1.0 - threshold)))
    waited = where(better, 0.0, bad + 1.0)
    cut = logical_and(logical_not(better), less(patience - 0.5, waited))
    b.set_result(mean, now)
    b.set_result(best, where(better, now, where(cut, now, best)))
    b.set_result(bad, where(cut, 0.0, waited))
    b.set_result(scale, where(cut, scale * factor, scale))
