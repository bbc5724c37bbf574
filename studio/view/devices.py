"""The device panel: what this machine has, what it can do, and which of it trains."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from munet.inspect import DeviceInfo
from studio.devicelist import DeviceList, choices, facts_of, name_of, title_of, warning_of
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg


class Devices:
    """Looks for devices when it is first seen, and when asked to."""

    def __init__(self, core: Core, parent: Tag):
        self._core, self.list = core, DeviceList()
        self._seen: object = None
        self._next_wanted = False
        self._labels: dict[str, str] = {}
        self.uses: dict[str, Tag] = {}  # buttons, by how the preferences call the device
        self.choice: Tag = dpg.add_combo((), parent=parent, width=-1, callback=self._chosen)
        theme.tip(self.choice, text("devices.choice_tip"))
        self.refresh: Tag = dpg.add_button(label=text("devices.refresh"), parent=parent, callback=self.list.look)
        theme.tip(self.refresh, text("devices.refresh_tip"))
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)

    @property
    def busy(self) -> bool:
        """Whether devices are being looked for."""
        return self.list.busy

    def hear(self) -> None:
        """Once a frame: what the drivers have answered."""
        self.list.poll()
        if self._next_wanted and self.list.found is not None:
            self.next()

    def sync(self, now: float) -> None:
        if self.list.found is None:
            self.list.look()
        core = self._core
        known = (self.list.version, self.list.busy, core.preferences.device, core.trainer.device)
        if known == self._seen:
            return
        self._seen = known
        self._labels = choices(self.list.found, core.preferences.device)
        dpg.configure_item(self.choice, items=list(self._labels.values()))
        dpg.set_value(self.choice, self._labels[core.preferences.device])
        dpg.configure_item(self.refresh, enabled=not self.list.busy)
        clear(self._box)
        self.uses.clear()
        found = self.list.found
        if found is None:
            dpg.add_text(text("devices.looking"), parent=self._box, color=theme.DIM)
            return
        warning = warning_of(found, core.trainer.device)
        if warning:
            dpg.add_text(warning, parent=self._box, wrap=0, color=theme.HOT)
        for info in found.devices:
            self._device(info)

    def _device(self, info: DeviceInfo) -> None:
        core = self._core
        marks = [text("devices.now")] if info.name == core.trainer.device else []
        marks += [text("devices.used")] if name_of(info) == core.preferences.device else []
        title, is_open = title_of(info), bool(marks) or info.index == 0
        with dpg.group(parent=self._box):
            dpg.add_separator()
            theme.dress(dpg.add_text(title, wrap=0), title)
            if marks:
                dpg.add_text(", ".join(marks), color=theme.GOOD)
            for note in info.notes.values():
                dpg.add_text(note, wrap=0, color=theme.HOT)
            self.uses[name_of(info)] = button = dpg.add_button(
                label=text("devices.use"), callback=partial(self.use, name_of(info)),
                enabled=name_of(info) != core.preferences.device,
            )  # fmt: skip
            theme.tip(button, text("devices.use_tip"))
            with dpg.tree_node(label=text("devices.facts"), default_open=is_open, span_text_width=True):
                self._facts(info)

    def _facts(self, info: DeviceInfo) -> None:
        if info.kind == "reference":
            for _, value in facts_of(info):
                dpg.add_text(value, wrap=0)
            return
        with dpg.table(header_row=False, policy=dpg.mvTable_SizingFixedFit, no_saved_settings=True):
            dpg.add_table_column(width_fixed=True)
            dpg.add_table_column(width_stretch=True)
            for name, value in facts_of(info):
                with dpg.table_row():
                    dpg.add_text(name, color=theme.DIM)
                    dpg.add_text(value, wrap=0)

    def _chosen(self, sender: Tag, label: str) -> None:
        name = next(name for name, shown in self._labels.items() if shown == label)
        self.use(name)

    def next(self) -> None:
        """The one after the device that is chosen, for who has no mouse."""
        self._next_wanted = self.list.found is None
        if self._next_wanted:
            self.list.look()
            self._core.say(text("devices.looking"))
            return
        chosen = self._core.preferences.device
        names = list(choices(self.list.found, chosen))
        self.use(names[(names.index(chosen) + 1) % len(names)])

    def use(self, name: str) -> None:
        """Also what trains now goes on there."""
        core = self._core
        core.preferences = replace(core.preferences, device=name)
        if core.trainer.has_session:
            core.say(text("devices.moving", name=name))
            core.trainer.use_device(name)
        else:
            core.say(text("devices.chosen", name=name))
