"""The machine's view: passes, code, memory map, timeline, fusion, problems; and their links with the canvas, both ways."""

from __future__ import annotations

import json
import statistics
import time

import numpy as np

from studio.commands import Delete
from studio.document import selected
from studio.view import copying
from studio.view.gui import dpg
from studio.view.plotbox import PlotBox
from studio.view.plotmouse import PlotMouse
from tests.gui.hand import Hand, Point


def measured(hand: Hand, panel: str) -> None:
    """digits_lenet with times and limits, and a panel in front."""
    app = hand.app
    hand.open("digits_lenet")
    app.panels.show("passes")
    hand.frames(4)
    hand.press(app.passes.measure)
    hand.until(lambda: app.core.trainer.timings is not None and app.machine.limits is not None)
    app.panels.show(panel)
    hand.frames(6)


def at_plot(hand: Hand, box: PlotBox, mouse: PlotMouse, spot: Point) -> Point:
    """Where a point of a plot lies on the screen: two places of the mouse tell."""
    left, top = dpg.get_item_rect_min(box.plot)
    width, height = dpg.get_item_rect_size(box.plot)
    first, second = (left + 0.4 * width, top + 0.4 * height), (left + 0.6 * width, top + 0.6 * height)
    hand.to(first)
    hand.frames(3)
    a = mouse.at
    hand.to(second)
    hand.until(lambda: all(now != then for now, then in zip(mouse.at, a, strict=True)))
    b = mouse.at
    x, y = (first[k] + (spot[k] - a[k]) * (second[k] - first[k]) / (b[k] - a[k]) for k in (0, 1))
    return x, y


def machine_passes(hand: Hand) -> None:
    """Measure; sort by time, both ways; a row selects its nodes, a node marks its rows and scrolls to the first."""
    app, document = hand.app, hand.app.core.document
    measured(hand, "passes")
    passes = app.core.trainer.passes
    assert app.passes.order == tuple(range(len(passes)))
    timings = app.core.trainer.timings
    assert timings is not None
    us = {p.index: p.us for p in timings.passes}
    header = app.passes.cell_at(0, "us")[0] + 12, dpg.get_item_rect_min(app.passes.row(0))[1] - 14
    hand.click(header)
    hand.frames(2)
    assert app.passes.order == tuple(sorted(us, key=lambda index: -us[index]))
    hand.click(header)
    hand.frames(2)
    assert app.passes.order == tuple(sorted(us, key=lambda index: us[index]))
    hand.click((dpg.get_item_rect_min(app.passes.row(0))[0] + 8, header[1]))  # by number again
    hand.frames(2)
    assert app.passes.order == tuple(range(len(passes)))
    hand.press(app.passes.row(1))
    assert document.selection.nodes == set(passes[1].nodes) and app.passes.marked == {1}
    app.core.camera.fit(app.core.scene.bounds_of(["linear 2"]))
    hand.frames(3)
    hand.click(hand.node("linear 2"))
    hand.frames(3)
    expected = {p.index for p in passes if "linear 2" in p.nodes}
    assert app.passes.marked == expected and len(expected) > 1
    assert app.passes.scrolled > 0
    hand.key("ctrl+Down")  # by keys: the first, the next, the last; it is chosen in all panels
    assert app.machine.pass_ == 0 and app.passes.marked == {0}
    hand.key("ctrl+Down")
    assert app.machine.pass_ == 1 and document.selection.nodes == set(passes[1].nodes)
    hand.key("ctrl+Up", "ctrl+Up")
    hand.frames(3)
    assert app.machine.pass_ == len(passes) - 1 and app.passes.marked == {len(passes) - 1}
    app.actions.run("sort_passes")
    assert app.passes.order == tuple(sorted(us, key=lambda index: -us[index]))
    old = app.core.trainer.timings
    hand.key("F7")
    hand.until(lambda: app.core.trainer.timings is not old)
    known = app.machine.limits
    app.actions.run("measure_limits")
    hand.until(lambda: app.machine.limits is not known)
    assert len(np.unique(hand.picture("passes")[560:760, 200:950].reshape(-1, 3), axis=0)) > 50


def machine_code(hand: Hand) -> None:
    """IR and GLSL of a node and of a pass; scrolling draws only what is seen, 2,000 lines too; copy."""
    app = hand.app
    measured(hand, "code")
    assert app.code.index is None
    hand.click(hand.node("conv 1"))
    hand.frames(4)
    assert app.code.index == 0
    hand.until(lambda: len(app.code.glsl.drawn) > 5 and len(app.code.ir.drawn) > 5)
    assert "relu" in app.code.ir.text and "#version 450" in app.code.glsl.text
    hand.press(app.code.copy)
    copied = copying.copied()
    assert app.code.ir.text in copied and app.code.glsl.text in copied
    left, top = dpg.get_item_rect_min(app.code.copy)
    hand.to((left, top + 90))  # over the shader
    hand.x("click", "--repeat", "6", "--delay", "20", "5")
    hand.frames(4)
    assert 0 not in app.code.glsl.drawn and len(app.code.glsl.drawn) < 40
    view = app.code.glsl
    view.show("\n".join(f"float t{n} = max(b0[{n}], 1.5e-3) * {n}.0;  // line {n}" for n in range(2000)))
    hand.frames(3)
    times: list[float] = []
    for step in range(30):
        dpg.set_y_scroll(view.box, step * 400.0)
        hand.frames(1)
        started = time.perf_counter()
        view.sync()
        times.append(time.perf_counter() - started)
    assert statistics.median(times) < 0.03 and max(view.drawn) > 600
    app.machine.choose(2, app.core.trainer.passes[2].nodes)
    hand.frames(4)
    for shown in ((True, False), (False, True), (True, True)):
        app.actions.run("code_view")
        hand.frames(4)
        assert (dpg.is_item_shown(app.code.ir.box), dpg.is_item_shown(app.code.glsl.box)) == shown
    assert app.code.index == 2 and "conv 2" in app.code.ir.text
    hand.picture("code")


def machine_memory(hand: Hand) -> None:
    """The map tells of what is under the mouse; a click selects the node, a node lights its values; the wheel zooms."""
    app, memory = hand.app, hand.app.memory
    measured(hand, "memory")
    hand.until(lambda: memory.plan is not None and bool(memory.map.rects))
    hand.frames(5)
    nodes = app.core.document.part.nodes
    rect = max((r for r in memory.map.rects if r.value.node in nodes), key=lambda r: r.area)
    spot = at_plot(hand, memory.box, memory.mouse, ((rect.left + rect.right) / 2, (rect.bottom + rect.top) / 2))
    hand.click(spot)
    hand.frames(3)
    assert memory.mouse.told and rect.value.name in memory.mouse.told[0]
    assert app.core.document.selection.nodes == {rect.value.node} == memory.lit
    before = memory.box.seen
    hand.x("click", "--repeat", "3", "--delay", "30", "4")
    hand.frames(3)
    now = memory.box.seen
    assert now[0][1] - now[0][0] < before[0][1] - before[0][0]
    hand.double_click(spot)
    hand.frames(6)
    again = memory.box.seen
    assert all(abs(a - b) < 1e-3 * max(before[k]) for k in (0, 1) for a, b in zip(again[k], before[k], strict=True))
    app.core.document.select(selected(["conv 2"]))
    hand.frames(3)
    assert memory.lit == {"conv 2"}
    before_all = len(memory.map.rects)
    for _ in range(2):
        app.actions.run("memory_area")
    app.actions.run("memory_colours")
    hand.frames(4)
    assert len(memory.map.rects) > before_all and {rect.value.role for rect in memory.map.rects} >= {"state", "data", "temporary"}
    hand.picture("memory")


def machine_timeline(hand: Hand) -> None:
    """Bars tell and select; a choice in the timeline marks the row of the pass list; the trace is a file."""
    app, panel = hand.app, hand.app.timeline
    measured(hand, "timeline")
    hand.until(lambda: bool(panel.timeline.bars))
    hand.frames(5)
    bar = max((b for b in panel.timeline.bars if b.lane == "backward" and b.nodes), key=lambda b: b.us)
    spot = at_plot(hand, panel.box, panel.mouse, panel.middle(bar))
    hand.to(spot)
    hand.frames(2)
    assert f"pass {bar.index}" in panel.mouse.told[0]
    hand.click(spot)
    hand.frames(3)
    assert app.core.document.selection.nodes == set(bar.nodes) and app.machine.pass_ == bar.index and panel.lit == {bar.index}
    hand.picture("timeline")
    full = panel.box.seen[0]
    hand.x("click", "--repeat", "4", "--delay", "30", "4")
    before = None
    while panel.box.seen != before:  # the plot takes one notch a frame
        before = panel.box.seen
        hand.frames(12)
    zoomed, old = panel.box.seen, app.core.trainer.timings
    assert zoomed[0][1] - zoomed[0][0] < 0.97 * (full[1] - full[0])
    app.core.trainer.measure()
    hand.until(lambda: app.core.trainer.timings is not old)
    hand.frames(4)
    # New times do not take away what one looks at, unless the step has become so short that it ends before.
    (left, right), end = panel.box.seen[0], panel.end
    assert (left, right) == zoomed[0] or (end < zoomed[0][1] and right <= 1.0001 * end)
    path = hand.folder / "step.json"
    hand.press(panel.export)
    hand.frames(4)
    hand.file(path)
    hand.until(path.is_file, 10.0)
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(event.get("cat") == "pass" for event in events) == len(app.core.trainer.passes)


def machine_fusion(hand: Hand) -> None:
    """Without fusion beside with it: all nodes, the ops of one, and where an op went; a pass row chooses it."""
    app, panel = hand.app, hand.app.fusion
    measured(hand, "fusion")
    hand.until(lambda: panel.found is not None)
    hand.frames(6)
    assert panel.found is not None and panel.found.unfused.passes > 5 * panel.found.fused.passes
    group, row = panel.nodes[2]
    hand.press(row)
    hand.frames(4)
    assert app.machine.paths == {group.node}
    assert [op for op, _ in panel.ops] == list(panel.found.of(group.node))
    app.core.document.select(selected(["relu 2"]))
    hand.frames(4)
    op, row = next((op, row) for op, row in panel.ops if op.operator == "relu")
    hand.press(row)
    hand.frames(2)
    assert {index for index, tag in panel.passes.items() if dpg.get_value(tag)} == set(op.passes)
    hand.press(panel.passes[op.passes[0]])
    hand.frames(4)
    assert app.machine.pass_ == op.passes[0] and {o.index for o, _ in panel.ops} >= {op.index}
    hand.picture("fusion")


def machine_problems(hand: Hand) -> None:
    """A layer is missing: the status line counts, a row shows its node, its tip tells the cure; mended, the list is empty."""
    app = hand.app
    hand.open("xor")
    app.panels.show("problems")
    app.core.edit(Delete(selected(["linear 2"])))
    hand.until(lambda: bool(app.core.findings.problems))
    hand.frames(4)
    problems = app.problems.all
    assert str(len(app.core.findings.problems)) in dpg.get_item_label(app.problems.badge)
    app.panels.show("passes")
    hand.frames(4)
    hand.press(app.problems.badge)
    hand.frames(4)
    assert app.panels.is_seen("problems")
    place = next(number for number, problem in enumerate(problems) if problem.node)
    hand.press(app.problems.rows[place])
    hand.frames(20)
    assert app.core.document.selection.nodes == {problems[place].node}
    hand.picture("problems")
    hand.key("ctrl+z")
    hand.until(lambda: not app.core.findings.problems)
    hand.frames(4)
    assert not dpg.is_item_shown(app.problems.badge) or app.core.findings.remarks


STORIES = (machine_passes, machine_code, machine_memory, machine_timeline, machine_fusion, machine_problems)
