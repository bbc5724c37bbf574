"""Text of every stage between a project and its pass list, for people and for golden tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from munet.engine.compile import compile_program, transform
from munet.engine.device import DeviceInfo
from munet.engine.graph import Graph
from munet.engine.ir.module import Module, Value
from munet.engine.ir.text import print_module, type_text
from munet.engine.lower import lower
from munet.engine.passlist import ComputePass
from munet.engine.program import Program
from munet.engine.project import dump_project


def dump(graph: Graph, stage: str, device: DeviceInfo, *, mode: str = "train") -> str:
    """The text of `stage`, a key of STAGES. Raises what the stages before it raise, and KeyError."""
    return STAGES[stage](_Chain(graph, device, mode))


@dataclass(frozen=True)
class _Chain:
    graph: Graph
    device: DeviceInfo
    mode: str

    def module(self) -> Module:
        return lower(self.graph, self.mode).module

    def program(self) -> Program:
        return compile_program(self.module(), self.device)


def print_schedule(program: Program) -> str:
    """Levels with their passes; a barrier stands between levels."""
    lines = [f"{program.name}: {program.pass_count} passes in {program.level_count} levels"]
    for stage in program.pass_lists:
        for number, level in enumerate(stage.by_level()):
            lines.append(f"level {number}")
            lines += [f"  {p.name}  {_nodes(p)}".rstrip() for p in level]
    return "\n".join(lines) + "\n"


def print_memory(program: Program) -> str:
    """Buffers, and what lies where in them; passes count from 0."""
    passes = _passes(program)
    rows = [["buffer", "bytes", "role"], *([b.name, f"{b.size_bytes:,}", b.role] for b in program.buffers)]
    lifetimes: dict[Value, list[int]] = {}
    for index, compute_pass in enumerate(passes):
        for value in dict.fromkeys(v for op in compute_pass.ops for v in (*op.inputs, *op.outputs)):
            lifetimes.setdefault(value, []).append(index)
    places = sorted(
        ((program.placements[value], value, used) for value, used in lifetimes.items()),
        key=lambda item: (item[0].buffer, item[0].offset_bytes, item[2][0]),
    )
    table = [["in buffer", "offset", "bytes", "passes", "value"]]
    for placement, value, used in places:
        text = f"{value.hint} {type_text(value)}".strip()
        table.append([placement.buffer, str(placement.offset_bytes), str(placement.size_bytes), f"{used[0]}-{used[-1]}", text])
    memory = program.memory
    summary = (
        f"temporaries: {memory.arena_bytes:,} bytes planned, {memory.arena_bytes_without_aliasing:,} without sharing, "
        f"at least {memory.arena_lower_bound:,}\n"
    )
    return f"{_table(rows)}\n{_table(table)}\n{summary}"


def print_passes(program: Program) -> str:
    """One line a pass."""
    table = [["#", "level", "pass", "kernel", "grid", "flops", "reads", "writes", "nodes"]]
    for index, p in enumerate(_passes(program)):
        grid = "x".join(map(str, p.grid))
        sizes = [f"{p.flops:,}", f"{p.bytes_read:,}", f"{p.bytes_written:,}"]
        table.append([str(index), str(p.level), p.name, p.kernel.name, grid, *sizes, _nodes(p)])
    return _table(table)


def print_glsl(program: Program) -> str:
    """The source of each distinct kernel, with the passes that use it."""
    users: dict[tuple[str, tuple[tuple[int, int], ...]], list[str]] = {}
    for index, p in enumerate(_passes(program)):
        users.setdefault((p.kernel.glsl, p.kernel.constants), []).append(f"{index} {p.name}")
    parts = [f"// passes: {', '.join(names)}\n{glsl.rstrip()}\n" for (glsl, _), names in users.items()]
    return "\n".join(parts)


STAGES: dict[str, Callable[[_Chain], str]] = {
    "graph": lambda chain: dump_project(chain.graph),
    "ir": lambda chain: print_module(chain.module()),
    "fused": lambda chain: print_module(transform(chain.module(), chain.device)),
    "schedule": lambda chain: print_schedule(chain.program()),
    "memory": lambda chain: print_memory(chain.program()),
    "passes": lambda chain: print_passes(chain.program()),
    "glsl": lambda chain: print_glsl(chain.program()),
}


def _passes(program: Program) -> tuple[ComputePass, ...]:
    return tuple(p for stage in program.pass_lists for p in stage)


def _nodes(compute_pass: ComputePass) -> str:
    return ", ".join(dict.fromkeys(origin[0] for origin in compute_pass.origins if origin))


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side; those that hold only numbers below their head are set to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    right = [all(row[c].replace(",", "").isdigit() for row in rows[1:]) and len(rows) > 1 for c in range(len(widths))]
    lines = []
    for row in rows:
        columns = zip(row, widths, right, strict=True)
        cells = (cell.rjust(width) if at_right else cell.ljust(width) for cell, width, at_right in columns)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"
