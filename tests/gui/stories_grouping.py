"""Several nodes at once: subgraphs and blocks, the clipboard, arranging."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from munet import Graph
from studio.document import selected
from studio.view import copying
from studio.view.gui import dpg
from tests.gui.drawing import NAMES, drag, four, free, show, undressed, wires
from tests.gui.hand import Hand, Point


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
    hand.press(app.crumbs.buttons[0])
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
    # Renamed where it stands, in letters of a system's font: over its node, over the last crumb, by F2 within; one step each.
    hand.click(hand.node(block), 3)
    hand.press(app.editing.popup.buttons["Rename subgraph..."])
    hand.frames(4)
    name = type_name(hand, "卷积 block")
    assert document.part.nodes[block].params["graph"] == name and name in document.graph.subgraphs
    hand.key("Return")
    hand.frames(5)
    assert document.state.inside == (block,)
    assert undressed() == []
    hand.keep("renamed")
    hand.press(app.crumbs.buttons[-1])
    hand.frames(4)
    type_name(hand, "other")
    assert document.state.owner == "other"
    hand.key("F2")
    hand.frames(4)
    assert app.editing.is_typing
    hand.key("Escape", "ctrl+z", "ctrl+z")
    assert list(document.graph.subgraphs) == ["block"] and document.state.inside == ()
    # Taken back, expanded: what was drawn at first. The definition is left; the palette's menu renames and deletes it.
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
    hand.key("ctrl+g")
    assert list(document.graph.subgraphs) == ["block", "block 2"]
    hand.key("ctrl+z")
    app.actions.run("palette")
    hand.frames(3)
    hand.type("block")
    hand.keep("palette")
    for label, then in (("Rename subgraph...", "renamed"), ("Delete subgraph", "")):
        hand.click(corner_of(app.palette.rows[next(iter(document.graph.subgraphs))]), 3)
        hand.frames(2)
        hand.press(app.editing.popup.buttons[label])
        hand.frames(4)
        if then:
            type_name(hand, then)
        assert list(document.graph.subgraphs) == ([then] if then else [])
    hand.key("ctrl+z")
    app.actions.run("delete_unused")
    assert document.graph.subgraphs == {}
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
    # The block's file goes, when asked twice; what is placed stays.
    hand.click(corner_of(app.palette.rows["block block"]), 3)
    hand.frames(2)
    hand.press(app.editing.popup.buttons["Delete block"])
    hand.frames(3)
    hand.press(app.dialogs.buttons["Delete block"])
    hand.until(lambda: not core.shelf.busy and not core.shelf.blocks, 10)
    assert not list(folder.glob("block*")) and "block" in document.graph.subgraphs


def corner_of(item: int | str) -> Point:
    left, top = dpg.get_item_rect_min(item)
    return left + 15, top + 8


def type_name(hand: Hand, name: str) -> str:
    """Into the field that is open, from the clipboard: xdotool types no Chinese."""
    copying.copy(name)
    hand.key("ctrl+a", "ctrl+v")
    hand.frames(3)
    assert undressed() == []
    hand.key("Return")
    hand.frames(4)
    return name


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
    assert copying.copied() == ""
    hand.key("ctrl+v")  # nothing has been copied on this display yet
    assert core.message_is_error and "holds no text" in core.message
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
    # Without a mouse: arrow keys move, presses that follow each other are one step; J wires from left to right.
    document.select(selected(["c", "d"]))
    hand.key("Right", "Right", "Down")
    assert document.part.nodes["c"].position == (20.0, 190.0) and len(document.undo_labels) == 1
    hand.key("ctrl+z", "j")
    assert wires(hand) == [("a", "b"), ("c", "d")]
    hand.key("shift+j")
    assert len(document.part.edges) == 1
    hand.key("ctrl+z", "ctrl+z")
    assert document.graph == four()
    hand.click(free(hand, (230, 330)))
    hand.key("l")
    hand.until(lambda: document.undo_labels == ("Arrange automatically",), 10)
    hand.key("ctrl+z", "alt+s")
    assert core.tool.snap == core.preferences.grid
    show(hand, four())
    start = hand.node("d")
    drag(hand, start, (start[0] + 27, start[1] + 33))
    assert document.part.nodes["d"].position == (320.0, 220.0)
    hand.key("alt+s")


STORIES = (subgraphs, clipboard)
