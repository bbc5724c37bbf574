"""What all optimisers can do besides their own rule: add up the gradients of several batches, limit them, and keep a running
average of the parameters.

clip_value   each gradient element is held within ± so much      (torch.nn.utils.clip_grad_value_)
clip_norm    all gradients together are scaled down to a norm     (torch.nn.utils.clip_grad_norm_), after clip_value
ema          decay of an average of the parameters, one state more for each (torch.optim.swa_utils, get_ema_multi_avg_fn)

With `accumulate` batches an update, each batch is still a step of the program: it adds its gradients, divided by the number of
batches, to states of their own, and all that the optimiser would change is held, but for every so many steps. The step that
Adam and others count is that of updates; schedules go by batches, as the run's number of steps does. A loss that is a mean
over the batch so gives the update that one large batch would give.
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
        squares = [sum_of_squares(g) for g in found]
        while len(squares) > FAN_IN:
            squares = [_call("add_up", *squares[i : i + FAN_IN]) for i in range(0, len(squares), FAN_IN)]
        factor = _call("clip_factor", numbers.clip_norm, *squares)
        found = [g * factor for g in found]
    return found


def average(b: Builder, parameter: Value, updated: Value, decay: HostScalar, every: int = 1, due: Value | None = None) -> None:
    """A state "ema" under the current origin: the updated parameter at first, then decay · itself + (1 - decay) · that."""
    moving = HostScalar(f"ema({decay.text})", lambda c: decay.value(c) * (c.step >= every))
    ema = b.state("ema", parameter.shape, initial=Initial("zeros"), group=f"{b.origin[0]}.ema", dtype=parameter.dtype)
    b.set_result(ema, held(ema, ema * moving + updated * (1 - moving), due))


def update_due(b: Builder, every: int) -> Value | None:
    """A truth value: whether this step is one of those that update; None where all of them do."""
    if every == 1:
        return None
    return _call("greater", b.scalar(HostScalar(f"due({every})", lambda c: 1.0 * ((c.step + 1) % every == 0))), 0.5)


def accumulated(b: Builder, g: Value, every: int, due: Value | None) -> Value:
    """The mean gradient of the batches since the last update; a state "accumulated" under the current origin."""
    if due is None:
        return g
    state = b.state("accumulated", g.shape, initial=Initial("zeros"), group=f"{b.origin[0]}.accumulated", dtype=g.dtype)
    total = state + g * (1 / every)
    b.set_result(state, held(total, b.constant(0.0, g.dtype), due))
    return total


def held(before: Value, after: Value, due: Value | None) -> Value:
    """What is after the step: `after` where an update is due, else `before`."""
    return after if due is None else _call("where", due, after, before)


def sum_of_squares(g: Value) -> Value:
    """Of all elements, as a rank-0 value."""
    squares = g * g
    if g.rank > 1 and g.element_count > LONG:
        squares = _call("sum", squares, axes=(-1,))
    return _call("sum", squares)


def _call(name: str, *args: Any, **params: Any) -> Value:
    declared = find(name)
    assert isinstance(declared, Operator)
    return declared(*args, **params)
