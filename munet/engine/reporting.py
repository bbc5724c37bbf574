"""Figures of a session as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from munet.engine.operator import REGISTRY

if TYPE_CHECKING:
    from munet.engine.session import Session


def loss_of(session: Session) -> float | None:
    """The training loss of the last finished step: what the first loss node recorded."""
    for name, node in session.nodes.items():
        declared = REGISTRY.get(node.operator)
        if declared is not None and declared.role == "loss":
            for column in (name, *declared.outputs):
                if column in session.metrics:
                    return session.metrics[column]
    return None


def report_of(session: Session) -> dict[str, Any]:
    """What `munet run --json` prints."""
    totals, counters, memory = session.totals, session.executor.counters, session.program.memory
    timed = totals.timed_steps
    return {
        "device": session.executor.info.name,
        "steps": session.step_count,
        "loss": session.loss,
        "metrics": dict(session.metrics),
        "evaluation": session.evaluation,
        "seed": session.seed,
        "passes_per_step": session.program.pass_count,
        "levels_per_step": session.program.level_count,
        "submits": totals.submits,
        "blocking_waits": totals.blocking_waits,
        "arena_bytes": memory.arena_bytes,
        "arena_bytes_without_aliasing": memory.arena_bytes_without_aliasing,
        "arena_lower_bound": memory.arena_lower_bound,
        "gpu_ms_per_step": totals.gpu_ms / timed if timed else None,
        "wall_ms_per_step": 1000 * totals.wall_s / totals.steps if totals.steps else None,
        "cold_start_ms": {"lowering": session.lowering_ms, "shaders": counters.shaders_ms, "device": counters.device_ms},
        "shader_compiles": counters.shader_compiles,
        "counters": asdict(counters),
    }
