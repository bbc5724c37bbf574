"""Start page, palette of commands, keyboard map, exports, preferences, languages: what makes the window comfortable."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from PIL import Image

from munet import load_project
from studio import fonts, languages, messages
from studio.commands import Rename, SetProject
from studio.document import selected
from studio.storage import Autosave
from studio.view import theme
from studio.view.gui import dpg
from studio.view.opening import offer_recovery
from tests.gui.hand import PROJECTS, Hand, Skipped


def start_page(hand: Hand) -> None:
    """Recent projects, missing ones greyed and taken off the list; examples as cards; it goes with a project or a first node."""
    app = hand.app
    core, page = app.core, app.comfort.start
    there, gone = hand.folder / "mine.json", hand.folder / "gone.json"
    there.write_bytes((PROJECTS / "xor.json").read_bytes())
    core.preferences = replace(core.preferences, recent=(str(there), str(gone)))
    app.actions.run("start")
    hand.until(lambda: "digits_lenet" in page.spots, 10)
    assert page.is_shown and not dpg.is_item_shown(app.canvas.plot)
    picture = hand.picture("start")
    x, y = (round(n) for n in page.place("char_gpt"))
    card = picture[y - 60 : y + 60, x - 100 : x + 100].reshape(-1, 3)
    assert len(np.unique(card, axis=0)) > 20
    assert f"remove {gone}" in page.spots and str(gone) not in page.spots
    hand.click(page.place(f"remove {gone}"))
    assert core.preferences.recent == (str(there),)
    hand.frames(3)
    hand.click(page.place(str(there)))
    hand.frames(4)
    assert core.document.path == there and not page.is_shown and dpg.is_item_shown(app.canvas.plot)
    app.actions.run("start")
    hand.until(lambda: "digits_lenet" in page.spots, 10)
    hand.frames(3)
    hand.key("Escape")
    assert not page.is_shown and core.document.path == there
    app.actions.run("start")
    hand.frames(4)
    names = [name for name in page.spots if not name.startswith("remove ")]
    hand.key(*["Down"] * (names.index("digits_lenet") + 2), "Up", "Return")
    hand.frames(4)
    assert "conv 1" in core.document.part.nodes and core.document.path is None and not page.is_shown
    app.actions.run("start")
    hand.frames(4)
    hand.click(page.place("char_gpt"))
    hand.frames(4)
    assert core.preferences.recent == (str(there),)  # an example is no project of one's own
    assert "letters" in core.document.part.nodes and core.document.path is None and not page.is_shown
    app.actions.run("start")
    hand.frames(4)
    hand.click(page.place("new"))
    hand.frames(3)
    assert not page.is_shown and not core.document.part.nodes
    app.actions.run("start")
    hand.frames(4)
    hand.key("Tab")
    hand.type("relu")
    hand.key("Return")
    hand.frames(3)
    assert not page.is_shown and len(core.document.part.nodes) == 1


def commands(hand: Hand) -> None:
    """Ctrl+P: an action by some of its letters, a node, a panel, an example; arrows; Escape. `?`: the keyboard map."""
    app = hand.app
    core, palette = app.core, app.comfort.commander
    hand.open("spiral_mlp")
    hand.key("ctrl+p")
    assert palette.is_open
    hand.frames(3)
    hand.picture("commands")
    hand.type("sel all")
    assert palette.titles[0] == "Select all"
    hand.key("Return")
    assert not palette.is_open and len(core.document.selection.nodes) == len(core.document.part.nodes)
    hand.key("ctrl+p")
    hand.type("@relu 2")
    hand.picture("commands-node")
    hand.key("Return")
    hand.frames(3)
    assert core.document.selection.nodes == {"relu 2"}
    hand.key("ctrl+p")
    hand.type("panel passes")
    hand.key("Return")
    hand.frames(4)
    assert app.panels.is_seen("passes")
    marks = app.comfort.menus.items
    assert dpg.get_value(marks["panel passes"]) and dpg.get_value(marks["minimap"]) and not dpg.get_value(marks["snap"])
    app.panels.toggle("passes")
    app.actions.run("minimap")
    hand.frames(3)
    assert not dpg.get_value(marks["panel passes"]) and not dpg.get_value(marks["minimap"])
    width, _ = dpg.get_item_rect_size(app.panels.box("inspector"))
    left = dpg.get_item_pos(app.panels.box("inspector"))[0]
    hand.drag((left - 1, 300), (left - 200, 300))  # the edge of the column
    hand.drag((left - 160, 34), (300, 400))  # the tab of the inspector, into the middle of the canvas
    hand.frames(4)
    moved = dpg.get_item_pos(app.panels.box("inspector"))
    assert moved[0] < left - 150
    app.panels.show("preview")
    app.actions.run("reset_layout")
    hand.frames(6)
    assert all(app.panels.is_seen(name) for name in ("inspector", "plots", "graph"))
    assert dpg.get_item_pos(app.panels.box("inspector"))[0] == left
    assert dpg.get_item_rect_size(app.panels.box("inspector"))[0] == width
    hand.key("ctrl+p")
    hand.type("zoom")
    before = palette.titles[:3]
    hand.key("Down", "Down", "Up", "Escape")
    assert not palette.is_open and len(before) == 3
    hand.key("ctrl+p")
    hand.type("example xor")
    hand.key("Return")
    hand.frames(4)
    assert core.document.graph.name == "Exclusive or"
    hand.key("ctrl+p")
    hand.click((60, 700))
    assert not palette.is_open
    hand.key("question")
    assert app.comfort.keymap.is_open
    hand.picture("keyboard-map")
    hand.type("wire")
    groups = app.comfort.keymap.groups("wire")
    assert groups and all("wire" in f"{title} {row}".lower() for title, rows in groups.items() for row in rows)
    hand.key("Escape")
    assert not app.comfort.keymap.is_open


def exports(hand: Hand) -> None:
    """The file dialog: a typed name and Enter, the folder remembered, a file replaced only when asked twice, Escape. Then what
    is written: script, picture, project, and weights once there are any."""
    app = hand.app
    core, files = app.core, app.dialogs.files
    hand.open("xor")
    purposes = ("python", "picture", "weights", "project")
    core.preferences = replace(core.preferences, folders={name: str(hand.folder) for name in purposes})

    def named(name: str) -> None:
        hand.until(lambda: files.is_open and not files.busy, 10)
        hand.frames(3)
        hand.key("ctrl+a")
        hand.type(name)

    app.actions.run("export_python")
    named("net")
    hand.picture("file-dialog")
    hand.key("Return")
    hand.until(lambda: (hand.folder / "net.py").is_file(), 10)
    hand.until(lambda: not app.comfort.busy, 10)
    space: dict[str, object] = {"__name__": "written"}
    exec(compile((hand.folder / "net.py").read_text(), "net.py", "exec"), space)  # noqa: S102  # the script just written
    assert space["project"]() == core.document.graph  # type: ignore[operator]
    app.actions.run("export_png")
    named("net.png")
    hand.key("Return")
    hand.until(lambda: (hand.folder / "net.png").is_file() and not app.comfort.busy, 10)
    with Image.open(hand.folder / "net.png") as image:
        whole = core.scene.bounds
        assert whole is not None and abs(image.width - 2 * (whole[2] - whole[0] + 64)) < 3
    before = (hand.folder / "net.png").stat().st_mtime_ns
    app.actions.run("export_png")
    named("net.png")
    hand.key("Return")
    assert files.is_open and dpg.get_item_label(files.accept) == "Overwrite"
    hand.key("Escape")
    assert not files.is_open and (hand.folder / "net.png").stat().st_mtime_ns == before
    app.actions.run("export_weights")
    hand.frames(2)
    assert core.message_is_error and not files.is_open
    hand.key("F10")
    hand.until(lambda: core.trainer.record.step >= 1 and core.trainer.phase in (messages.READY, messages.PAUSED))
    app.actions.run("export_weights")
    named("net")
    hand.press(files.accept)
    hand.until(lambda: (hand.folder / "net.safetensors").is_file(), 10)
    hand.key("ctrl+shift+s")
    named("saved.v2")
    hand.key("Return")
    hand.frames(3)
    assert load_project(hand.folder / "saved.v2.json") == core.document.graph
    hand.key("ctrl+o")
    hand.until(lambda: files.is_open and bool(files.rows) and not files.busy, 10)
    hand.picture("file-open")
    down = len([item for item in files.items if item.is_folder]) + 1
    hand.key(*["Down"] * down, "Return")
    hand.frames(3)
    assert not files.is_open and core.document.path == hand.folder / "saved.v2.json"
    _questions(hand)


def _questions(hand: Hand) -> None:
    """Unsaved changes before something else: answered by the mouse and by arrows and Enter; then another dialog comes."""
    app = hand.app
    core, files = app.core, app.dialogs.files
    ask = lambda: app.dialogs.question.is_open  # noqa: E731
    core.edit(SetProject(note="changed"))
    hand.key("ctrl+o")
    hand.until(ask, 10)
    hand.key("ctrl+n", "F5", "Escape")  # only Escape is for the question
    assert not ask() and core.document.dirty and core.document.part.nodes
    hand.key("ctrl+o")
    hand.until(ask, 10)
    hand.frames(3)
    hand.picture("question")
    hand.press(app.dialogs.buttons["Don't save"])
    hand.until(lambda: files.is_open and not files.busy, 10)
    hand.frames(3)
    hand.key("Escape")
    assert not files.is_open and core.document.dirty
    core.document.path = None  # as if it had never been saved
    hand.key("ctrl+n")
    hand.until(ask, 10)
    for _ in range(20):  # the first key may come too early, on purpose
        if ask():
            hand.key("Right", "Left", "Return")  # Save
    hand.file(hand.folder / "told.json")
    hand.until(lambda: not core.document.part.nodes, 10)
    assert load_project(hand.folder / "told.json").note == "changed"


def settings(hand: Hand) -> None:
    """Preferences: sizes of texts at once, from 0.75 to 2; another language at once, titles of panels too; a shortcut is
    changed, one that is taken is asked about. All the while training goes on, and panels keep their places."""
    app = hand.app
    core = app.core
    hand.open("spiral_mlp")
    core.edit(SetProject(run=replace(core.document.graph.run, steps=100_000)))
    hand.key("F5")
    hand.until(lambda: core.trainer.record.step > 20)
    app.panels.show("passes")
    hand.key("ctrl+comma")
    hand.frames(4)
    assert app.comfort.settings.is_open
    hand.picture("settings")
    wide = dpg.get_item_rect_size(app.panels.box("inspector"))[0]
    for scale in (0.75, 1.5, 2.0, 1.0):
        app.comfort.settings.set("ui_scale", scale)
        hand.frames(6)
        field = app.comfort.settings.fields["ui_scale"]
        left = dpg.get_item_rect_min(field)[0]
        width, height = dpg.get_item_rect_size(field)
        assert left >= 0 and left + width <= 1280 and abs(height - 23 * scale) < 3
        assert abs(dpg.get_item_rect_size(app.panels.box("status"))[1] - 26 * scale) <= 2
        assert app.panels.is_seen("passes") and not app.panels.is_seen("code")
        hand.picture(f"scale-{scale}")
    assert abs(dpg.get_item_rect_size(app.panels.box("inspector"))[0] - wide) < 4
    languages.folder().mkdir(parents=True, exist_ok=True)
    table = {"settings.language": "Sprache", "panel.passes": "Rechenschritte", "action.duplicate": "Verdoppeln"}
    chinese = fonts.find_cjk() is not None
    if chinese:
        table |= {"view.measure": "测量", "settings.ui_scale": "文字和按钮的大小", "panel.code": "代码", "group.file": "文件"}
    (languages.folder() / "de.json").write_text(json.dumps(table))
    items = set[int]()
    for language in ("de", "en", "de"):
        app.comfort.settings.set("language", language)
        hand.frames(6)
        assert app.panels.is_seen("passes") and not app.panels.is_seen("code")
        assert dpg.get_item_pos(app.panels.box("passes"))[1] > 400
        if language == "de":
            items.add(len(dpg.get_all_items()))
    assert len(items) == 1, "what is made anew leaves nothing behind"
    label = dpg.get_item_label(app.panels.box("passes")), dpg.get_item_label(app.comfort.menus.items["duplicate"])
    assert label == ("Rechenschritte", "Verdoppeln")
    hand.picture("language")
    assert not chinese or (theme.font_for("测量 文件") is None and theme.font_for("卷") is not None)
    (languages.folder() / "nl.json").write_text("{")
    app.comfort.settings.set("language", "nl")  # cannot be read: it stays as it is
    assert core.preferences.language == "de" and core.message_is_error and "nl.json" in core.message
    assert dpg.get_value(app.comfort.settings.fields["language"]) == "de"
    app.comfort.settings.set("language", "en")
    hand.frames(6)
    step = core.trainer.record.step
    hand.until(lambda: core.trainer.record.step > step and core.trainer.phase == messages.RUNNING)
    hand.key("shift+F5")
    window = app.comfort.settings
    hand.key("Escape")
    hand.key("ctrl+p")
    hand.key("Escape")
    window.toggle()
    hand.frames(3)
    _tooltips(hand)
    window = app.comfort.settings
    window.ask("duplicate")
    hand.key("ctrl+y")
    assert app.comfort.keyboard.catch is not None and core.preferences.keys == {}
    hand.key("ctrl+y")
    assert core.preferences.keys == {"duplicate": "Ctrl+Y"} and app.comfort.keyboard.catch is None
    window.ask("mute")
    hand.key("z")
    hand.key("Escape")
    assert core.preferences.keys["mute"] == "Z" and not window.is_open
    core.document.select(selected(["relu 1"]))
    hand.key("z")
    assert core.document.part.nodes["relu 1"].muted
    count = len(core.document.part.nodes)
    hand.key("ctrl+y")
    assert len(core.document.part.nodes) == count + 1
    assert dpg.get_item_configuration(app.comfort.menus.items["duplicate"])["shortcut"] == "Ctrl+Y"


def _tooltips(hand: Hand) -> None:
    """Whatever can be pressed or set says what it does; preferences are open."""
    app, real, tipped = hand.app, dpg.tooltip, set[int]()

    def tooltip(item: int, **how: object) -> object:
        tipped.add(item)
        return real(item, **how)

    dpg.tooltip = tooltip
    try:
        app.build_anew()
        hand.frames(6)
        app.core.document.select(selected(["linear 1"]))
        hand.frames(40)
        kinds = ("mvButton", "mvCheckbox", "mvCombo", "mvRadioButton", "mvSliderInt", "mvSliderFloat")
        bare = {item for item in dpg.get_all_items() if dpg.get_item_type(item).partition("::")[2] in kinds} - tipped
    finally:
        dpg.tooltip = real
    titles = {dpg.get_item_label(item) or dpg.get_item_parent(item) for item in bare}
    assert not titles, titles


def other_letters(hand: Hand) -> None:
    """A node that is called 卷积 is drawn with a font of the system; the name goes through file and title."""
    if fonts.find_cjk() is None:
        raise Skipped("no font with Chinese letters is installed")
    app = hand.app
    hand.open("spiral_mlp")
    app.core.edit(Rename("linear 1", "卷积 1"))
    app.core.edit(SetProject(name="网络"))
    app.core.document.select(selected(["卷积 1"]))
    hand.frames(3)
    app.core.camera.fit(app.core.scene.views["卷积 1"].rect)
    hand.frames(6)
    picture = hand.picture("letters")
    x, y = (round(n) for n in hand.node("卷积 1"))
    title = picture[y - 14 : y + 16, x - 200 : x].astype(int)
    assert (title.min(axis=2) > 190).sum() > 100
    hand.key("ctrl+p")
    hand.type("linear 2")
    hand.key("Escape")


def recovery(hand: Hand) -> None:
    """Work that a studio left behind when it was killed is offered, with its name, and taken up unsaved."""
    app = hand.app
    core = app.core
    lost = Autosave(core.autosave.folder)
    lost.write(replace(load_project(PROJECTS / "xor.json"), name="lost work"), None)
    lost.let_go()
    app.comfort.start.show()
    offer_recovery(app)
    hand.frames(4)
    hand.picture("recovery")
    hand.key("Escape")
    assert lost.file.exists() and not app.dialogs.is_open, "what is put off is not thrown away"
    app.actions.open_path(PROJECTS / "xor.json")  # as where the command line names a project
    offer_recovery(app)
    hand.frames(4)
    assert app.dialogs.is_open
    hand.press(app.dialogs.buttons["Recover"])
    hand.frames(4)
    assert core.document.name == "lost work" and core.document.dirty and not app.comfort.start.is_shown
    assert not lost.file.exists() and core.autosave.file.exists(), "it is safe until it is saved"


def inspector(hand: Hand) -> None:
    """A field's own undo; back to the usual value by a right click; several nodes at once; notes of node and project."""
    app = hand.app
    core, inspector = app.core, app.inspector

    def field(name: str) -> int | str:
        found = inspector.field(name)
        assert found is not None
        return found

    hand.open("spiral_mlp")
    core.document.select(selected(["linear 1"]))
    hand.frames(4)
    hand.press(field("note"))
    hand.type("first line")
    hand.key("Return")
    hand.type("second")
    assert core.document.part.nodes["linear 1"].note == "first line\nsecond"
    nodes = core.document.part.nodes
    hand.key("ctrl+z")
    assert "first" in core.document.part.nodes["linear 1"].note and core.document.part.nodes.keys() == nodes.keys()
    hand.picture("inspector")
    hand.click((600, 480))
    core.document.select(selected(["linear 1", "linear 2"]))
    hand.frames(4)
    hand.double_click(_inside(field("out_features")))
    hand.key("ctrl+a")
    hand.type("48")
    hand.key("Return")
    hand.frames(4)
    widths = [core.document.part.nodes[id_].params["out_features"] for id_ in ("linear 1", "linear 2", "linear 3")]
    assert widths[:2] == [48, 48] and widths[2] == 3
    core.document.select(selected(["linear 1"]))
    hand.frames(4)
    hand.enter("out_features", "47")
    assert not core.message_is_error, "Enter was the canvas' as well"
    hand.picture("inspector-many")
    core.document.select(selected(["adam"]))
    hand.frames(4)
    core.set_param("adam", "beta1", 0.5)
    hand.click((600, 480))
    core.document.select(selected(["adam"]))
    hand.frames(4)
    left, top = dpg.get_item_rect_min(field("label beta1"))
    hand.click((left + 8, top + 8), 3)
    hand.frames(3)
    assert "beta1" not in core.document.part.nodes["adam"].params
    hand.key("ctrl+z")
    assert core.document.part.nodes["adam"].params["beta1"] == 0.5
    hand.click((600, 480))
    hand.frames(4)
    hand.press(field("note"))
    hand.key("ctrl+a")
    hand.type("told anew")
    assert core.document.graph.note == "told anew"


def _inside(item: int | str) -> tuple[float, float]:
    left, top = dpg.get_item_rect_min(item)
    return left + 20, top + 10


STORIES = (start_page, commands, exports, settings, other_letters, recovery, inspector)
