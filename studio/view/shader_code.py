"""The right half of the shader panel: a variant's file with its faults marked, an editor for it, and what can be done with it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from munet import text_editor
from munet.shaders import AssetView, VariantView, save_variant
from studio import shaderdesk as say
from studio.icons import ICONS, labelled
from studio.shaderdesk import Request
from studio.shaders import editor_command, free_name
from studio.texts import text
from studio.view import theme
from studio.view.codeview import CodeView
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.gui import Tag, clear, dpg

FAULTS_HEIGHT = 74  # of the list below the code, at scale 1
MARK = (92, 30, 34)
BARE = ("editor", "forget", "delete")  # buttons that are an icon alone


class ShaderCode:
    """Shows one variant at a time; `submit` hands a request to the desk. What was typed and not saved is kept for each file."""

    def __init__(self, core: Core, dialogs: Dialogs, parent: Tag, submit: Callable[[Request], None]):
        self._core, self._dialogs, self._submit = core, dialogs, submit
        self._asset: AssetView | None = None
        self.view: VariantView | None = None
        self.drafts: dict[Path, str] = {}
        self.editing = False
        self._edit_when_made = False
        self._tipped: int | None = None
        self.buttons: dict[str, Tag] = {}
        self._tips: dict[Tag, Tag] = {}  # by the widget that they belong to
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        with dpg.group(parent=self._box, horizontal=True):
            self._title: Tag = dpg.add_text(text("shader.none"))
            self._about: Tag = dpg.add_text("", color=theme.DIM)
        with dpg.group(parent=self._box, horizontal=True) as self._bar:
            for name, icon, call in (
                ("verify", "flask", self._verify), ("edit", "edit", self._edit), ("save", "save", self._save),
                ("revert", "undo", self._revert), ("editor", "external", self._open_editor), ("new", "add", self._name_copy),
                ("forget", "refresh", self._forget), ("delete", "delete", self._ask_delete),
            ):  # fmt: skip
                words = text(f"shader.{name}")
                self.buttons[name] = dpg.add_button(label=ICONS[icon] if name in BARE else labelled(icon, words), callback=call)
                if name in BARE:
                    self._add_tip(self.buttons[name], text(f"shader.{name}_tip"))
            self.use: Tag = dpg.add_checkbox(label=text("shader.use"), callback=self._use)
        self._add_tip(self.use, text("shader.use_tip"))
        with dpg.group(parent=self._box, horizontal=True, show=False) as self._naming:
            self._naming_text: Tag = dpg.add_text("")
            self.name: Tag = dpg.add_input_text(width=140, hint=text("shader.name_hint"), on_enter=True, callback=self._create)
            self.create: Tag = dpg.add_button(label=text("shader.create"), callback=self._create)
            dpg.add_button(label=text("view.cancel"), callback=lambda: dpg.hide_item(self._naming))
        self.code = CodeView(self._box)
        self.input: Tag = dpg.add_input_text(
            parent=self._box, multiline=True, tab_input=True, width=-1, height=-1, show=False, callback=self._typed
        )  # fmt: skip
        mono = theme.load_mono()
        if mono is not None:
            dpg.bind_item_font(self.input, mono)
        self._faults: Tag = dpg.add_child_window(parent=self._box, height=theme.px(FAULTS_HEIGHT), border=True, show=False)
        self.fault_rows: list[Tag] = []
        with dpg.window(show=False, no_title_bar=True, no_resize=True, no_move=True, autosize=True, no_focus_on_appearing=True,
                        no_saved_settings=True, no_docking=True, min_size=(8, 8)) as self._hover:  # fmt: skip
            self._hover_text: Tag = dpg.add_text("", wrap=420, color=theme.ERROR)
        self.show(None, None)

    # -- showing -------------------------------------------------------------------------------------------------------

    def show(self, asset: AssetView | None, view: VariantView | None) -> None:
        """Another variant, or the same one as it is now."""
        before, self._asset, self.view = self.view, asset, view
        if before is None or view is None or before.path != view.path:
            self.editing = False
            dpg.hide_item(self._naming)
            self._edit_when_made = self._edit_when_made and view is not None
        dpg.set_value(self._title, view.path.name if view is not None else text("shader.none"))
        for item in (self._bar, self.code.box):
            dpg.configure_item(item, show=view is not None)
        if view is None:
            dpg.set_value(self._about, "")
            self._arrange()
            return
        words = [text("shader.own" if view.own else "shader.shipped")]
        if view.path in self.drafts:
            words.append(text("shader.unsaved"))
        dpg.set_value(self._about, f"{', '.join(words)}   {theme.shortened(_place(view.path.parent), 360)}")
        dpg.set_value(self.use, view.used)
        self.code.show(view.source, "glsl", {mark.line: MARK for mark in view.marks})
        self._list_faults()
        self._arrange()

    def _add_tip(self, item: Tag, words: str) -> None:
        with dpg.tooltip(item, delay=0.4) as self._tips[item]:
            dpg.add_text(words, wrap=theme.px(340))

    def _show_widget(self, item: Tag, show: bool) -> None:
        """With its tip: that of a hidden widget would come up at the widget before it."""
        dpg.configure_item(item, show=show)
        if item in self._tips:
            dpg.configure_item(self._tips[item], show=show)

    def _list_faults(self) -> None:
        clear(self._faults)
        self.fault_rows.clear()
        for mark in self.view.marks if self.view is not None else ():
            label = text("shader.line", line=mark.line, message=mark.message)
            row = dpg.add_selectable(label=label, parent=self._faults, callback=partial(self._go_to, mark.line))
            self.fault_rows.append(row)

    def _arrange(self) -> None:
        view = self.view
        own, faulty = view is not None and view.own, view is not None and bool(view.marks)
        for name in ("save", "revert"):
            self._show_widget(self.buttons[name], self.editing)
        for name in ("delete", "editor"):
            self._show_widget(self.buttons[name], own and not self.editing)
        for item in (*(self.buttons[name] for name in ("verify", "new", "forget")), self.use):
            self._show_widget(item, not self.editing)
        word = "view" if self.editing else "edit"
        dpg.configure_item(self.buttons["edit"], label=labelled("eye" if self.editing else "edit", text(f"shader.{word}")))
        room = -theme.px(FAULTS_HEIGHT + 6) if faulty else -1
        dpg.configure_item(self.code.box, show=view is not None and not self.editing, height=room)
        dpg.configure_item(self.input, show=self.editing, height=room)
        dpg.configure_item(self._faults, show=faulty)

    def sync(self) -> None:
        """Once a frame while the panel is seen."""
        if self.view is None or self.editing:
            self._tip(None)
            return
        self.code.sync()
        self._tip(self.code.line_under_mouse if self.view.marks else None)

    def _tip(self, line: int | None) -> None:
        """What is wrong at the line under the mouse."""
        messages = [mark.message for mark in self.view.marks if mark.line == line] if self.view is not None and line else []
        if not messages:
            line = None
        if line != self._tipped:
            self._tipped = line
            dpg.configure_item(self._hover, show=line is not None)
            dpg.set_value(self._hover_text, "\n".join(messages))
        if line is not None:
            x, y = dpg.get_mouse_pos(local=False)
            dpg.set_item_pos(self._hover, [x + 14, y + 16])

    @property
    def tip_shown(self) -> str:
        return dpg.get_value(self._hover_text) if self._tipped is not None else ""

    def _go_to(self, line: int) -> None:
        if self.editing:
            self._edit()
        self.code.scroll_to(line)

    # -- editing -------------------------------------------------------------------------------------------------------

    def _edit(self) -> None:
        """Between the editor and the coloured text. A shipped variant is copied first: its file is never changed."""
        view = self.view
        if view is None:
            return
        if not view.own:
            self._edit_when_made = True
            self._name_copy()
            return
        self.editing = not self.editing
        if self.editing:
            dpg.set_value(self.input, self.drafts.get(view.path, view.source))
        self._arrange()

    def _typed(self, sender: Tag, content: str) -> None:
        if self.view is None:
            return
        known = self.view.path in self.drafts
        self.drafts[self.view.path] = content
        if not known:
            self.show(self._asset, self.view)

    def _save(self) -> None:
        if self.view is not None:
            content = dpg.get_value(self.input)
            self._submit(say.Save(self.view.path, content if content.endswith("\n") else f"{content}\n"))

    def save_if_typing(self) -> bool:
        """Save what is being typed; False, and nothing happens, unless the cursor is in the editor."""
        typing = self.editing and bool(dpg.is_item_active(self.input))
        if typing:
            self._save()
        return typing

    def unless_unsaved(self, then: Callable[[], None]) -> None:
        """Go on at once, or once it is known what becomes of what was typed and not saved."""
        if not self.drafts:
            then()
            return

        def save() -> None:
            for path, content in self.drafts.items():
                save_variant(path, content)
            self.drafts.clear()
            then()

        names = ", ".join(sorted(path.name for path in self.drafts))
        choices = ((text("view.yes_save"), save), (text("view.no_save"), then), (text("view.cancel"), lambda: None))
        self._dialogs.ask(text("view.unsaved", name=names), choices)

    def saved(self, path: Path) -> None:
        self.drafts.pop(path, None)

    def _revert(self) -> None:
        view = self.view
        if view is not None:
            self.drafts.pop(view.path, None)
            dpg.set_value(self.input, view.source)
            self.show(self._asset, view)

    def _open_editor(self) -> None:
        if self.view is None:
            return
        command = editor_command(self._core.preferences.editor or text_editor(), self.view.path)
        if not command:
            self._core.say(text("shader.no_editor"), error=True)
            return
        try:
            subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        except OSError as problem:
            self._core.say(str(problem), error=True)
            return
        self._core.say(text("shader.opened", name=self.view.path.name, editor=command[0]))

    # -- other buttons -------------------------------------------------------------------------------------------------

    def _verify(self) -> None:
        if self.view is not None:
            self._submit(say.Verify(((self.view.asset, self.view.name),)))

    def _use(self, sender: Tag, on: bool) -> None:
        if self.view is not None:
            self._submit(say.Use((self.view.asset, self.view.name), on))

    def _forget(self) -> None:
        if self.view is not None:
            self._submit(say.Forget((self.view.asset, self.view.name)))

    def _ask_delete(self) -> None:
        view = self.view
        if view is not None:
            choices = (
                (text("shader.delete"), lambda: self._submit(say.Delete(view.path))), (text("view.cancel"), lambda: None),
            )  # fmt: skip
            self._dialogs.ask(text("shader.delete_ask", name=view.path.name), choices)

    def _name_copy(self, sender: Tag | None = None) -> None:
        view, asset = self.view, self._asset
        if view is None or asset is None:
            return
        if sender is not None:
            self._edit_when_made = False
        dpg.set_value(self._naming_text, text("shader.new_from", base=view.name))
        dpg.set_value(self.name, free_name(asset, view.name))
        dpg.show_item(self._naming)
        dpg.focus_item(self.name)

    def _create(self) -> None:
        if self.view is not None:
            dpg.hide_item(self._naming)
            self._submit(say.Create((self.view.asset, self.view.name), dpg.get_value(self.name).strip()))

    def made(self) -> None:
        """The copy that was asked for is shown now."""
        if self._edit_when_made:
            self._edit_when_made = False
            if not self.editing:
                self._edit()


def _place(folder: Path) -> str:
    """As a person would say it: from where the studio was started, or from home, if it lies there."""
    for root, head in ((Path.cwd(), ""), (Path.home(), "~/")):
        if folder.is_relative_to(root):
            return f"{head}{folder.relative_to(root)}"
    return str(folder)
