"""Program: everything an executor needs to replay a step, and everything a tool needs to explain it.

Buffers are named. Programs of one session that name the same buffer share it: that is how evaluation sees the
parameters that training writes. Temporaries belong to one program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from munet.engine.dtypes import DType
from munet.engine.ir.module import Module, Shape, Value
from munet.engine.passlist import PassList, Placement


@dataclass(frozen=True)
class HostCall:
    """A stage run on the host between pass lists: matching in a detector, an all-reduce. None is emitted yet."""

    name: str
    call: Callable[[Mapping[str, object]], Mapping[str, object]]


@dataclass(frozen=True)
class BufferSpec:
    """One buffer to allocate. `role`: "temporary", "state", "data" or "feed"."""

    name: str
    size_bytes: int
    role: str


@dataclass(frozen=True)
class Feed:
    """A ring of rows that the host fills ahead of the steps: step s reads row s % capacity."""

    name: str
    placement: Placement
    row_shape: Shape
    dtype: DType
    capacity: int

    @property
    def row_bytes(self) -> int:
        return self.placement.size_bytes // self.capacity


@dataclass(frozen=True)
class Records:
    """The metric ring: f32 [capacity, len(names)]; step s writes row s % capacity."""

    names: tuple[str, ...]
    placement: Placement
    capacity: int

    @property
    def row_bytes(self) -> int:
        return 4 * len(self.names)


@dataclass(frozen=True)
class MemoryReport:
    """Bytes of the temporary arena: as planned, without any sharing, and the least any plan could reach."""

    arena_bytes: int = 0
    arena_bytes_without_aliasing: int = 0
    arena_lower_bound: int = 0


@dataclass(frozen=True)
class Program:
    """Ordered stages, replayed as one step."""

    name: str
    stages: tuple[PassList | HostCall, ...]
    buffers: tuple[BufferSpec, ...]
    placements: Mapping[Value, Placement]
    module: Module  # after all transforms: what the passes were emitted from
    feeds: tuple[Feed, ...] = ()
    records: Records | None = None
    memory: MemoryReport = MemoryReport()
    # for each pass, the byte ranges of the temporary arena that hold nothing when it starts; tests poison them
    dead_ranges: tuple[tuple[Placement, ...], ...] = field(default=())

    @property
    def pass_lists(self) -> tuple[PassList, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, PassList))

    @property
    def pass_count(self) -> int:
        return sum(len(stage) for stage in self.pass_lists)

    @property
    def level_count(self) -> int:
        return sum(stage.level_count for stage in self.pass_lists)

    def feed(self, name: str) -> Feed:
        for feed in self.feeds:
            if feed.name == name:
                return feed
        raise KeyError(name)

    def state_placement(self, name: str) -> Placement:
        """Where the state `name` lies."""
        return self.placements[self.module.source(name).value]
