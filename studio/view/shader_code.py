"""The right half of the shader panel: a variant's file with its faults marked, an editor for it, and what can be done with it.

What is typed is compiled while it is typed: faults stand at their lines before anything is saved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from munet import MunetError, text_editor
from munet.shaders import AssetView, Mark, VariantView, save_variant
from studio import shaderdesk as say
from studio.drafts import Drafts, ended
from studio.editors import NoEditor, Opened, editor_command
from studio.icons import ICONS, labelled
from studio.shaderdesk import Request
from studio.shaders import Key
from studio.texts import text
from studio.view import theme
from studio.view.codeeditor import CodeEditor
from studio.view.codeview import CodeView
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.gui import Tag, clear, dpg
from studio.view.shader_new import NewVariant

FAULTS_HEIGHT = 74  # of the list below the code, at scale 1
MARK = (92, 30, 34)
BARE = ("editor", "forget", "delete")  # buttons that are an icon alone


class ShaderCode:
    """Shows one variant at a time; `submit` hands a request to the desk. What was typed and not saved is kept for each file."""

    def __init__(self, core: Core, dialogs: Dialogs, parent: Tag, submit: Callable[[Request], None]):
        self._core, self._dialogs, self._submit = core, dialogs, submit
        self._asset: AssetView | None = None
        self.view: VariantView | None = None
        self.drafts = Drafts()
        self.editing = False
        self._edit_when_made = False
        self._opened: list[Opened] = []
        self._tipped: int | None = None
        self._listed: object = None
        self.buttons: dict[str, Tag] = {}
        self._tips: dict[Tag, Tag] = {}  # by the widget that they belong to
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        with dpg.group(parent=self._box, horizontal=True):
            self._title: Tag = dpg.add_text(text("shader.none"))
            self._about: Tag = dpg.add_text("", color=theme.DIM)
        with dpg.group(parent=self._box, horizontal=True) as self._bar:
            for name, icon, call in (
                ("verify", "flask", self.verify), ("edit", "edit", self.edit), ("save", "save", self.save),
                ("revert", "undo", self.revert), ("editor", "external", self.open_editor), ("new", "add", self.name_copy),
                ("forget", "refresh", self.forget), ("delete", "delete", self.ask_delete),
            ):  # fmt: skip
                words = text(f"shader.{name}")
                self.buttons[name] = dpg.add_button(label=ICONS[icon] if name in BARE else labelled(icon, words), callback=call)
                self._add_tip(self.buttons[name], text(f"shader.{name}_tip"))
            self.use: Tag = dpg.add_checkbox(label=text("shader.use"), callback=self._use)
        self._add_tip(self.use, text("shader.use_tip"))
        self.new = NewVariant(self._box, self._create)
        self.code = CodeView(self._box)
        self.editor = CodeEditor(self._box, self._typed)
        self._faults: Tag = dpg.add_child_window(parent=self._box, height=theme.px(FAULTS_HEIGHT), border=True, show=False)
        self.fault_rows: list[Tag] = []
        with dpg.window(show=False, no_title_bar=True, no_resize=True, no_move=True, autosize=True, no_focus_on_appearing=True,
                        no_saved_settings=True, no_docking=True, min_size=(8, 8)) as self._hover:  # fmt: skip
            self._hover_text: Tag = dpg.add_text("", wrap=theme.px(420), color=theme.ERROR)
        self.show(None, None)

    def take_over(self, other: ShaderCode) -> None:
        """What another one, which is built anew as this, was about: texts that are not saved, editors that run."""
        self.drafts, self._opened = other.drafts, other._opened

    # -- showing -------------------------------------------------------------------------------------------------------

    def show(self, asset: AssetView | None, view: VariantView | None) -> None:
        """Another variant, or the same one as it is now."""
        if view is None and self.is_kept(self.view):
            return  # its file has gone, but not what was typed: Save writes it again
        before, self._asset, self.view = self.view, asset, view
        if before is None or view is None or before.path != view.path:
            self.editing = view is not None and view.path in self.drafts
            if self.editing and view is not None and (draft := self.drafts.get(view.path)) is not None:
                self.editor.put(draft.content)
            self.new.hide()
            self._edit_when_made = self._edit_when_made and view is not None
        elif self.editing and view.path not in self.drafts and view.source not in (before.source, ended(self.editor.content)):
            self.editor.put(view.source)  # changed in another program
        self._show()

    def is_kept(self, view: VariantView | None) -> bool:
        """Whether something was typed into the file that is shown and is not saved."""
        return view is not None and view.path in self.drafts

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Faults of what is shown: the file, or what was typed into it."""
        if self.view is None:
            return ()
        draft = self.drafts.get(self.view.path) if self.editing else None
        return draft.marks if draft is not None else self.view.marks

    def _show(self) -> None:
        view = self.view
        dpg.set_value(self._title, view.path.name if view is not None else text("shader.none"))
        dpg.configure_item(self._bar, show=view is not None)
        if view is None:
            dpg.set_value(self._about, "")
        else:
            words = [text("shader.own" if view.own else "shader.shipped")]
            if view.path in self.drafts:
                words.append(text("shader.unsaved"))
            dpg.set_value(self._about, f"{', '.join(words)}   {theme.shortened(_place(view.path.parent), 360)}")
            dpg.set_value(self.use, view.used)
            self.code.show(view.source, "glsl", {} if self.editing else self._ground(), stay=self.code.text == view.source)
        self._show_marks()
        self._arrange()

    def _show_marks(self) -> None:
        if self.editing:
            self.editor.show(self.editor.content, "glsl", self._ground(), stay=True)
        listed = tuple((mark.line, mark.message) for mark in self.marks)
        if listed != self._listed:
            self._listed = listed
            self._list_faults()

    def _ground(self) -> dict[int, theme.Rgb]:
        return {mark.line: MARK for mark in self.marks}

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
        for mark in self.marks:
            label = text("shader.line", line=mark.line, message=mark.message)
            row = dpg.add_selectable(label=label, parent=self._faults, callback=partial(self._go_to, mark.line))
            self.fault_rows.append(row)

    def _arrange(self) -> None:
        view = self.view
        own, faulty = view is not None and view.own, bool(self.marks)
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
        dpg.configure_item(self.editor.box, show=view is not None and self.editing, height=room)
        dpg.configure_item(self._faults, show=faulty)

    def tick(self, now: float) -> None:
        """Once a frame, seen or not: have what was typed checked, hear of editors that have ended."""
        for path, draft in self.drafts.due(now) if self.drafts else ():
            self._submit(say.Check(path, draft.asset, draft.content))
        for opened in list(self._opened):
            ended_how = opened.poll()
            if ended_how is not None:
                self._opened.remove(opened)
            if ended_how:
                self._core.say(ended_how, error=True)

    @property
    def busy(self) -> bool:
        """Whether something will come without the person's doing. Editors may run for hours: they are not waited for."""
        return self.drafts.waiting

    def sync(self) -> None:
        """Once a frame while the panel is seen."""
        if self.view is None:
            self._tip(None)
            return
        shown = self.editor if self.editing else self.code
        shown.sync()
        self._tip(shown.line_under_mouse if self.marks else None)

    def _tip(self, line: int | None) -> None:
        """What is wrong at the line under the mouse."""
        messages = [mark.message for mark in self.marks if mark.line == line] if line else []
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
        (self.editor if self.editing else self.code).scroll_to(line)

    # -- editing -------------------------------------------------------------------------------------------------------

    def edit(self) -> None:
        """Between the editor and the coloured text. A shipped variant is copied first: its file is never changed."""
        view = self.view
        if view is None:
            return
        if not view.own:
            self._edit_when_made = True
            self._ask_name()
            return
        if not self.editing and not view.readable:
            self._core.say(text("shader.unreadable", name=view.path.name), error=True)
            return
        self.editing = not self.editing
        if self.editing:
            draft = self.drafts.get(view.path)
            self.editor.put(view.source if draft is None else draft.content)
            self.editor.focus()
        self._show()

    def _typed(self, content: str) -> None:
        view = self.view
        if view is None:
            return
        known = view.path in self.drafts
        self.drafts.type(view.path, view.asset, content, view.source, view.marks, time.monotonic())
        if known:
            self._show_marks()
        else:
            self._show()

    def checked(self, news: say.Checked) -> None:
        """Faults of what was typed have been found."""
        if self.drafts.hear(news.path, news.content, news.marks) and self.view is not None and news.path == self.view.path:
            self._show()

    def save(self) -> None:
        if self.view is not None and self.editing:
            draft = self.drafts.get(self.view.path)
            content = ended(self.editor.content)
            self._submit(say.Save(self.view.path, content, draft.base if draft is not None else self.view.source))

    def save_if_typing(self) -> bool:
        """Save what is being typed; False, and nothing happens, unless the cursor is in the editor."""
        typing = self.editing and self.editor.is_typing
        if typing:
            self.save()
        return typing

    def conflict(self, path: Path) -> None:
        """The file that was to be saved has been changed by somebody else."""
        draft = self.drafts.get(path)
        if draft is None:
            return

        def overwrite() -> None:
            self._submit(say.Save(path, ended(draft.content)))

        choices = (
            (text("view.overwrite"), overwrite), (text("shader.take_other"), lambda: self._forget_typed(path)),
            (text("view.cancel"), lambda: None),
        )  # fmt: skip
        self._dialogs.ask(text("view.changed_outside", name=path.name), choices, careful=True)

    def unless_unsaved(self, then: Callable[[], None]) -> None:
        """Go on at once, or once it is known what becomes of what was typed and not saved."""
        if not self.drafts:
            then()
            return

        def save() -> None:
            try:
                kept = self.drafts.save_all(save_variant)
            except MunetError as error:
                self._core.say(str(error), error=True)
                return
            if kept:
                self.conflict(kept[0])
            else:
                then()

        names = ", ".join(sorted(path.name for path, _ in self.drafts))
        choices = ((text("view.yes_save"), save), (text("view.no_save"), then), (text("view.cancel"), lambda: None))
        self._dialogs.ask(text("view.unsaved", name=names), choices)

    def saved(self, news: say.Saved) -> None:
        self.drafts.drop(news.path, news.content)
        if self.view is not None and self.view.path == news.path:
            self._show()

    def revert(self) -> None:
        """Forget what was typed and not saved."""
        if self.view is not None:
            self._forget_typed(self.view.path)

    def _forget_typed(self, path: Path) -> None:
        """Show the file as it is."""
        self.drafts.drop(path)
        if self.view is not None and self.view.path == path:
            self.editor.put(self.view.source)
            self._show()

    def open_editor(self) -> None:
        """In the person's own editor; where none is named, in the one that is built in."""
        view = self.view
        if view is None or not view.own:
            self.edit()
            return
        chosen = self._core.preferences.editor or text_editor()
        if not chosen and not self.editing:
            self._core.say(text("editor.none"))
            self.edit()
            return
        try:
            self._opened.append(opened := Opened(editor_command(chosen, view.path)))
        except NoEditor as why:
            self._core.say(str(why), error=True)
            return
        self._core.say(text("shader.opened", name=view.path.name, editor=opened.name))

    # -- other buttons -------------------------------------------------------------------------------------------------

    def verify(self) -> None:
        if self.view is not None:
            self._submit(say.Verify(((self.view.asset, self.view.name),)))

    def _use(self, sender: Tag, on: bool) -> None:
        if self.view is not None:
            self._submit(say.Use((self.view.asset, self.view.name), on))

    def toggle_use(self) -> None:
        """Have the variant used, or not any more."""
        if self.view is not None:
            self._submit(say.Use((self.view.asset, self.view.name), not self.view.used))

    def forget(self) -> None:
        """Its verdict and its times on this device."""
        if self.view is not None:
            self._submit(say.Forget((self.view.asset, self.view.name)))

    def ask_delete(self) -> None:
        view = self.view
        if view is not None and not view.own:
            self._core.say(text("shader.not_own", name=view.path.name), error=True)
        elif view is not None:
            choices = (
                (text("shader.delete"), lambda: self._submit(say.Delete(view.path))), (text("view.cancel"), lambda: None),
            )  # fmt: skip
            self._dialogs.ask(text("shader.delete_ask", name=view.path.name), choices, careful=True)

    def name_copy(self) -> None:
        """Ask for the name of a new variant, and what it is to begin as."""
        self._edit_when_made = False
        self._ask_name()

    def _ask_name(self) -> None:
        if self.view is not None and self._asset is not None:
            self.new.show(self._asset, self.view.name)

    def _create(self, base: Key, name: str) -> None:
        self._submit(say.Create(base, name))

    def made(self) -> None:
        """The copy that was asked for is shown now."""
        if self._edit_when_made:
            self._edit_when_made = False
            if not self.editing:
                self.edit()


def _place(folder: Path) -> str:
    """As a person would say it: from where the studio was started, or from home, if it lies there."""
    for root, head in ((Path.cwd(), ""), (Path.home(), "~/")):
        if folder.is_relative_to(root):
            return f"{head}{folder.relative_to(root)}"
    return str(folder)
