"""The line in which a new variant is named, and the one it is a copy of chosen."""

from __future__ import annotations

from collections.abc import Callable

from munet.shaders import AssetView
from studio.icons import labelled
from studio.shaders import Key, free_name
from studio.texts import text
from studio.view import theme
from studio.view.gui import Tag, dpg


class NewVariant:
    """`make(base, name)` is called once, with Create or Enter."""

    def __init__(self, parent: Tag, make: Callable[[Key, str], None]):
        self._make = make
        self._asset: AssetView | None = None
        with dpg.group(parent=parent, show=False) as self._box, dpg.group(horizontal=True):
            dpg.add_text(text("shader.template"), color=theme.DIM)
            self.bases: Tag = dpg.add_combo([], width=theme.px(110), callback=self._chosen)
            self.name: Tag = dpg.add_input_text(
                width=theme.px(120), hint=text("shader.name_hint"), on_enter=True, callback=self._create
            )  # fmt: skip
            label = labelled("add", text("shader.create"))
            self.create: Tag = dpg.add_button(label=label, callback=self._create)
            cancel = dpg.add_button(label=text("view.cancel"), callback=self.hide)
        theme.tip(self.bases, text("shader.template_tip"))
        theme.tip(self.create, text("shader.create_tip"))
        theme.tip(cancel, text("view.escape_tip"))

    def show(self, asset: AssetView, base: str) -> None:
        """Ask for a name of a copy of `base`, or of another variant."""
        self._asset = asset
        dpg.configure_item(self.bases, items=[view.name for view in asset.variants if view.readable])
        dpg.set_value(self.bases, base)
        dpg.set_value(self.name, free_name(asset, base))
        dpg.show_item(self._box)
        dpg.focus_item(self.name)

    def hide(self) -> None:
        dpg.hide_item(self._box)

    def _chosen(self, sender: Tag, base: str) -> None:
        if self._asset is not None:
            dpg.set_value(self.name, free_name(self._asset, base))

    def _create(self) -> None:
        if self._asset is not None and dpg.is_item_shown(self._box):
            self.hide()
            self._make((self._asset.name, dpg.get_value(self.bases)), dpg.get_value(self.name).strip())
