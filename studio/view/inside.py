"""What can be done by keys, menus and the palette of commands in the panels that look inside, and in the shader studio."""

from __future__ import annotations

from collections.abc import Callable

from studio.texts import text
from studio.view.code import Code
from studio.view.core import Core
from studio.view.machine import Machine
from studio.view.memory import Memory
from studio.view.panels import Panels
from studio.view.passes import Passes
from studio.view.preview import Preview
from studio.view.shaders import Shaders
from studio.view.tensor import TensorPanel
from studio.view.timeline import TimelinePanel


class Inside:
    """`actions` by their names in the keyboard map. Each brings the panel that it is about to the front."""

    def __init__(
        self, core: Core, panels: Panels, machine: Machine, passes: Passes, code: Code, memory: Memory, timeline: TimelinePanel,
        preview: Preview, tensor: TensorPanel, shaders: Shaders,
    ):  # fmt: skip
        self._core, self._panels, self._passes, self._shaders = core, panels, passes, shaders
        shown, shader = self._shown, self._with_shaders
        file = shaders.code
        self.actions: dict[str, Callable[[], object]] = {
            "measure": core.trainer.measure, "measure_limits": machine.measure_limits,
            "next_pass": lambda: self._go(1), "previous_pass": lambda: self._go(-1),
            "sort_passes": shown("passes", passes.sort_next),
            "next_preview": shown("preview", preview.next_kind), "next_sample": shown("preview", preview.next_sample),
            "next_tensor": shown("tensor", tensor.next_tensor), "next_batch": shown("tensor", tensor.next_batch),
            "copy_tensor": shown("tensor", tensor.copy_numbers),
            "code_view": shown("code", code.next_view), "copy_code": shown("code", code.copy_shown),
            "memory_area": shown("memory", memory.next_area), "memory_colours": shown("memory", memory.next_way),
            "export_trace": shown("timeline", timeline.ask_export),
            "shader_next": shader(lambda: shaders.step(1)),
            "shader_previous": shader(lambda: shaders.step(-1)),
            "shader_verify": shader(file.verify), "shader_verify_all": shader(shaders.verify_every),
            "shader_tune": shader(shaders.tune_sizes), "shader_new": shader(file.name_copy),
            "shader_edit": shader(file.edit), "shader_editor": shader(file.open_editor),
            "shader_use": shader(file.toggle_use), "shader_revert": shader(file.revert),
            "shader_forget": shader(file.forget), "shader_delete": shader(file.ask_delete),
        }  # fmt: skip

    def _shown(self, panel: str, call: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            self._panels.show(panel)
            call()

        return run

    def _with_shaders(self, call: Callable[[], object]) -> Callable[[], object]:
        """As soon as the shader panel knows what there is."""
        return self._shown("shaders", lambda: self._shaders.when_known(call))

    def _go(self, by: int) -> None:
        """To the next pass as the list has them; the panels that are seen follow."""
        if self._core.trainer.passes:
            self._passes.step(by)
        else:
            self._core.say(text("view.no_passes"), error=True)
