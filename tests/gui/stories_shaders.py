"""The shader panel: verdicts, and a variant of one's own that a running session takes up, is not hurt by, and takes up again."""

from __future__ import annotations

import numpy as np

from munet import shaders
from studio.view.gui import dpg
from tests.gui.hand import PROJECTS, Hand

MINE = ("contraction", "mine")


def shader_studio(hand: Hand) -> None:
    """Verify, copy, use, train with it, break its file, mend it; edit it in the window; tune; forget; delete."""
    app = hand.app
    panel, trainer = app.shaders, app.core.trainer
    path = hand.folder / "long.json"
    path.write_text((PROJECTS / "xor.json").read_text().replace('"steps": 500', '"steps": 2000000'))
    app.actions.open_path(path)
    hand.until(lambda: app.core.findings.version == app.core.document.version)
    assert trainer.total_steps == 2_000_000
    app.actions.run("show_shaders")
    hand.until(lambda: ("contraction", "tiled") in panel.rows, 20)
    hand.frames(6)
    hand.press(panel.rows["contraction", "generic"])
    hand.frames(4)
    assert panel.code.view is not None and panel.code.view.name == "generic"
    hand.press(panel.code.buttons["verify"])
    hand.until(lambda: view("generic", hand).verdict == shaders.OK, 60)
    hand.frames(4)
    assert view("generic", hand).us is not None
    picture = hand.picture("verified")
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 60

    # a copy of its own, used by the session
    hand.press(panel.code.buttons["new"])
    hand.frames(4)
    hand.key("ctrl+a")
    hand.type("mine")
    hand.key("Return")
    hand.until(lambda: panel.code.view is not None and panel.code.view.name == "mine", 20)
    path = panel.code.view.path
    assert path.is_file() and path.is_relative_to(shaders.own_folder())
    hand.frames(4)
    hand.press(panel.code.use)
    hand.until(lambda: view("mine", hand).used, 20)
    app.actions.run("run")
    hand.until(lambda: any(p.variant == "mine" for p in trainer.passes), 60)
    hand.until(lambda: trainer.record.step > 50)

    # broken in another program: told at its line, training goes on with the last good one
    good = path.read_text()
    path.write_text(good.replace("float sum = 0.0;", "float sum = nothing;"))
    hand.until(lambda: view("mine", hand).verdict == shaders.BROKEN, 20)
    step = trainer.record.step
    assert view("mine", hand).marks[0].line == 1 + good[: good.index("float sum")].count("\n")
    assert app.core.message_is_error and "mine.comp:" in app.core.message
    hand.until(lambda: trainer.record.step > step + 200)
    assert any(p.variant == "mine" for p in trainer.passes)
    hand.frames(4)
    assert len(panel.code.fault_rows) == 1
    hand.press(panel.code.fault_rows[0])
    hand.frames(6)
    hand.to(panel.code.code.place_of(view("mine", hand).marks[0].line))
    hand.frames(4)
    assert "nothing" in panel.code.tip_shown
    hand.picture("broken")

    # mended: verified by itself, then the session takes it up
    session = trainer.session_version
    path.write_text(good.replace("local_size_x = 128", "local_size_x = 64").replace(", 128)", ", 64)"))
    hand.until(lambda: view("mine", hand).verdict == shaders.OK, 60)
    hand.until(lambda: trainer.session_version > session, 60)
    hand.until(lambda: any(p.variant == "mine" for p in trainer.passes), 20)

    step = trainer.record.step
    hand.until(lambda: trainer.record.step > step + 200)

    # edited in the window
    hand.press(panel.code.buttons["edit"])
    hand.frames(4)
    assert panel.code.editing
    editor = panel.code.editor
    hand.until(lambda: editor.is_typing, 10)
    hand.key("ctrl+End")
    hand.type("flat typed;")
    hand.until(lambda: bool(panel.code.marks), 20)  # compiled as it is typed, and told at its line; nothing is saved
    assert path in panel.code.drafts and "typed" not in path.read_text()
    assert [mark.line for mark in panel.code.marks] == [editor.content.count("\n") + 1] and len(panel.code.fault_rows) == 1
    hand.to(editor.place_of(panel.code.marks[0].line))
    hand.frames(4)
    assert panel.code.marks[0].message in panel.code.tip_shown
    hand.picture("editing-fault")
    hand.key("ctrl+Home", "Return")  # the mark moves along at once
    hand.until(lambda: [mark.line for mark in panel.code.marks] == [editor.content.count("\n") + 1], 2)
    hand.key("ctrl+z")
    hand.until(lambda: editor.content.startswith("#version"), 5)
    hand.key("ctrl+End", "shift+Home")
    hand.type("// typed here")
    hand.until(lambda: not panel.code.marks, 20)
    assert editor.caret.column == len("// typed here") and editor.lines[-1] == "// typed here"
    hand.picture("editing")
    left, top = dpg.get_item_rect_min(editor.input)
    app.actions.run("quit")
    hand.frames(4)
    hand.press(app.dialogs.buttons["Cancel"])
    assert dpg.is_dearpygui_running() and path in panel.code.drafts
    hand.click((left + 60, top + 40))
    assert editor.caret.line == 2
    hand.key("ctrl+s")
    hand.until(lambda: path.read_text().endswith("// typed here\n") and path not in panel.code.drafts, 20)
    hand.until(lambda: view("mine", hand).verdict == shaders.OK, 60)
    hand.key("ctrl+e")
    assert not panel.code.editing
    hand.key("alt+comma", "alt+period")  # to the variant before, and back
    hand.frames(4)
    assert panel.chosen == MINE and panel.code.view is not None and panel.code.view.path == path

    # tuned, forgotten, deleted
    hand.until(lambda: not panel.busy, 60)
    app.actions.run("shader_tune")
    hand.until(lambda: bool(view("mine", hand).times), 60)
    hand.until(lambda: not panel.busy, 60)
    hand.frames(4)
    hand.picture("tuned")
    hand.press(panel.code.buttons["forget"])
    hand.until(lambda: view("mine", hand).verdict == shaders.UNVERIFIED, 20)
    hand.press(panel.code.buttons["delete"])
    hand.frames(4)
    hand.press(app.dialogs.buttons["Delete"])
    hand.until(lambda: MINE not in panel.rows, 20)
    assert not path.exists()


def view(name: str, hand: Hand) -> shaders.VariantView:
    found = [v for asset in hand.app.shaders.seen.assets for v in asset.variants if v.name == name]
    assert found, f"there is no variant {name}"
    return found[0]


STORIES = (shader_studio,)
