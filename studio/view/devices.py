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
        self._labels: dict[str, str] = {}
        with dpg.group(parent=parent, horizontal=True):
            self.choice: Tag = dpg.add_combo((), width=-110, callback=self._chosen)
            dpg.add_button(label=text("devices.refresh"), callback=lambda: self.list.look())
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)

    def sync(self, now: float) -> None:
        if self.list.found is None:
            self.list.look()
        self.list.poll()
        core = self._core
        known = (self.list.version, core.preferences.device, core.trainer.device)
        if known == self._seen:
            return
        self._seen = known
        self._labels = choices(self.list.found, core.preferences.device)
        dpg.configure_item(self.choice, items=list(self._labels.values()))
        dpg.set_value(self.choice, self._labels[core.preferences.device])
        clear(self._box)
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
        with dpg.tree_node(label=title_of(info), parent=self._box, default_open=bool(marks) or info.index == 0):
            if marks:
                dpg.add_text(", ".join(marks), color=theme.GOOD)
            for name, value in facts_of(info):
                with dpg.group(horizontal=True):
                    if name:
                        dpg.add_text(name, color=theme.DIM)
                    dpg.add_text(value, wrap=0)
            for note in info.notes.values():
                dpg.add_text(note, wrap=0, color=theme.HOT)
            dpg.add_button(label=text("devices.use"), callback=partial(self._use, name_of(info)))

    def _chosen(self, sender: Tag, label: str) -> None:
        name = next(name for name, shown in self._labels.items() if shown == label)
        self._use(name)

    def _use(self, name: str) -> None:
        """Also what trains now goes on there."""
        core = self._core
        core.preferences = replace(core.preferences, device=name)
        if core.trainer.has_session:
            core.say(text("devices.moving", name=name))
            core.trainer.use_device(name)
        else:
            core.say(text("devices.chosen", name=name))
