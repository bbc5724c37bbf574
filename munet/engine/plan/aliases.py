"""Which values may share bytes although their lives touch: a result overwrites an input that dies with it."""

from __future__ import annotations

from collections.abc import Mapping

from munet.engine.ir.module import Value, users
from munet.engine.plan.levels import Schedule, reads_in_place
from munet.engine.plan.lifetimes import Lifetime


def overwrites(schedule: Schedule, lifetimes: Mapping[Value, Lifetime], fixed: set[Value]) -> dict[Value, Value]:
    """result -> the temporary it takes the place of. `fixed` values are placed by someone else.

    The input must have no reader but this op in its last level, be read by it element for element, and have the same size.
    """
    readers = users(schedule.module.ops)
    taken: dict[Value, Value] = {}
    used: set[Value] = set()
    for op in schedule.module.ops:
        for result in op.outputs:
            if result not in lifetimes or result in fixed or len(op.regions) > 1:
                continue
            for value in op.inputs:
                if value not in lifetimes or value in fixed or value in used or value.size_bytes != result.size_bytes:
                    continue
                dies_here = lifetimes[value].last == schedule.level[op]
                alone = all(r is op or schedule.level[r] < schedule.level[op] for r in readers.get(value, []))
                if dies_here and alone and reads_in_place(op, value, result):
                    taken[result] = value
                    used.add(value)
                    break
    return taken
