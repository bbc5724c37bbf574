"""ComputePass and PassList: what a device is told to do in one step, decided down to the byte.

A pass is one dispatch: its kernel, what it binds, its grid. Passes of one level have no hazard between
them and may run at the same time; a barrier stands between levels. Executing decides nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from munet.engine.ir.module import Op, Origin, Value


@dataclass(frozen=True)
class Placement:
    """Where a value lies: a named buffer and the byte offset in it."""

    buffer: str
    offset_bytes: int
    size_bytes: int

    @property
    def end_bytes(self) -> int:
        return self.offset_bytes + self.size_bytes


@dataclass(frozen=True)
class Binding:
    """One storage-buffer binding of a pass; its index in `ComputePass.bindings` is the binding number in the GLSL.

    `bytes_read`, `bytes_written`: what the kernel uses of it, where that is less than all.
    """

    placement: Placement
    access: str  # "read", "write" or "read_write"
    value: Value | None = None
    bytes_read: int | None = None
    bytes_written: int | None = None

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes read and bytes written."""
        size = self.placement.size_bytes
        read = size if self.bytes_read is None else min(size, self.bytes_read)
        written = size if self.bytes_written is None else min(size, self.bytes_written)
        return read if self.access != "write" else 0, written if self.access != "read" else 0


@dataclass(frozen=True)
class Kernel:
    """GPU code of a pass. Equal `glsl` and `constants` mean an equal pipeline, which executors share."""

    name: str
    glsl: str  # complete source; includes are resolved under assets/shaders/include
    binding_count: int
    push_bytes: int = 0
    constants: tuple[tuple[int, int], ...] = ()  # specialization constants: (constant_id, value)
    variant: str = "generated"  # the shader-asset variant it came from
    reason: str = ""  # why this kernel was chosen


@dataclass(frozen=True)
class ComputePass:
    """One dispatch. `ops` are what it means: the CPU executor and the comparison tool run them, in any order."""

    name: str
    ops: tuple[Op, ...]
    kernel: Kernel
    bindings: tuple[Binding, ...]
    grid: tuple[int, int, int]
    level: int = 0
    push: bytes = b""
    flops: int = 0
    origins: tuple[Origin, ...] = ()
    riders: tuple[Op, ...] = ()  # ops done on the way, after `ops`, by the passes of this level that make what they read

    @property
    def bytes_read(self) -> int:
        """Each element that is used counted once."""
        return sum(b.moved[0] for b in self.bindings)

    @property
    def bytes_written(self) -> int:
        return sum(b.moved[1] for b in self.bindings)


@dataclass(frozen=True)
class PassList:
    """The passes of a step in order; levels never decrease along it."""

    passes: tuple[ComputePass, ...]

    def __iter__(self) -> Iterator[ComputePass]:
        return iter(self.passes)

    def __len__(self) -> int:
        return len(self.passes)

    @property
    def level_count(self) -> int:
        return 1 + max((p.level for p in self.passes), default=-1)

    def by_level(self) -> tuple[tuple[ComputePass, ...], ...]:
        levels: list[list[ComputePass]] = [[] for _ in range(self.level_count)]
        for compute_pass in self.passes:
            levels[compute_pass.level].append(compute_pass)
        return tuple(tuple(level) for level in levels)
