"""Drops ops whose results nobody needs, and sources that nothing reads."""

from __future__ import annotations

from dataclasses import replace

from munet.engine.device import DeviceInfo
from munet.engine.ir.module import Module, Op


def remove_dead_ops(module: Module, device: DeviceInfo) -> Module:
    needed = set(module.results())
    kept: list[Op] = []
    for op in reversed(module.ops):
        if any(value in needed for value in op.outputs):
            kept.append(op)
            needed.update(op.inputs)
    sources = tuple(s for s in module.sources if s.value in needed or s.result is not None or s.role == "state")
    return replace(module, ops=tuple(reversed(kept)), sources=sources)
