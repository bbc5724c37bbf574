"""With and without fusion side by side: the figures, and the ops of each node with what became of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from munet.inspect import Limits, PassView, Timings, Unfused, UnfusedOp
from studio.figures import bytes_text, count_text, times_text, us_text
from studio.texts import text


@dataclass(frozen=True)
class Figure:
    """A line of the comparison."""

    name: str
    without: str
    fused: str
    gain: str
    is_less: bool = True


@dataclass(frozen=True)
class Group:
    """The ops of a node, in running order."""

    node: str
    ops: tuple[UnfusedOp, ...]

    @property
    def bytes_moved(self) -> int:
        return sum(op.bytes_moved for op in self.ops)

    @property
    def passes(self) -> tuple[int, ...]:
        """Those that the ops went into."""
        return tuple(sorted({index for op in self.ops for index in op.passes}))


def estimate_us(ops: Sequence[UnfusedOp | PassView], limits: Limits) -> float:
    """One after the other, each as fast as the device could."""
    return sum(limits.estimate_us(op.bytes_read + op.bytes_written, op.flops) for op in ops)


def figures(found: Unfused, passes: Sequence[PassView], limits: Limits | None, timings: Timings | None) -> tuple[Figure, ...]:
    """Estimated times are by the device's limits for both, so that they can be compared."""
    a, b = found.unfused, found.fused
    lines = [
        _figure("fusion.passes", a.passes, b.passes, count_text),
        _figure("fusion.barriers", a.levels - 1, b.levels - 1, count_text),
        _figure("fusion.bytes", a.bytes_moved, b.bytes_moved, bytes_text),
        _figure("fusion.arena", a.arena_bytes, b.arena_bytes, bytes_text),
    ]
    if limits is not None:
        lines.append(_figure("fusion.time", estimate_us(found.ops, limits), estimate_us(passes, limits), us_text))
    if timings is not None:
        lines.append(Figure(text("fusion.measured"), "", us_text(timings.levels_us or timings.serialised_us), ""))
    return tuple(lines)


def _figure(key: str, without: float, fused: float, words: Callable[[float], str]) -> Figure:
    return Figure(text(key), words(without), words(fused), times_text(without, fused), fused <= without)


def groups(found: Unfused, only: frozenset[str] = frozenset()) -> tuple[Group, ...]:
    """By node, in the order in which nodes first run; those of `only`, or all. What belongs to no node comes last."""
    inside = tuple(f"{path}/" for path in only)
    by_node: dict[str, list[UnfusedOp]] = {}
    for op in found.ops:
        if not only or op.node in only or op.node.startswith(inside):
            by_node.setdefault(op.node, []).append(op)
    return tuple(Group(node, tuple(ops)) for node, ops in sorted(by_node.items(), key=lambda item: item[0] == ""))


def went(op: UnfusedOp) -> str:
    """Where an op went."""
    if not op.passes:
        return text("fusion.gone")
    shown = ", ".join(map(str, op.passes[:3])) + (", …" if len(op.passes) > 3 else "")
    return text("fusion.pass" if len(op.passes) == 1 else "fusion.several", passes=shown)
