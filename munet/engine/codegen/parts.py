"""How an op's work is shared out over invocations: lanes that fold together, blocks of results in one invocation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from munet.engine.codegen.form import Form
from munet.engine.coordinates import identity_element, kernel_of
from munet.engine.device import DeviceInfo
from munet.engine.errors import GraphError, Problem
from munet.engine.index import Index, Var, var
from munet.engine.ir.module import Op, Value
from munet.engine.kernels import Contraction, Site
from munet.engine.scalar import Expr, Fold, children, indices_of

WORKGROUP = 128  # invocations: the baseline that every device has
BUSY = 65_536  # invocations that keep a large GPU busy
BUSY_CPU = 64  # on a CPU driver a handful of workgroups do, and lanes only cost barriers
SIDE_BY_SIDE = 32  # invocations that read next to each other, so that a cache line serves them all
SHORT_FOLD = 128  # turns of a loop that cost little beside a pass
EACH = 4  # elements of a large map that one invocation computes: that many loads are under way at once
EACH_FROM = 4 * 262_144  # elements from which on enough invocations are left
LARGEST_BLOCK = 16  # results of one invocation: registers run out above


@dataclass(frozen=True)
class Part:
    """One op's share of a shader.

    lanes       invocations that fold one row together
    workgroup   the least size of workgroup that this needs
    watched     results whose elements are looked at as they are stored; `flag` is set if one is not finite
    each        elements of a map that an invocation computes, the workgroup's width apart
    rows_first  neighbouring invocations take neighbouring rows, not neighbouring elements of a row
    block       (axis, count) of the result: each invocation computes so many elements along the axis, a stride apart
    """

    form: Form
    lanes: int = 1
    workgroup: int = WORKGROUP
    block: tuple[tuple[int, int], ...] = ()
    watched: frozenset[Value] = frozenset()
    flag: Value | None = None
    rows_first: bool = False
    each: int = 1

    @property
    def rows(self) -> int:
        """Groups of lanes: rows of a reduction, blocks of results of anything else."""
        if self.form.kind == "reduction":
            return self.form.rows
        return math.prod(self.form.space) // math.prod(count for _, count in self.block)

    def groups(self, workgroup: int) -> int:
        """Workgroups of `workgroup` invocations that cover the part."""
        return -(-self.rows // (workgroup // self.lanes * self.each))


def plan_part(form: Form, device: DeviceInfo) -> Part:
    """Lanes and block of an op on a device: enough invocations that it is busy, enough work in each that loads are shared."""
    if form.kind == "contraction":
        op, kernel = contraction_of(form)
        length = math.prod(kernel.summed(Site(op)).values())
        block = _block(form, op, kernel, length, device)
        rows = math.prod(form.space) // math.prod(count for _, count in block)
        lanes = _lanes(rows, length, device)
        return Part(form, lanes, max(lanes, WORKGROUP), block)
    if form.kind == "reduction":
        return _plan_rows(form, device)
    longest = max((fold_length(identity_element(op)) for op in form.ops), default=0)
    if device.loop_limit and longest > device.loop_limit // 2:
        raise too_long(longest, device)
    is_large = form.kind == "map" and longest <= 1 and math.prod(form.space) >= EACH_FROM and not device.is_cpu
    return Part(form, each=EACH if is_large else 1)


def _plan_rows(form: Form, device: DeviceInfo) -> Part:
    lanes = _lanes(form.rows, form.columns, device)
    if device.is_cpu:
        return Part(form, lanes, max(lanes, WORKGROUP))
    across = form.space[-1] if form.space and len(form.space) - 1 not in form.axes else 1
    if across >= SIDE_BY_SIDE // 4:
        # Rows lie next to each other: so must the invocations that read them.
        largest = min(device.max_workgroup_invocations, 1024)
        lanes = min(lanes, max(largest // min(SIDE_BY_SIDE, across), 1))
        lanes = 1 << (lanes.bit_length() - 1)
        if form.columns <= SHORT_FOLD * (WORKGROUP // SIDE_BY_SIDE):
            lanes = min(lanes, WORKGROUP // SIDE_BY_SIDE)  # a small workgroup can ride along in other passes
        workgroup = min(max(WORKGROUP, lanes * SIDE_BY_SIDE), largest)
        return Part(form, lanes, workgroup, rows_first=True)
    while lanes < min(SIDE_BY_SIDE, device.max_workgroup_invocations) and lanes * 8 <= form.columns:
        lanes *= 2  # neighbouring lanes read neighbouring elements
    return Part(form, lanes, max(lanes, WORKGROUP))


def fold_length(expr: Expr) -> int:
    """Turns of the longest loop in an expression."""
    own = expr.count if isinstance(expr, Fold) else 1
    return own * max((fold_length(child) for child in children(expr)), default=1)


def _lanes(rows: int, length: int, device: DeviceInfo) -> int:
    busy, shortest = (BUSY_CPU, 64) if device.is_cpu else (BUSY, 8)
    largest = min(device.max_workgroup_invocations, 1024)
    # A kernel over rows may fold several times and then write its row: a quarter of the limit is safe for each.
    most_turns = device.loop_limit // 4 if device.loop_limit else length
    lanes = 1
    while lanes * 2 <= largest and ((rows * lanes < busy and lanes * 2 * shortest <= length) or -(-length // lanes) > most_turns):
        lanes *= 2
    if -(-length // lanes) > most_turns * 3:
        raise too_long(length, device)
    return lanes


def too_long(length: int, device: DeviceInfo) -> GraphError:
    """For a loop that the driver would cut off without saying so."""
    return GraphError(
        Problem(
            "loop-too-long",
            f"one result sums or searches {length:,} elements",
            rule=f"{device.name} stops after {device.loop_limit:,} turns of a loop",
            cure="a smaller batch, or another device",
        )
    )


def contraction_of(form: Form) -> tuple[Op, Contraction]:
    """The form's contraction and its kernel."""
    for op in form.ops:
        kernel = kernel_of(op)
        if isinstance(kernel, Contraction):
            return op, kernel
    raise ValueError("no contraction here")


def _block(form: Form, op: Op, kernel: Contraction, length: int, device: DeviceInfo) -> tuple[tuple[int, int], ...]:
    """A block along one axis that only the first factor depends on and one that only the second does: each load is used
    as often as the other side of the block is long."""
    first, second = free_axes(form, op, kernel)
    longest_lanes = max(min(length // 8, device.max_workgroup_invocations, 1024), 1)
    busy = BUSY_CPU if device.is_cpu else BUSY
    counts: dict[int, int] = {}

    def grown(axis: int) -> int:
        """The next larger divisor of the axis's size that a block may have, 0 if there is none."""
        now = counts.get(axis, 1)
        return next((n for n in (2, 3, 4, 5, 6, 8) if n > now and form.space[axis] % n == 0), 0)

    while True:
        choices = [(counts.get(axis, 1), axis, n) for axis in (first, second) if axis is not None and (n := grown(axis))]
        for _, axis, n in sorted(choices):
            trial = counts | {axis: n}
            size = math.prod(trial.values())
            if size <= LARGEST_BLOCK and math.prod(form.space) // size * longest_lanes >= busy:
                counts = trial
                break
        else:
            return tuple(sorted(counts.items()))


def free_axes(form: Form, op: Op, kernel: Contraction) -> tuple[int | None, int | None]:
    """The last axis of the result that only the first factor depends on, and the last that only the second does."""
    site = Site(op)
    index = tuple(var(f"a{axis}", size) for axis, size in enumerate(form.space))
    used = [variables_of(f) for f in kernel.factors(site, kernel.output_indices(index) | kernel.sums(site))]
    if len(used) != 2:
        return None, None
    own = [axis for axis, i in enumerate(index) if i.terms and i.terms[0][0] in used[0] - used[1]]
    other = [axis for axis, i in enumerate(index) if i.terms and i.terms[0][0] in used[1] - used[0]]
    return (own[-1] if own else None), (other[-1] if other else None)


def variables_of(expr: Expr) -> set[Var]:
    """Variables that an expression's indices use."""
    found: set[Var] = set()
    for index in indices_of(expr):
        found |= _variables(index)
    return found.union(*(variables_of(child) for child in children(expr)))


def _variables(index: Index) -> set[Var]:
    return {atom for atom in index.atoms() if isinstance(atom, Var)}
