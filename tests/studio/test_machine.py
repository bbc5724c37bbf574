"""The machine's view without a window: pass rows, memory map, timeline, fusion, figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from munet import Session
from munet.inspect import Limits, NodeTime, PassView, TimedPass, Timings, plan_of
from studio import fusion, memorymap, passrows, timeline
from studio.figures import bytes_text, count_text, percent_text, three, times_text, us_text

LIMITS = Limits("toy", copy_gb_s=10.0, gflop_s=100.0, pass_us=1.0)


def view(index: int, level: int, nodes: tuple[str, ...], kernel: str = "map", variant: str = "generated") -> PassView:
    return PassView(index, level, f"p{index}", nodes, kernel, variant, "why", (10 - index, 1, 2), 1000 * index, 500, 4000)


PASSES = (view(0, 0, ("b", "c")), view(1, 1, ("a",), "contraction", "tiled"), view(2, 1, ("block 1/a",)))


def timings(*us: float, levels: tuple[float, ...] = (4.0, 7.0)) -> Timings:
    phases = ("forward", "backward", "update")
    timed = tuple(
        TimedPass(p.index, p.level, p.name, p.nodes, time, p.flops, p.bytes_read + p.bytes_written, phase)
        for p, time, phase in zip(PASSES, us, phases, strict=True)
    )
    return Timings("toy", 1, timed, (NodeTime("a"),), None, levels)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open("digits_lenet", "cpu") as opened:
        yield opened


def test_figures_are_short() -> None:
    assert [us_text(us) for us in (0.5, 1.234, 999.4, 999.6, 12345.0, 2.5e6)] == [
        "500 ns", "1.23 µs", "999 µs", "1.00 ms", "12.3 ms", "2.50 s",
    ]  # fmt: skip
    assert [bytes_text(n) for n in (0, 640, 1000, 1_881_600, 3e9)] == ["0 B", "640 B", "1.00 kB", "1.88 MB", "3.00 GB"]
    assert [count_text(n) for n in (12, 1234, 35e6)] == ["12", "1.23k", "35.0M"]
    assert [percent_text(share) for share in (0.012, 0.0995, 1.234)] == ["1.2 %", "10 %", "123 %"]
    assert [three(x) for x in (0.1234, 9.996, 99.96)] == ["0.12", "10.0", "100"]
    assert times_text(22, 2) == "11.0×" and times_text(2, 3) == "1.50× more" and times_text(0, 3) == ""


def test_rows_know_their_share_and_what_holds_them() -> None:
    rows = passrows.rows_of(PASSES, timings(1.0, 2.0, 1.0), LIMITS)
    assert [row.share for row in rows] == [0.25, 0.5, 0.25]
    assert rows[1].gb_s == pytest.approx(0.75) and rows[1].gflop_s == pytest.approx(2.0)
    assert rows[1].limit == pytest.approx(0.075) and rows[1].limited_by == "memory"
    assert rows[0].limit == pytest.approx(0.05)
    assert (rows[1].kernel, rows[0].kernel) == ("contraction / tiled", "map")
    assert rows[0].grid == "10×2" and rows[0].nodes == "b, c"
    bare = passrows.rows_of(PASSES, None, None)
    assert [passrows.BY_NAME[name].words(bare[0]) for name in ("us", "share", "limit", "gb_s")] == ["", "", "", ""]


def test_rows_sort_by_any_column_and_equal_ones_keep_their_order() -> None:
    rows = passrows.rows_of(PASSES, timings(1.0, 2.0, 1.0), None)

    def order(column: str, descending: bool = False) -> list[int]:
        return [row.view.index for row in passrows.sorted_rows(rows, column, descending)]

    assert order("us", True) == [1, 0, 2]
    assert order("nodes") == [1, 0, 2]
    assert order("grid") == [2, 1, 0]
    assert order("kernel") == [1, 0, 2]
    for column in passrows.COLUMNS:
        assert sorted(order(column.name)) == [0, 1, 2]


def test_a_subgraph_stands_for_what_is_inside() -> None:
    assert passrows.passes_of_nodes(PASSES, frozenset({"a"})) == {1}
    assert passrows.passes_of_nodes(PASSES, frozenset({"block 1"})) == {2}
    assert passrows.passes_of_nodes(PASSES, frozenset()) == frozenset()


def test_values_alive_at_once_never_overlap_on_the_map(session: Session) -> None:
    plan, passes = session.memory_plan, session.passes
    found = memorymap.map_of(plan, passes)
    assert found.width == len(passes) and found.height == plan.memory.arena_bytes
    assert len(found.rects) == sum(value.role == "temporary" for value in plan.values)
    for rect in found.rects:
        assert 0 <= rect.left < rect.right <= found.width and 0 <= rect.bottom < rect.top <= found.height
        middle = (rect.left + rect.right) / 2, (rect.bottom + rect.top) / 2
        hit = found.at(*middle)
        assert hit is not None and (hit is rect or hit.holds(*middle))
    assert found.at(-1.0, 0.0) is None
    everything = memorymap.map_of(plan, passes, memorymap.AREAS)
    assert len(everything.rects) == len(plan.values) and everything.height == plan.total_bytes
    assert [base for _, base, _ in everything.bases] == sorted(base for _, base, _ in everything.bases)


def test_a_thin_rectangle_is_hit_from_nearby(session: Session) -> None:
    plan = session.memory_plan
    found = memorymap.map_of(plan, session.passes)
    top = max(found.rects, key=lambda rect: rect.top)
    above = (top.left + top.right) / 2, top.top + 10
    assert found.at(*above) is None
    near = found.at(*above, slack=20.0)
    assert near is not None and near.holds(above[0], above[1], 20.0)


def test_what_is_told_of_a_value(session: Session) -> None:
    plan = plan_of(session.program)
    sharing = next(value for value in plan.values if value.role == "temporary" and value.shares)
    lines = memorymap.told(sharing, plan)
    assert lines[0].startswith(sharing.name) and sharing.dtype in lines[1]
    assert any(sharing.shares[0].reason in line for line in lines)
    alone = next(value for value in plan.values if not value.shares)
    assert memorymap.told(alone, plan)[-1] == "shares no bytes"
    many = replace(sharing, shares=sharing.shares * 10)
    assert "more" in memorymap.told(many, plan)[-1]
    assert dict(memorymap.figures(plan))["saved by sharing"].endswith("%)")


def test_bars_follow_one_another(session: Session) -> None:
    line = timeline.timeline_of(timings(1.0, 2.0, 1.0))
    passes = [bar for bar in line.bars if bar.lane != "levels"]
    assert [(bar.start, bar.end, bar.lane) for bar in passes] == [(0, 1, "forward"), (1, 3, "backward"), (3, 4, "update")]
    levels = [bar for bar in line.bars if bar.lane == "levels"]
    assert [(bar.start, bar.end) for bar in levels] == [(0, 4), (4, 11)]
    assert levels[1].nodes == ("a", "block 1/a") and line.end == 11
    assert line.at(1.5, "backward") is passes[1] and line.at(1.5, "forward") is None
    assert line.near(0.95, "backward", 0.1) is passes[1] and line.near(0.5, "backward", 0.1) is None
    real = timeline.timeline_of(session.profile(1))
    assert {bar.lane for bar in real.bars} == set(timeline.LANES)


def test_fusion_side_by_side(session: Session) -> None:
    found = session.unfused()
    lines = fusion.figures(found, session.passes, LIMITS, timings(1.0, 2.0, 1.0))
    assert [line.name for line in lines] == ["passes", "barriers", "bytes moved", "results kept", "best time", "measured"]
    assert lines[0].without == str(found.unfused.passes) and lines[0].is_less and lines[-1].fused == "11.0 µs"
    assert len(fusion.figures(found, session.passes, None, None)) == 4
    groups = fusion.groups(found)
    assert sum(len(group.ops) for group in groups) == len(found.ops)
    assert groups[-1].node == ""
    (conv,) = fusion.groups(found, frozenset({"conv 2"}))
    assert conv.node == "conv 2" and conv.passes and conv.bytes_moved > 0
    gone = next(op for op in found.ops if not op.passes)
    assert fusion.went(gone) == "removed"
    assert fusion.went(replace(gone, passes=(1, 2, 3, 4))) == "→ 1, 2, 3, …"
    assert fusion.groups(found, frozenset({"nobody"})) == ()
