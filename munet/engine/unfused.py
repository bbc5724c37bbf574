"""What a step would be without fusion: each op a pass of its own, and where each went in the passes that really run.

The same module is compiled again with the transforms off. Transforms keep the values that they do not rewrite, so a value that
a fused pass computes is found there again; a value that is found nowhere was merged with an equal one or simplified away.
"""

from __future__ import annotations

from dataclasses import dataclass

from munet.engine.compile import compile_program
from munet.engine.device import DeviceInfo
from munet.engine.inspect import nodes_of
from munet.engine.ir.module import Module, Shape, Value
from munet.engine.passlist import ComputePass
from munet.engine.profiling import plain_ops
from munet.engine.program import MemoryReport, Program

# Ops that nobody needs are left out here too: nobody would run them.
OFF = ("canonicalise", "merge_equal_ops", "split_sums", "fuse", "pack_updates", "join", "assets")


@dataclass(frozen=True)
class UnfusedOp:
    """An op as a pass of its own. `passes`: those that compute it in truth, more than one where computing beats storing."""

    index: int
    level: int
    operator: str
    node: str
    backward: bool
    shape: Shape
    dtype: str
    kernel: str
    bytes_read: int
    bytes_written: int
    flops: int
    passes: tuple[int, ...] = ()  # empty: merged with an equal op, or simplified away

    @property
    def bytes_moved(self) -> int:
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True)
class Total:
    """Figures of a whole step."""

    passes: int
    levels: int  # as many barriers, less one
    bytes_moved: int
    flops: int
    arena_bytes: int  # intermediate results


@dataclass(frozen=True)
class Unfused:
    """Both programs side by side. `ops` in running order."""

    ops: tuple[UnfusedOp, ...]
    unfused: Total
    fused: Total

    def of(self, node: str) -> tuple[UnfusedOp, ...]:
        """The ops of a node, its gradients included."""
        return tuple(op for op in self.ops if op.node == node)

    def of_pass(self, index: int) -> tuple[UnfusedOp, ...]:
        """The ops that went into a pass."""
        return tuple(op for op in self.ops if index in op.passes)


def unfused(module: Module, program: Program, device: DeviceInfo) -> Unfused:
    """`program` beside what `module`, from which it was compiled, would be without fusion. Nothing is run."""
    plain = compile_program(module, device, off=OFF)
    places: dict[Value, list[int]] = {}
    for index, p in enumerate(_passes(program)):
        for op in (*plain_ops(p), *p.riders):
            for value in op.outputs:
                places.setdefault(value, []).append(index)
    ops = tuple(_op(index, p, places) for index, p in enumerate(_passes(plain)))
    return Unfused(ops, _total(plain, plain.memory), _total(program, program.memory))


def _op(index: int, p: ComputePass, places: dict[Value, list[int]]) -> UnfusedOp:
    inner = tuple(plain_ops(p))
    outputs = [value for op in inner for value in op.outputs]
    made = outputs[-1]
    went = tuple(sorted({place for value in outputs for place in places.get(value, ())}))
    node = next(iter(nodes_of(p)), "")
    backward = any("gradient" in op.origin[1:] for op in inner)
    head = (index, p.level, inner[-1].operator, node, backward, made.shape, made.dtype.name, p.kernel.name)
    return UnfusedOp(*head, p.bytes_read, p.bytes_written, p.flops, went)


def _total(program: Program, memory: MemoryReport) -> Total:
    passes = _passes(program)
    moved = sum(p.bytes_read + p.bytes_written for p in passes)
    return Total(len(passes), program.level_count, moved, sum(p.flops for p in passes), memory.arena_bytes)


def _passes(program: Program) -> tuple[ComputePass, ...]:
    return tuple(p for passes in program.pass_lists for p in passes)
