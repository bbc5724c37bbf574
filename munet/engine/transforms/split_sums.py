"""Splits long sums and other folds with few results over more of the device: partial ones side by side, then theirs.

A weight gradient sums over every sample and pixel and has a few hundred results; one invocation, even one workgroup, a result
would leave a large GPU idle. The split is plain IR: the summed dimension becomes (parts, rest) in both factors, the
contraction treats `parts` as one more batch dimension, and a reduction adds the parts up, always in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from munet.engine.builder import Builder
from munet.engine.coordinates import kernel_of
from munet.engine.device import DeviceInfo
from munet.engine.ir.module import Module, Op, Value, users
from munet.engine.kernels import Contraction, Reduction, Site, View, reduced_axes
from munet.engine.operator import Operator, find

RESULTS_ENOUGH = 524_288  # results that keep a large GPU busy: 128 tiles of 64 x 64
PRODUCTS_ENOUGH = 3_145_728  # of a contraction that is split anyway: tiles of 64 x 128, three beside each other on each core
LONG = 1024  # terms; a shorter sum stays whole: one more pass would cost more than it saves
SHORTEST_PRODUCTS, SHORTEST_FOLD = 256, 128  # terms that a part keeps
MOST_PARTS = 128


def split_sums(module: Module, device: DeviceInfo) -> Module:
    if device.is_cpu:
        return module
    ops: list[Op] = []
    renamed: dict[Value, Value] = {}
    readers = users(module.ops)
    for op in module.ops:
        read_back = _is_read_back(op, readers)
        op = op.with_inputs([renamed.get(value, value) for value in op.inputs])
        made = _split(op) or (None if read_back else _split_reduction(op))
        if made is None:
            ops.append(op)
        else:
            ops += made
            renamed[op.output] = made[-1].output
    return module.replace_ops(ops, renamed)


def _split(op: Op) -> list[Op] | None:
    kernel = None if op.regions else kernel_of(op)
    if not isinstance(kernel, Contraction):
        return None
    axes = kernel.plain_axes(Site(op))
    if axes is None:
        return None
    name, positions = axes
    sums = kernel.summed(Site(op))
    enough = PRODUCTS_ENOUGH if op.output.element_count < RESULTS_ENOUGH else 0
    parts = _part_count(sums[name], math.prod(sums.values()), op.output.element_count, enough)
    if parts == 1:
        return None
    b = Builder("split")
    with b.active(), b.at_origin(op.origin):
        factors = [_parted(b, value, axis, parts) for value, axis in zip(op.inputs, positions, strict=True)]
        declared = find(op.operator)
        assert isinstance(declared, Operator)
        partial = b.add_op(declared, {socket: [value] for socket, value in zip(op.sockets, factors, strict=True)}, op.params)
        b.call("sum", [partial], axes=(0,), keepdims=False)
    last = b.ops[-1]
    return [*b.ops[:-1], replace(last, outputs=(Value(op.output.shape, op.output.dtype, op.output.hint),))]


def _is_read_back(op: Op, readers: Mapping[Value, list[Op]]) -> bool:
    """Whether the result of a reduction meets tensors of the size it was made from: then one kernel over rows does it all."""
    size = op.inputs[0].element_count if op.inputs else 0
    pending, seen = list(op.outputs), set[Value]()
    while pending:
        value = pending.pop()
        for reader in readers.get(value, []):
            for result in reader.outputs:
                if result.element_count * 2 > size:
                    return True
                if isinstance(kernel_of(reader), View) and result not in seen:
                    seen.add(result)
                    pending.append(result)
    return False


def _split_reduction(op: Op) -> list[Op] | None:
    """Folds over many rows with few results, a bias's gradient, a loss: parts of the longest dimension, then their fold.

    All parts are of one length, so that a mean is the mean of the parts' means.
    """
    kernel = None if op.regions else kernel_of(op)
    if not isinstance(kernel, Reduction) or kernel.finish not in ("acc", "acc / count"):
        return None
    x = op.inputs[0]
    axes = reduced_axes(op.params["axes"], x.rank)
    if not axes:
        return None
    length = math.prod(x.shape[axis] for axis in axes)
    axis = max(axes, key=lambda a: x.shape[a])
    parts = _part_count(x.shape[axis], length, op.output.element_count, shortest=SHORTEST_FOLD)
    if parts == 1:
        return None
    b = Builder("split")
    with b.active(), b.at_origin(op.origin):
        split = b.call("reshape", [x], shape=(*x.shape[:axis], parts, x.shape[axis] // parts, *x.shape[axis + 1 :]))
        partial = b.call(op.operator, [split], axes=tuple(a if a < axis else a + 1 for a in axes), keepdims=False)
        before = sum(1 for a in range(axis) if a not in axes)
        total = b.call(op.operator, [partial], axes=(before,), keepdims=False)
        if total.shape != op.output.shape:
            b.call("reshape", [total], shape=op.output.shape)
    last = b.ops[-1]
    return [*b.ops[:-1], replace(last, outputs=(Value(op.output.shape, op.output.dtype, op.output.hint),))]


def _part_count(size: int, length: int, results: int, enough: int = RESULTS_ENOUGH, shortest: int = SHORTEST_PRODUCTS) -> int:
    """A divisor of the split dimension: as many parts as are wanted and worth it."""
    if length < LONG:
        return 1
    wanted = min(enough // max(results, 1), length // shortest, MOST_PARTS, size)
    return max((n for n in range(1, wanted + 1) if size % n == 0), default=1)


def _parted(b: Builder, value: Value, axis: int, parts: int) -> Value:
    """The dimension `axis` as (parts, rest), parts in front."""
    shape = value.shape
    split = b.call("reshape", [value], shape=(*shape[:axis], parts, shape[axis] // parts, *shape[axis + 1 :]))
    order = (axis, *(i for i in range(split.rank) if i != axis))
    return b.call("transpose", [split], axes=order)
