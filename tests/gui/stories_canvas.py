"""Editing by mouse and keyboard: selecting, wiring, bending, cutting, menus, frames, notes, subgraphs, the clipboard, colours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from munet import Edge, Frame, Graph, Node, load_project, save_project
from studio import messages
from studio.document import selected
from studio.hit import frame_rect
from studio.view.gui import dpg
from tests.gui.hand import PROJECTS, Hand, Point

NAMES = ("a", "b", "c", "d")


@contextmanager
def held(hand: Hand, key: str) -> Iterator[None]:
    hand.x("keydown", key)
    yield
    hand.x("keyup", key)


def drag(hand: Hand, start: Point, end: Point, button: int = 1, steps: int = 4) -> None:
    hand.to(start)
    hand.x("mousedown", str(button))
    for step in range(1, steps + 1):
        t = step / steps
        hand.to((start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])))
    hand.x("mouseup", str(button))


def show(hand: Hand, graph: Graph, zoom: float = 1.0) -> None:
    """A drawing with its origin near the canvas' corner."""
    core = hand.app.core
    core.open(graph, None)
    hand.until(lambda: core.findings.version == core.document.version)
    hand.frames(4)
    core.camera.x, core.camera.y, core.camera.zoom = -30.0, -60.0, zoom
    core.camera.version += 1
    hand.until(lambda: hand.app.canvas.pictures.pending == 0, 5)


def four() -> Graph:
    """Four activations in two rows, the upper two wired."""
    places = ((0.0, 0.0), (300.0, 0.0), (0.0, 180.0), (300.0, 180.0))
    nodes = {name: Node(name, "relu", {}, at) for name, at in zip(NAMES, places, strict=True)}
    return Graph(nodes=nodes, edges=(Edge("a", "y", "b", "x"),))


def along(hand: Hand, edge: Edge, share: float) -> Point:
    points = hand.app.core.scene.wires[edge].points
    return hand.on_screen(points[round(share * (len(points) - 1))])


def free(hand: Hand, at: Point) -> Point:
    """A place of the drawing in pixels of the window."""
    return hand.on_screen(at)


def wires(hand: Hand) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in hand.app.core.document.part.edges]


def by_mouse(hand: Hand) -> None:
    """A drag after a click is no double click; boxes; wires taken at both ends; cuts; bends; inserting; the palette."""
    app, core = hand.app, hand.app.core
    document = core.document
    show(hand, four())
    # A press and a drag right after a click move the node and do not rename it.
    at = hand.node("c")
    hand.to(at)
    hand.x("click", "1")
    before = document.part.nodes["c"].position
    subprocess.run(
        ["xdotool", "mousedown", "1", "mousemove_relative", "0", "30", "mousemove_relative", "0", "30", "mouseup", "1"],
        check=True,
    )
    hand.frames(8)
    assert not app.editing.inplace.is_open
    assert document.part.nodes["c"].position[1] > before[1] + 40
    hand.key("ctrl+z")
    assert document.part.nodes["c"].position == before
    # Boxes: a new selection, more with Shift, turned round with Ctrl.
    drag(hand, free(hand, (-20, -30)), free(hand, (500, 120)))
    assert document.selection.nodes == {"a", "b"}
    with held(hand, "shift"):
        drag(hand, free(hand, (-20, 150)), free(hand, (150, 290)))
    assert document.selection.nodes == {"a", "b", "c"}
    with held(hand, "ctrl"):
        drag(hand, free(hand, (-20, -30)), free(hand, (150, 290)))
    assert document.selection.nodes == {"b"}
    hand.click(free(hand, (230, 300)))
    assert not document.selection
    # A wire's end goes elsewhere: its target, then its source; pulled off it is gone; all of it undone.
    wire = Edge("a", "y", "b", "x")
    drag(hand, hand.socket("b", "in", "x"), hand.socket("d", "in", "x"))
    assert wires(hand) == [("a", "d")]
    drag(hand, along(hand, Edge("a", "y", "d", "x"), 0.15), hand.socket("c", "out", "y"))
    assert wires(hand) == [("c", "d")]
    drag(hand, hand.socket("d", "in", "x"), free(hand, (240, 330)))
    assert wires(hand) == []
    hand.key("ctrl+z", "ctrl+z", "ctrl+z")
    assert document.part.edges == (wire,)
    # Bends: by double click, by Alt and a click, by Alt and a drag; each one step back.
    hand.double_click(along(hand, wire, 0.5))
    assert wires(hand) == [("a", "reroute"), ("reroute", "b")]
    hand.key("ctrl+z")
    with held(hand, "alt"):
        hand.click(along(hand, wire, 0.5))
    assert wires(hand) == [("a", "reroute"), ("reroute", "b")]
    hand.key("ctrl+z")
    with held(hand, "alt"):
        start = along(hand, wire, 0.5)
        drag(hand, start, (start[0], start[1] + 60))
    assert wires(hand) == [("a", "reroute"), ("reroute", "b")]
    bend = document.part.nodes["reroute"].position
    assert abs(core.camera.to_screen(bend)[1] + app.canvas.origin[1] + 8 - start[1] - 60) < 5
    hand.keep("bend")
    hand.key("ctrl+z")
    assert document.part.edges == (wire,) and "reroute" not in document.part.nodes
    hand.key("ctrl+y")
    assert "reroute" in document.part.nodes
    hand.key("ctrl+z")
    # Cut: with the right button, and with Alt over empty canvas.
    middle = along(hand, wire, 0.5)
    drag(hand, (middle[0], middle[1] - 40), (middle[0], middle[1] + 40), button=3)
    assert wires(hand) == [] and not app.editing.popup.is_open
    hand.key("ctrl+z")
    with held(hand, "alt"):
        drag(hand, (middle[0] - 5, middle[1] - 50), (middle[0] - 5, middle[1] + 40))
    assert wires(hand) == []
    hand.key("ctrl+z")
    # A node dropped onto the wire goes into it; one step back takes it out and to its old place.
    head, view = hand.node("c"), core.scene.views["c"]
    offset = (middle[0] - free(hand, (view.x + view.width / 2, 0))[0], middle[1] - free(hand, (0, view.y + view.height / 2))[1])
    hand.to(head)
    hand.x("mousedown", "1")
    hand.to((head[0] + offset[0] / 2, head[1] + offset[1] / 2))
    hand.to((head[0] + offset[0], head[1] + offset[1]))
    assert core.tool.insert == wire
    hand.keep("insert")
    hand.x("mouseup", "1")
    assert wires(hand) == [("a", "c"), ("c", "b")]
    hand.key("ctrl+z")
    assert document.part.edges == (wire,) and document.part.nodes["c"].position == before
    # Escape during a drag takes it back.
    hand.to(head)
    hand.x("mousedown", "1")
    hand.to((head[0] + 50, head[1] + 50))
    hand.key("Escape")
    hand.x("mouseup", "1")
    assert document.part.nodes["c"].position == before
    # From the palette onto the canvas.
    hand.click((dpg.get_item_rect_min(app.palette.input)[0] + 40, dpg.get_item_rect_min(app.palette.input)[1] + 10))
    hand.type("tanh")
    hand.frames(4)
    row = app.palette.rows["tanh"]
    left, top = dpg.get_item_rect_min(row)
    drag(hand, (left + 20, top + 8), free(hand, (230, 330)))
    assert "tanh" in document.part.nodes
    x, y = document.part.nodes["tanh"].position
    assert abs(x + 40 - 230) < 6 and abs(y + 12 - 330) < 6
    hand.key("Escape")


def menus(hand: Hand) -> None:
    """Menus of a node, a wire, a frame, a socket and the canvas; fields in place; frames; notes; cures by the keyboard."""
    app, core = hand.app, hand.app.core
    document, popup, field = core.document, app.editing.popup, app.editing.inplace
    graph = replace(four(), frames=(Frame("stage", (-20.0, 140.0), (500.0, 150.0)),))
    show(hand, graph)
    # A node: Escape closes; arrows and Enter choose; its note is typed in place.
    hand.click(hand.node("a"), 3)
    hand.frames(2)
    assert popup.is_open and document.selection.nodes == {"a"}
    hand.keep("menu_node")
    hand.key("Escape")
    assert not popup.is_open and document.selection.nodes == {"a"}
    hand.click(hand.node("a"), 3)
    hand.key("Down", "Down", "Return")
    hand.frames(6)
    assert field.is_open
    hand.type("first of all")
    hand.keep("note")
    hand.key("ctrl+Return")
    assert document.part.nodes["a"].note == "first of all" and not field.is_open
    hand.click(hand.node("a"), 3)
    hand.press(popup.buttons["Mute or bypass"])
    assert document.part.nodes["a"].muted
    hand.key("shift+m")
    assert document.part.nodes["a"].frozen
    # Names in place: by double click, by F2; Escape keeps the old one; keys are the field's meanwhile.
    hand.double_click(hand.node("b"))
    hand.frames(4)
    assert field.is_open
    hand.type("last x")
    hand.keep("rename")
    hand.key("Return")
    assert "last x" in document.part.nodes and not field.is_open
    hand.key("F2")
    hand.frames(4)
    hand.type("other")
    hand.key("Escape")
    assert "last x" in document.part.nodes and not field.is_open
    hand.key("ctrl+z")
    assert "b" in document.part.nodes
    # A wire: a node into it by search, a bend; a socket: its wires go.
    wire = Edge("a", "y", "b", "x")
    hand.click(along(hand, wire, 0.5), 3)
    hand.press(popup.buttons["Insert node..."])
    hand.frames(3)
    assert app.search.is_open
    hand.type("gelu")
    hand.key("Return")
    assert wires(hand) == [("a", "gelu"), ("gelu", "b")]
    hand.key("ctrl+z")
    hand.click(along(hand, wire, 0.5), 3)
    hand.press(popup.buttons["Add bend"])
    assert "reroute" in document.part.nodes
    hand.key("ctrl+z")
    hand.click(hand.socket("a", "out", "y"), 3)
    hand.press(popup.buttons["Remove 1 wires"])
    assert wires(hand) == []
    hand.key("ctrl+z")
    # A frame: a drag takes what is inside along, the corner sizes it, its title and note in place, another colour.
    left, top, right, bottom = frame_rect(document.part.frames[0])
    before = document.part.nodes["c"].position
    start = free(hand, (left + 200, top + 10))
    drag(hand, start, (start[0] + 30, start[1] + 20))
    now = document.part.nodes["c"].position
    assert abs(now[0] - before[0] - 30) < 3 and abs(now[1] - before[1] - 20) < 3
    assert document.part.nodes["a"].position == (0.0, 0.0)
    hand.key("ctrl+z")
    corner = free(hand, (right, bottom))
    drag(hand, corner, (corner[0] + 40, corner[1] + 60))
    assert abs(document.part.frames[0].size[0] - 540) < 4
    hand.double_click(start)
    hand.frames(4)
    hand.type("the stage")
    hand.key("Return")
    assert document.part.frames[0].title == "the stage"
    hand.click(start, 3)
    hand.frames(2)
    hand.keep("menu_frame")
    hand.press(popup.buttons["Green"])
    assert document.part.frames[0].color == "#2e7d5a"
    hand.click(start, 3)
    hand.press(popup.buttons["Edit note..."])
    hand.frames(4)
    words = "what happens here is told in a line longer than the frame is wide: it is wrapped"
    hand.type(words)
    hand.until(lambda: dpg.get_value(field.field) == words, 5)
    hand.click(free(hand, (560, 40)))
    assert document.part.frames[0].note == words and not field.is_open
    hand.frames(3)
    hand.keep("frame")
    for _ in range(4):
        hand.key("ctrl+z")
    assert document.part.frames == graph.frames
    # The empty canvas: a frame, then nothing is lost by undo.
    hand.click(free(hand, (560, 40)), 3)
    hand.frames(2)
    hand.press(popup.buttons["Add frame here"])
    hand.frames(4)
    hand.type("new")
    hand.key("Return")
    assert document.part.frames[-1].title == "new"
    # A wire that does not fit: why, and cures that arrows and Enter reach.
    nodes = {"digits": Node("digits", "digits"), "l": Node("l", "Linear", {"out_features": 4}, (420.0, 0.0))}
    show(hand, Graph(nodes=nodes))
    hand.drag(hand.socket("digits", "out", "image"), hand.socket("l", "in", "x"))
    assert core.message_is_error and not document.part.edges
    hand.until(lambda: popup.is_open, 20)
    hand.frames(3)
    hand.keep("cures")
    hand.key("Down", "Up", "Return")
    assert len(document.part.edges) >= 2 and not popup.is_open
    # A parameter in place.
    row = core.scene.views["l"].params[0]
    view = core.scene.views["l"]
    hand.double_click(free(hand, (view.x + 120, view.y + row.y + 10)))
    hand.frames(4)
    hand.type("12")
    hand.key("Return")
    assert document.part.nodes["l"].params[row.name] == 12


def subgraphs(hand: Hand) -> None:
    """Collapse, enter by double click, breadcrumbs, a parameter given out and taken back, expand; a block for every project."""
    app, core = hand.app, hand.app.core
    document = core.document
    hand.open("spiral_mlp")
    start = document.graph
    hand.key("Home")
    document.select(selected(["linear 1", "relu 1"]))
    hand.key("ctrl+g")
    (block,) = [node.id for node in document.part.nodes.values() if node.operator == "subgraph"]
    hand.frames(4)
    hand.double_click(hand.node(block))
    hand.frames(5)
    assert document.state.inside == (block,)
    hand.until(lambda: core.findings.version == core.document.version)
    hand.frames(4)
    hand.click(hand.node("linear 1"))
    hand.frames(6)
    button = app.inspector.field("promote out_features")
    assert button is not None
    hand.keep("inside")
    hand.press(button)
    hand.frames(6)
    assert any(node.operator == "subgraph_parameter" for node in document.part.nodes.values())
    hand.keep("given_out")
    hand.press(dpg.get_item_children(app.crumbs, 1)[0])
    hand.frames(5)
    assert document.state.inside == ()
    assert [row.name for row in core.scene.views[block].params] == ["out_features"]
    assert document.selection.nodes == {block}
    hand.frames(4)
    assert app.inspector.field("out_features") is not None
    hand.keep("instance")
    # Saved as a block, it is in the palette of another project; a broken file is told about.
    folder = hand.folder / "blocks"
    core.preferences = replace(core.preferences, blocks_folder=str(folder))
    hand.click(hand.node(block), 3)
    hand.frames(2)
    hand.press(app.editing.popup.buttons["Save as block"])
    hand.until(lambda: not core.shelf.busy, 10)
    assert [found.name for found in core.shelf.blocks] == ["block"]
    (folder / "broken.json").write_text("{ nothing")
    core.shelf.look(folder)
    hand.until(lambda: not core.shelf.busy, 10)
    hand.frames(2)
    assert core.message_is_error and "broken.json" in core.message and len(core.shelf.blocks) == 1
    # Taken back, expanded: what was drawn at first.
    hand.key("Return")
    hand.frames(5)
    hand.click(hand.node("linear 1"))
    hand.frames(6)
    back = app.inspector.field("promote out_features")
    assert back is not None
    hand.press(back)
    hand.frames(4)
    assert not any(node.operator == "subgraph_parameter" for node in document.part.nodes.values())
    hand.key("BackSpace")
    hand.frames(4)
    assert document.state.inside == () and not core.scene.views[block].params
    hand.key("ctrl+shift+g")
    assert document.part.nodes.keys() == start.nodes.keys()
    while document.undo_labels:
        hand.key("ctrl+z")
    assert document.graph == start
    core.open(Graph(), None)
    hand.frames(4)
    hand.double_click(free(hand, (100, 100)))
    hand.type("block")
    hand.key("Return")
    hand.frames(4)
    (placed,) = document.part.nodes.values()
    assert placed.operator == "subgraph" and "block" in document.graph.subgraphs
    assert [row.name for row in core.scene.views[placed.id].params] == ["out_features"]
    hand.keep("block_placed")


PASTE = """
import sys
from pathlib import Path
from studio.view.app import App
from tests.gui.hand import Hand
app = App()
hand = Hand(app, Path(sys.argv[1]))
hand.frames(3)
app.actions.run("paste")
names = sorted(app.core.document.part.nodes)
edges = len(app.core.document.part.edges)
app.close()
print(names, edges)
"""


def clipboard(hand: Hand) -> None:
    """Copy, cut, paste and duplicate with the wires among what is copied; into another window as well; arranging; all undone."""
    core = hand.app.core
    document = core.document
    show(hand, four())
    document.select(selected(["a", "b"]))
    hand.key("ctrl+c")
    hand.to(free(hand, (200, 330)))
    hand.key("ctrl+v")
    assert len(document.part.nodes) == 6 and len(document.part.edges) == 2
    assert len(document.selection.nodes) == 2
    hand.key("ctrl+d")
    assert len(document.part.nodes) == 8 and len(document.part.edges) == 3
    hand.key("ctrl+z", "ctrl+z")
    other = hand.folder / "other"
    other.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-c", PASTE, str(other)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as window:
        hand.until(lambda: window.poll() is not None, 30)
        assert window.stdout is not None
        assert window.stdout.read().strip() == "['a', 'b'] 1"
    document.select(selected(["a", "b"]))
    hand.key("ctrl+x")
    assert document.part.nodes.keys() == {"c", "d"}
    hand.key("ctrl+v")
    assert document.part.nodes.keys() == set(NAMES) and len(document.part.edges) == 1
    hand.key("ctrl+z", "ctrl+z")
    assert document.graph == four()
    # Arranging: each is one step back.
    hand.key("ctrl+a", "alt+Left")
    assert {node.position[0] for node in document.part.nodes.values()} == {0.0}
    hand.key("ctrl+z", "alt+Up")
    assert {node.position[1] for node in document.part.nodes.values()} == {0.0}
    hand.key("ctrl+z")
    drag(hand, hand.node("c"), (hand.node("c")[0] + 7, hand.node("c")[1] + 100))
    document.select(selected(["a", "c", "d"]))
    hand.key("alt+h", "alt+v")
    assert document.undo_labels[0] == "Distribute nodes"
    while document.undo_labels:
        hand.key("ctrl+z")
    assert document.graph == four()
    hand.click(free(hand, (230, 330)))
    hand.key("l")
    assert document.undo_labels == ("Arrange automatically",)
    hand.key("ctrl+z", "alt+s")
    assert core.tool.snap == core.preferences.grid
    show(hand, four())
    start = hand.node("d")
    drag(hand, start, (start[0] + 27, start[1] + 33))
    assert document.part.nodes["d"].position == (320.0, 220.0)
    hand.key("alt+s")


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
    core.open(Graph("thousand", nodes, tuple(edges)), None)
    app.canvas.fit()
    hand.frames(4)
    app.count_anew()
    hand.until(lambda: app.canvas.pictures.pending == 0 and core.findings.version == core.document.version)
    assert len(core.findings.wires) >= 1000
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
    sys.stdout.write(f"panning {panning}\nzooming {zooming}\ndragging {dragging}\n")
    assert panning.median_ms < 5 and dragging.median_ms < 8
    assert max(panning.longest_busy_ms, zooming.longest_busy_ms, dragging.longest_busy_ms) < 50


def _middle(rect: tuple[float, float, float, float]) -> Point:
    return (rect[0] + rect[2]) / 2, rect[1] + 12


STORIES = (by_mouse, menus, subgraphs, clipboard, colours, thousand)
