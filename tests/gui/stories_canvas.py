"""Editing by mouse and keyboard: selecting, wiring, bending, cutting, inserting; menus, fields in place, frames, notes."""

from __future__ import annotations

import subprocess
from dataclasses import replace

from munet import Edge, Frame, Graph, Node
from studio.hit import frame_rect
from studio.view import imgui
from studio.view.gui import dpg
from tests.gui.drawing import along, drag, four, free, held, show, wires
from tests.gui.hand import Hand


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
    assert row in app.palette.tips
    hand.to((left + 20, top + 8))
    assert row not in app.palette.tips  # it has got its help
    drag(hand, (left + 20, top + 8), free(hand, (230, 330)))
    assert "tanh" in document.part.nodes
    x, y = document.part.nodes["tanh"].position
    assert abs(x + 40 - 230) < 6 and abs(y + 12 - 330) < 6
    hand.key("Escape")
    # By keyboard: Shift+A, letters, arrows, Enter; Ctrl+Z in the field is the field's, elsewhere the drawing's.
    steps = document.undo_labels
    hand.key("shift+a")
    hand.frames(3)
    hand.type("gelux")
    hand.key("ctrl+z")
    hand.frames(4)
    assert dpg.get_value(app.palette.input) == "gelu" and document.undo_labels == steps
    hand.key("Down", "Up", "Return")
    assert "gelu" in document.part.nodes
    hand.key("ctrl+z")
    assert "gelu" not in document.part.nodes and document.undo_labels == steps
    # The search shows all that it finds, by arrows and by the wheel, which then does not zoom; a press elsewhere closes it.
    hand.to(free(hand, (230, 40)))
    hand.key("Tab")
    hand.key(*["Down"] * 13)
    assert app.search.titles[-1] == app.search.chosen
    first, zoom = app.search.titles[0], core.camera.zoom
    hand.to(free(hand, (260, 100)))
    hand.x("click", "5")
    assert app.search.titles[0] != first and core.camera.zoom == zoom
    hand.click(free(hand, (160, 330)))
    hand.frames(2)
    assert not app.search.is_open


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
    if imgui.is_there():  # Escape closes a menu, so that the next press opens another one
        hand.click((20, 10))
        hand.key("Escape")
        assert not imgui.close_menus()
        hand.click((55, 10))
        assert imgui.close_menus()
        hand.frames(3)
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
    hand.press(popup.buttons["Remove 1 wire"])
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
    hand.until(lambda: dpg.get_value(field.field) == words, 20)
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


STORIES = (by_mouse, menus)
