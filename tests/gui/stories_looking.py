"""Looking at a drawing: colour modes, what hovering tells, the minimap, zooms, a thousand nodes."""

from __future__ import annotations

import sys
import time

from munet import Edge, Graph, Node, load_project, save_project
from studio import messages
from tests.gui.drawing import drag, free
from tests.gui.hand import PROJECTS, Hand, Point


def colours(hand: Hand) -> None:
    """Colour modes by their keys, their legend, badges; what hovering tells; the minimap; the guilty node of a NaN."""
    app, core = hand.app, hand.app.core
    path = hand.folder / "spiral.json"
    graph = load_project(PROJECTS / "spiral_mlp.json")
    save_project(graph, path)
    app.actions.open_path(path)
    hand.until(lambda: core.findings.version == core.document.version)
    hand.frames(4)
    heat = app.canvas.heat
    hand.key("alt+3")
    hand.frames(3)
    assert heat.mode == "time" and heat.legend is not None and heat.legend.hint
    core.trainer.measure()
    hand.until(lambda: bool(heat.times) and core.trainer.phase == messages.READY)
    hand.until(lambda: app.canvas.pictures.pending == 0, 5)
    assert heat.legend is not None and heat.legend.high and len(set(heat.colors.values())) > 2
    hand.to(hand.node("linear 1"))
    hand.until(lambda: "forward" in app.tip.text and "parameters" in app.tip.text, 10)
    hand.frames(2)
    hand.keep("time")
    at = core.scene.views["linear 1"]
    hand.to(free(hand, (at.x + 10, at.y - 11)))
    hand.until(lambda: "backward" in app.tip.text, 5)
    hand.key("alt+4")
    hand.until(lambda: bool(heat.costs), 20)
    hand.frames(3)
    assert heat.legend is not None and heat.legend.high
    hand.keep("memory")
    core.trainer.step()
    hand.key("alt+5")
    hand.until(lambda: bool(heat.norms), 20)
    hand.frames(3)
    assert "e" in heat.badge("linear 1")[0] and heat.legend is not None and heat.legend.high
    hand.keep("gradient")
    hand.key("alt+2")
    hand.frames(3)
    assert heat.legend is not None and "f32" in dict(heat.legend.rows)
    hand.keep("dtype")
    hand.key("alt+1")
    hand.frames(3)
    assert heat.legend is None and core.preferences.color_mode == "category"
    # The minimap: there while something is out of sight; a press and a drag in it move the view; switched off and on.
    assert app.canvas.minimap.shown
    left, top, right, bottom = app.canvas.minimap.rect
    x0, y0 = app.canvas.origin
    before = core.camera.x
    hand.click((x0 + right - 12, y0 + (top + bottom) / 2))
    assert core.camera.x > before + 50 and not core.document.selection
    drag(hand, (x0 + right - 12, y0 + (top + bottom) / 2), (x0 + left + 12, y0 + (top + bottom) / 2))
    assert core.camera.x < before + 50
    hand.key("ctrl+m")
    hand.frames(2)
    assert not app.canvas.minimap.shown
    hand.key("ctrl+m")
    hand.key("Home")
    hand.frames(3)
    assert not app.canvas.minimap.shown
    for zoom in (0.15, 0.3, 0.7, 1.0, 2.0):
        core.camera.zoom_to((100.0, 200.0), zoom)
        hand.frames(2)
        hand.until(lambda: app.canvas.pictures.pending == 0, 5)
        hand.frames(2)
        hand.keep(f"zoom_{zoom}")
    # A rate without bounds: training is held, the guilty node pulses and stays marked.
    hand.key("Home")
    core.set_param("learning rate", "rate", 1e30)
    hand.until(lambda: core.findings.version == core.document.version)
    core.trainer.run()
    hand.until(lambda: any(problem.code == "not-finite" for problem in core.trainer.problems), 60)
    hand.frames(3)
    assert core.trainer.phase == messages.PAUSED
    guilty = app.canvas.pulse.nodes
    assert guilty and guilty <= core.problems.keys()
    hand.keep("nan")


def thousand(hand: Hand) -> None:
    """A thousand nodes: appear over some frames, are panned, zoomed, dragged and boxed, checked off the window's thread."""
    app, core = hand.app, hand.app.core
    nodes = {"x": Node("x", "spiral", {}, (-300.0, 0.0))}
    nodes |= {f"n{i}": Node(f"n{i}", "relu", {}, (230.0 * (i % 40), 110.0 * (i // 40))) for i in range(1000)}
    nodes["l"] = Node("l", "Linear", {"out_features": 4}, (-300.0, 200.0))
    nodes["m"] = Node("m", "mean", {}, (-300.0, 400.0))
    nodes["adam"] = Node("adam", "Adam", {}, (-300.0, 600.0))
    edges = [Edge("x", "x", "l", "x"), Edge("l", "y", "n0", "x"), Edge("n999", "y", "m", "x"), Edge("m", "y", "adam", "loss")]
    edges += [Edge(f"n{i}", "y", f"n{i + 1}", "x") for i in range(999)]
    path = hand.folder / "thousand.json"
    save_project(Graph("thousand", nodes, tuple(edges)), path)
    app.count_anew()
    started = time.thread_time()
    app.actions.open_path(path)
    read_ms = 1000 * (time.thread_time() - started)
    hand.until(lambda: app.canvas.pictures.pending == core.scene.pending == 0 and core.findings.version == core.document.version)
    hand.frames(3)
    opening = app.times
    assert len(core.findings.wires) >= 1000 and len(core.scene.wires) >= 1000
    app.count_anew()
    left, top = app.canvas.origin
    hand.to((left + 300, top + 300))
    hand.x("mousedown", "2")
    for step in range(40):
        hand.x("mousemove", str(round(left + 300 - 6 * step)), str(round(top + 300 - 4 * step)))
    hand.x("mouseup", "2")
    panning = app.times
    app.count_anew()
    for _ in range(14):
        hand.x("click", "5")
    hand.until(lambda: app.canvas.pictures.pending == 0, 20)
    hand.keep("thousand_far")
    for _ in range(10):
        hand.x("click", "4")
    zooming = app.times
    app.count_anew()
    hand.key("ctrl+0")
    seen = sorted(core.scene.nodes_in(core.camera.seen))
    id_ = next(i for i in seen if core.scene.hit(_middle(core.scene.views[i].rect)).node == i)
    at = hand.node(id_)
    drag(hand, at, (at[0] + 60, at[1] + 40), steps=12)
    drag(hand, (left + 5, top + 5), (left + 500, top + 400), steps=12)
    assert len(core.document.selection.nodes) > 3
    dragging = app.times
    hand.keep("thousand")
    sys.stdout.write(f"read {read_ms:.1f} ms, opening {opening}\npanning {panning}\nzooming {zooming}\ndragging {dragging}\n")
    assert panning.median_ms < 5 and dragging.median_ms < 8
    assert read_ms + opening.longest_busy_ms < 50
    assert max(panning.longest_busy_ms, zooming.longest_busy_ms, dragging.longest_busy_ms) < 50


def _middle(rect: tuple[float, float, float, float]) -> Point:
    return (rect[0] + rect[2]) / 2, rect[1] + 12


STORIES = (colours, thousand)
