"""Groups ops into kernels. What decides is shape of computation (`KernelKind.kind`), never an operator's name.

A group is what one pass will compute. It grows around an anchor: a contraction, a reduction (then several reductions of
the same rows may join), a view that folds, or just an element-wise op. Walking the module in order, an element-wise op joins the
group that made its latest input when it reads that group's results element for element (an epilogue). Views and cheap ops float:
they are computed where they are read (a prologue), in every reader. What is left gets a group of its own.

Groups must not depend on each other in a circle. Each has a depth, larger than that of all groups it reads; an op may
join a group only if everything else it reads is shallower, or if nobody outside has read the group yet.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from munet.engine.coordinates import Coordinates, Indices, identity_element, kernel_of
from munet.engine.device import DeviceInfo
from munet.engine.ir.module import Module, Op, Region, Shape, Value, users
from munet.engine.kernels import Elementwise, KernelKind, Reduction, Site, Update, View, Watch, reduced_axes
from munet.engine.scalar import Load, count_flops, count_guards

MAX_OPS = 96  # of one group; longer chains are cut
CHEAP_LOADS = 4
CHEAP_FLOPS = 8  # a value that several kernels read is computed in each of them up to this
DEAR_FLOPS = 48  # above this even a single reader gets it from memory if it reads it many times
FREE = frozenset({"constant", "take_scalar"})  # plumbing: always part of whoever reads it


@dataclass(eq=False)
class Group:
    """Ops of one kernel in order. `space` is the shape of its results; rows also fix which axes of `space` are reduced."""

    kind: str  # "map", "reduction", "contraction", "update" or "step" (element-wise updates of states)
    space: Shape
    axes: tuple[int, ...] = ()
    ops: list[Op] = field(default_factory=list)
    depth: int = 0
    read_outside: bool = False
    serial: int = 0  # in order of starting
    where: Coordinates | None = None  # of the first `followed` ops
    followed: int = 0


@dataclass
class Floating:
    """An op computed by its readers: what that costs, and the groups it reads."""

    op: Op
    flops: int
    loads: int
    op_count: int


def fuse(module: Module, device: DeviceInfo) -> Module:
    return Fusion(module, device).run()


class Fusion:
    def __init__(self, module: Module, device: DeviceInfo):
        self.module, self.device = module, device
        self.users = users(module.ops)
        self.results = set(module.results())
        self.member: dict[Value, Group] = {}
        self.floating: dict[Value, Floating] = {}
        self.groups: list[Group] = []
        self.read: dict[tuple[Op, Indices], tuple[Load, ...]] = {}  # loads of ops at indices
        self.rows: dict[tuple[Shape, tuple[int, ...]], Group] = {}  # the last group over rows of each kind
        self.update_ops = self._update_ops()
        self.update_group = self._update_components()
        # what updates read must be in memory, so that updates of all parameters can run as one
        # what is watched too: its maker looks at each element as it is stored
        watched = {v for op in self.module.ops if isinstance(kernel_of(op), Watch) for v in op.inputs}
        self.must = self.results | watched
        self.wanted = self.must | {v for op in self.module.ops if op in self.update_ops for v in op.inputs}

    def run(self) -> Module:
        for op in self.module.ops:
            self._place(op)
        return self.module.replace_ops(self._emit())

    # -- placing one op -------------------------------------------------------------------------------------------------

    def _place(self, op: Op) -> None:
        kernel = kernel_of(op)
        if op in self.update_ops:
            self._place_update(op)
        elif op.operator in FREE and op.output not in self.must:
            self._float(op)
        elif isinstance(kernel, Elementwise | View) and not (isinstance(kernel, View) and kernel.kept):
            self._place_light(op, kernel)
        elif isinstance(kernel, Reduction):
            self._place_reduction(op)
        else:
            group = self._latest_group(op)
            if group and group.kind == "map" and isinstance(kernel, View) and self._fits(op, group) and self._may_join(op, group):
                self._join(op, group)
            elif isinstance(kernel, Update):
                self._start(op, kernel.kind, kernel.space(Site(op)))
            else:
                self._start(op, kernel.kind, op.output.shape)

    def _place_light(self, op: Op, kernel: KernelKind) -> None:
        # A view that looks up where to read (a pick) is work; one that only renames places is free wherever it is read.
        is_view = isinstance(kernel, View) and len(set(op.inputs)) <= 1
        group = self._latest_group(op)
        joins = (
            group is not None
            and (not is_view or op.output in self.wanted)
            and not (group.read_outside and self._is_cheap_later(op))
        )
        if joins and group is not None and self._fits(op, group) and self._may_join(op, group):
            self._join(op, group)
        elif op.output in self.must or self._too_dear_to_float(op):
            self._start(op, "map", op.output.shape)
        else:
            self._float(op)

    def _is_cheap_later(self, op: Op) -> bool:
        """Whether the op is better computed again by its readers (a mask from a kept activation) than kept too."""
        cost = self._cost(op)
        return op.output not in self.wanted and cost.flops <= CHEAP_FLOPS // 2 and cost.loads <= 2

    def _place_reduction(self, op: Op) -> None:
        shape = op.inputs[0].shape
        axes = reduced_axes(op.params["axes"], len(shape))
        # One that reads no kernel's result rides in the last kernel over such rows: its readers mostly are there.
        group = self._latest_group(op) or self.rows.get((shape, axes))
        if (
            group
            and group.kind == "reduction"
            and (group.space, group.axes) == (shape, axes)
            and self._fits(op, group)
            and self._may_join(op, group)
        ):
            self._join(op, group)
        else:
            self._start(op, "reduction", shape, axes)

    def _place_update(self, op: Op) -> None:
        """Element-wise updates of states: one group a parameter, never an epilogue, so that they can be packed."""
        component = self.update_group[op]
        if component.ops:
            self._join(op, component)
        else:
            self._add(component)
            component.space = op.output.shape
            self._join(op, component)

    def _update_components(self) -> dict[Op, Group]:
        """Updates that are connected by values belong together."""
        maker = {v: op for op in self.update_ops for v in op.outputs}
        near: dict[Op, list[Op]] = {op: [] for op in self.module.ops if op in self.update_ops}
        for op in near:
            for value in op.inputs:
                if value in maker:
                    near[op].append(maker[value])
                    near[maker[value]].append(op)
        found: dict[Op, Group] = {}
        sizes: dict[Group, int] = {}
        for start in near:
            if start in found:
                continue
            group, pending = Group("step", ()), [start]
            while pending:
                op = pending.pop()
                if op not in found:
                    found[op] = group
                    sizes[group] = sizes.get(group, 0) + 1
                    pending += near[op]
        # what is longer than a kernel may be is cut like any other chain
        self.update_ops = {op for op in self.update_ops if sizes[found[op]] <= MAX_OPS}
        return found

    def _update_ops(self) -> set[Op]:
        """Element-wise ops that lead to nothing but the next values of states, and read a state of their own shape."""
        results = {s.result for s in self.module.states if s.result is not None and s.value.rank}
        outputs = set(self.module.outputs.values())
        found: set[Op] = set()
        for op in reversed(self.module.ops):
            if not isinstance(kernel_of(op), Elementwise) or op.output in outputs:
                continue
            readers = self.users.get(op.output, [])
            same_shape = all(reader in found and reader.output.shape == op.output.shape for reader in readers)
            if (op.output in results or readers) and same_shape:
                found.add(op)
        return found

    # -- groups ----------------------------------------------------------------------------------------------------------

    def _groups_read(self, op: Op) -> set[Group]:
        """Groups whose results the op reads, through floating ops too."""
        found: set[Group] = set()
        pending, seen = list(op.inputs), set[Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in self.member:
                found.add(self.member[value])
            elif value in self.floating:
                pending += self.floating[value].op.inputs
        return found

    def _latest_group(self, op: Op) -> Group | None:
        groups = [g for g in self._groups_read(op) if g.kind not in ("step", "update", "watch") or op in self.update_ops]
        return max(groups, key=lambda g: (g.depth, g.serial), default=None)

    def _may_join(self, op: Op, group: Group) -> bool:
        if len(group.ops) >= MAX_OPS:
            return False
        others = self._groups_read(op) - {group}
        if self._bindings(op, group) > self.device.max_storage_buffers:
            return False
        return not group.read_outside or all(other.depth < group.depth for other in others)

    def _bindings(self, op: Op, group: Group) -> int:
        """Buffers the group would bind with `op` in it, at most."""
        members = dict.fromkeys((*group.ops, op))
        own = {v for o in members for v in o.outputs}
        return len(self._external(members)) + sum(
            1 for v in own if v in self.results or any(u not in members for u in self.users.get(v, []))
        )

    def _external(self, ops: Collection[Op]) -> set[Value]:
        own = {v for op in ops for v in op.outputs}
        found: set[Value] = set()
        pending, seen = [v for op in ops for v in op.inputs], set[Value]()
        while pending:
            value = pending.pop()
            if value in seen or value in own:
                continue
            seen.add(value)
            if value in self.floating:
                pending += self.floating[value].op.inputs
            else:
                found.add(value)
        return found

    def _join(self, op: Op, group: Group) -> None:
        group.ops.append(op)
        self._reads(op, group)
        self.member.update(dict.fromkeys(op.outputs, group))

    def _start(self, op: Op, kind: str, space: Shape, axes: tuple[int, ...] = ()) -> None:
        self._add(Group(kind, space, axes))
        self._join(op, self.groups[-1])
        if kind == "reduction":
            self.rows[space, axes] = self.groups[-1]

    def _add(self, group: Group) -> None:
        group.serial = len(self.groups)
        self.groups.append(group)

    def _reads(self, op: Op, group: Group) -> None:
        for other in self._groups_read(op) - {group}:
            other.read_outside = True
            group.depth = max(group.depth, other.depth + 1)

    def _cost(self, op: Op) -> Floating:
        """What computing the op where it is read costs, the floating ops behind it included."""
        inputs = [self.floating[v] for v in dict.fromkeys(op.inputs) if v in self.floating]
        element = identity_element(op)
        flops = count_flops(element) + sum(f.flops for f in inputs)
        # A load that may fall outside (a pad) costs a branch wherever it is done again.
        loads = len({v for v in op.inputs if v not in self.floating}) + sum(f.loads for f in inputs) + count_guards(element)
        return Floating(op, flops, loads, 1 + sum(f.op_count for f in inputs))

    def _float(self, op: Op) -> None:
        self.floating[op.output] = self._cost(op)

    def _too_dear_to_float(self, op: Op) -> bool:
        cost, readers = self._cost(op), self.users.get(op.output, [])
        if cost.op_count >= MAX_OPS:
            return True
        if len(readers) > 1 and (cost.flops > CHEAP_FLOPS or cost.loads > CHEAP_LOADS):
            return True
        rereads = any(kernel_of(reader).kind == "contraction" or isinstance(kernel_of(reader), View) for reader in readers)
        return rereads and (cost.flops > DEAR_FLOPS or cost.loads > 2 * CHEAP_LOADS)

    # -- does an op read a group element for element? ------------------------------------------------------------------------

    def _fits(self, op: Op, group: Group) -> bool:
        """Whether each element of the op reads the group's members only at its own place (of a row: in its own row)."""
        where = self._coordinates(group)
        if where is None:
            return False
        self._follow_views(op, where)
        return where.follow(op) and where.aligned(op, self._floating_op, self.read)

    def _floating_op(self, value: Value) -> Op | None:
        floating = self.floating.get(value)
        return floating.op if floating else None

    def _coordinates(self, group: Group) -> Coordinates | None:
        """Those of the group's ops, for the caller to change; None if one lies outside the space. Each op is followed once."""
        if group.where is None:
            group.where = Coordinates(group.kind, group.space, group.axes)
        while group.followed < len(group.ops):
            member = group.ops[group.followed]
            self._follow_views(member, group.where)
            if not group.where.follow(member):
                return None
            group.followed += 1
        return group.where.copy()

    def _follow_views(self, op: Op, where: Coordinates) -> None:
        """Floating views that only move a member's elements have coordinates too: a bias may be added behind a reshape."""
        for value in op.inputs:
            if value in self.floating and value not in where.at:
                view = self.floating[value].op
                self._follow_views(view, where)
                kernel = kernel_of(view)
                if isinstance(kernel, View) and kernel.inverse is not None and view.inputs[0] in where.at:
                    where.follow(view)

    # -- the fused module ------------------------------------------------------------------------------------------------------

    def _emit(self) -> list[Op]:
        order = sorted(self.groups, key=lambda g: g.depth)
        bodies = [self._body(group) for group in order]
        read: dict[Value, int] = {}
        for body in bodies:
            for value in self._inputs_of(body):
                read[value] = read.get(value, 0) + 1
        fused: list[Op] = []
        for group, body in zip(order, bodies, strict=True):
            if group.kind == "watch":
                fused.append(group.ops[0])  # planning and emitting look at it: it gets no kernel
                continue
            outputs = tuple(v for op in group.ops for v in op.outputs if v in self.results or v in read)
            inputs = self._inputs_of(body)
            origin = common_origin(group)
            params = {"kind": group.kind, "space": group.space, "axes": group.axes}
            fused.append(Op("fused", inputs, outputs, params=params, regions=(Region(inputs, body, outputs),), origin=origin))
        return fused

    def _body(self, group: Group) -> tuple[Op, ...]:
        """The group's ops with the floating ops they read, each once, in running order."""
        body: dict[Op, None] = {}

        def add(op: Op) -> None:
            stack: list[tuple[Op, bool]] = [(op, False)]
            while stack:
                current, ready = stack.pop()
                if current in body:
                    continue
                if ready:
                    body[current] = None
                    continue
                stack.append((current, True))
                stack += [(self.floating[v].op, False) for v in reversed(current.inputs) if v in self.floating]

        for op in group.ops:
            add(op)
        return tuple(body)

    def _inputs_of(self, body: Sequence[Op]) -> tuple[Value, ...]:
        own = {v for op in body for v in op.outputs}
        return tuple(dict.fromkeys(v for op in body for v in op.inputs if v not in own))


def common_origin(group: Group) -> tuple[str, ...]:
    """The origin of the anchor: the op that the pass is named after."""
    return group.ops[0].origin
