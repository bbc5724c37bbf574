"""The file dialog: folders and files with the wanted endings, a name to type, Enter takes it, Escape closes.

It opens in the folder that was used last for the same purpose. Replacing a file takes a second press of the button, which then
says so. Folders are listed on a thread, since drives may be slow.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from studio import files
from studio.files import Item
from studio.icons import icon, labelled
from studio.texts import label, shown, text
from studio.view import theme
from studio.view.gui import FLOATING, Tag, clear, dpg, is_double_click

WIDTH, HEIGHT = 760, 500
Listing = tuple[int, Path, list[Item], str]  # number of the request, folder, what is in it, why it could not be read


class FileDialog:
    """`folder_of` and `remember`: the folder last used for a purpose."""

    def __init__(self, folder_of: Callable[[str], str], remember: Callable[[str, str], None]):
        self._folder_of, self._remember = folder_of, remember
        self._listings: queue.SimpleQueue[Listing] = queue.SimpleQueue()
        self._request = 0
        self._awaited = False
        self.folder = Path.home()
        self.items: list[Item] = []
        self._chosen = -1
        self._expected: tuple[str, ...] = ()
        self.rows: list[Tag] = []
        self._asked: Path | None = None  # a file that the next press replaces
        self._blue = theme.button_theme(theme.BLUE)
        self.window: Tag = dpg.add_window(
            modal=True, show=False, no_resize=True, no_collapse=True, on_close=self.close, **FLOATING
        )

    def _build(self) -> None:
        clear(self.window)
        with dpg.group(parent=self.window):
            with dpg.group(horizontal=True):
                up = dpg.add_button(label=icon("up"), callback=lambda: self._go(self.folder.parent))
                home = dpg.add_button(label=icon("start"), callback=lambda: self._go(Path.home()))
                self.path: Tag = dpg.add_input_text(width=-1, hint=text("view.folder"))
            theme.tip(up, text("view.folder_up"))
            theme.tip(home, text("view.folder_home"))
            self._list: Tag = dpg.add_child_window(height=-theme.px(106))
            dpg.bind_item_theme(self._list, theme.list_theme())
            self.name: Tag = dpg.add_input_text(width=-1, hint=text("view.file_name"), callback=self._typed)
            self._note: Tag = dpg.add_text("", color=theme.DIM)
            with dpg.group(horizontal=True):
                self.accept: Tag = dpg.add_button(label="", width=theme.px(150), callback=self.enter)
                self.cancel: Tag = dpg.add_button(label=text("view.cancel"), width=theme.px(110), callback=self.close)
            theme.tip(self.accept, text("view.enter_tip"))
            theme.tip(self.cancel, text("view.escape_tip"))
        dpg.bind_item_theme(self.accept, self._blue)

    @property
    def is_open(self) -> bool:
        return bool(dpg.is_item_shown(self.window))

    @property
    def busy(self) -> bool:
        """Whether a folder is being read."""
        return self._awaited

    @property
    def inputs(self) -> set[Tag]:
        return {self.path, self.name} if self.is_open else set()

    def open(
        self, title: str, then: Callable[[Path], None], *, purpose: str, endings: Sequence[str], saving: bool = False,
        folder: Path | None = None, name: str = "",
    ) -> None:  # fmt: skip
        """`then` gets the file. `folder`: where to look if none is remembered for the purpose."""
        self._then, self._purpose, self._endings, self._saving = then, purpose, tuple(endings), saving
        known = self._folder_of(purpose)
        start = Path(known) if known else folder or Path.cwd()
        self._build()
        width, height = theme.px(WIDTH), theme.px(HEIGHT)
        place = [(dpg.get_viewport_client_width() - width) // 2, max(24, (dpg.get_viewport_client_height() - height) // 2)]
        dpg.configure_item(self.window, label=title, show=True, pos=place, width=width, height=height)
        dpg.set_value(self.name, name)
        self._calm()
        self._go(start)
        dpg.focus_item(self.name)

    def close(self) -> None:
        dpg.hide_item(self.window)

    # -- folders -------------------------------------------------------------------------------------------------------

    def _go_typed(self, given: str) -> None:
        self._go(files.typed_path(given, self.folder).absolute())

    def _go(self, folder: Path) -> None:
        self._request += 1
        self._awaited = True
        number, endings = self._request, self._endings

        def look() -> None:
            try:
                self._listings.put((number, folder, files.listed(folder, endings), ""))
            except (OSError, ValueError) as error:  # ValueError: of a name that no file can have
                self._listings.put((number, folder, [], getattr(error, "strerror", "") or str(error)))

        threading.Thread(target=look, name="folder", daemon=True).start()

    def sync(self) -> None:
        while not self._listings.empty():
            number, folder, items, why = self._listings.get()
            if number != self._request:
                continue
            self._awaited = False
            if why and folder != Path.home() and not self.items:
                self._go(Path.home())
            if why:
                self._say(text("view.folder_unreadable", name=folder, why=why), theme.ERROR)
                dpg.set_value(self.path, shown(str(self.folder)))
                continue
            self.folder, self.items, self._chosen = folder, items, -1
            dpg.set_value(self.path, shown(str(folder)))
            self._fill()

    def _fill(self) -> None:
        clear(self._list)
        self.rows.clear()
        if not self.items:
            dpg.add_text(text("view.folder_empty", endings=" ".join(self._endings)), parent=self._list, color=theme.DIM)
            return
        with dpg.table(parent=self._list, header_row=False, policy=dpg.mvTable_SizingFixedFit):
            dpg.add_table_column(width_stretch=True)
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(90))
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(110))
            for index, item in enumerate(self.items):
                with dpg.table_row():
                    words = labelled("folder" if item.is_folder else "file", item.name)
                    row = dpg.add_selectable(label=label(words), span_columns=True, callback=partial(self._clicked, index))
                    self.rows.append(theme.dress(row, item.name))
                    dpg.add_text("" if item.is_folder else files.size_text(item.size_bytes), color=theme.DIM)
                    dpg.add_text(files.time_text(item.changed_at), color=theme.DIM)

    # -- choosing ------------------------------------------------------------------------------------------------------

    def _clicked(self, index: int) -> None:
        """A click fills the name in, or goes into a folder; a double click takes the file."""
        self._choose(index)
        item = self.items[index]
        if item.is_folder:
            self._go(self.folder / item.name)
        elif is_double_click():
            self.enter()

    def move(self, by: int) -> None:
        if self.items:
            self._choose(max(0, min(len(self.items) - 1, self._chosen + by)))

    def _choose(self, index: int) -> None:
        self._chosen = index
        for place, row in enumerate(self.rows):
            dpg.set_value(row, place == index)
        if not self.items[index].is_folder:
            self._expected = (dpg.get_value(self.name), shown(self.items[index].name))
            dpg.set_value(self.name, self._expected[1])
        self._calm()

    def _typed(self, sender: Tag, given: str) -> None:
        # A field that has the keyboard answers to being set, with what was in it.
        if self._chosen < 0 or given not in self._expected:
            self._chosen = -1
            self._calm()

    def enter(self) -> None:
        """Take what is typed or chosen."""
        if dpg.get_value(self.path).strip() != shown(str(self.folder)).strip():
            self._go_typed(dpg.get_value(self.path))
            return
        if self._chosen >= 0 and self.items[self._chosen].is_folder:
            self._go(self.folder / self.items[self._chosen].name)
            return
        # A field that has the keyboard keeps what was typed into it, whatever it is set to.
        name = self.items[self._chosen].name if self._chosen >= 0 else dpg.get_value(self.name)
        what, path = files.meaning(self.folder, name, self._endings, saving=self._saving)
        if what == files.GO:
            dpg.set_value(self.name, "")
            self._go(path.absolute())
        elif what == files.MISSING:
            self._say(text("view.file_missing", name=path), theme.ERROR)
        elif what == files.OVERWRITE and self._asked != path:
            self._asked = path
            self._say(text("view.file_exists", name=path.name), theme.HOT)
            dpg.configure_item(self.accept, label=text("view.overwrite"))
        elif what in (files.TAKE, files.OVERWRITE):
            self.close()
            self._remember(self._purpose, str(path.parent))
            self._then(path)

    def _calm(self) -> None:
        """Nothing has been asked."""
        self._asked = None
        dpg.configure_item(self.accept, label=text("view.do_save" if self._saving else "view.do_open"))
        self._say(" ".join(f"*{ending}" for ending in self._endings), theme.DIM)

    def _say(self, words: str, color: theme.Rgb) -> None:
        dpg.set_value(self._note, words)
        dpg.configure_item(self._note, color=color)
