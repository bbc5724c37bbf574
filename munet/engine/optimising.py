"""What all optimisers can do besides their own rule: limit the gradients, and keep a running average of the parameters.

    clip_value   each gradient element is held within ± so much      (torch.nn.utils.clip_grad_value_)
    clip_norm    all gradients together are scaled down to a norm     (torch.nn.utils.clip_grad_norm_), after clip_value
    ema          decay of an average of the parameters, one state more for each (torch.optim.swa_utils, get_ema_multi_avg_fn)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from munet.engine.builder import Builder
from munet.engine.hostscalar import HostScalar
from munet.engine.ir.module import Initial, Value
from munet.engine.operator import Operator, find

FAN_IN = 8  # squares added by one op: a kernel binds only so many buffers
LONG = 4096  # elements; longer gradients are added up in two stages, so that one workgroup need not do it all


def clipped(b: Builder, grads: Sequence[Value], numbers: Any) -> list[Value]:
    """The gradients within the optimiser's limits; as they are where there are none. `numbers` are its `Scalars`."""
    found = list(grads)
    if numbers.used("clip_value"):
        limit = numbers.clip_value
        found = [_call("minimum", _call("maximum", g, -limit), limit) for g in found]
    if numbers.used("clip_norm"):
        squares = [_sum_of_squares(g) for g in found]
        while len(squares) > FAN_IN:
            squares = [_call("add_up", *squares[i : i + FAN_IN]) for i in range(0, len(squares), FAN_IN)]
        factor = _call("clip_factor", numbers.clip_norm, *squares)
        found = [g * factor for g in found]
    return found


def average(b: Builder, parameter: Value, updated: Value, decay: HostScalar) -> None:
    """A state "ema" under the current origin: the updated parameter at first, then decay · itself + (1 - decay) · that."""
    moving = HostScalar(f"ema({decay.text})", lambda c: decay.value(c) if c.step else 0.0)
    ema = b.state("ema", parameter.shape, initial=Initial("zeros"), group=f"{b.origin[0]}.ema", dtype=parameter.dtype)
    b.set_result(ema, ema * moving + updated * (1 - moving))


def _sum_of_squares(g: Value) -> Value:
    squares = g * g
    if g.rank > 1 and g.element_count > LONG:
        squares = _call("sum", squares, axes=(-1,))
    return _call("sum", squares)


def _call(name: str, *args: Any, **params: Any) -> Value:
    declared = find(name)
    assert isinstance(declared, Operator)
    return declared(*args, **params)
