"""What the compiler made of a node or a pass: the fused ops and the shader, side by side or one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from munet import Session, inspect
from studio.cycle import after
from studio.icons import labelled
from studio.passrows import passes_of_nodes
from studio.texts import text
from studio.view import copying, theme
from studio.view.codeview import CodeView
from studio.view.flow import Flow
from studio.view.gui import Tag, dpg
from studio.view.machine import Machine

PASSES = 330  # pixels, at scale 1, of the choice of the pass
ROOM_FOR_TWO = 640  # pixels, at scale 1: below that one text is shown at a time


@dataclass(frozen=True)
class Texts:
    """Of all passes of a program, by their numbers."""

    ir: Mapping[int, str]
    glsl: Mapping[int, str]


def read_texts(session: Session) -> Texts:
    return Texts(inspect.ir_of(session.program), inspect.glsl_of(session.program))


class Code:
    """The passes of the selection are offered above; the code of one is shown."""

    def __init__(self, machine: Machine, parent: Tag):
        self._machine = machine
        self._texts: Texts | None = None
        self._asked_for = -1  # the session
        self._seen: object = None
        self._offered: tuple[int, ...] = ()
        self.index: int | None = None  # of the pass that is shown
        self._what = "both"
        self._flow = Flow(parent)
        names = [text(f"code.{name}") for name in ("both", "ir", "glsl")]
        self._passes: Tag = dpg.add_combo((), width=theme.px(PASSES), callback=self._picked, show=False, parent=self._flow.cell())
        self.choice: Tag = dpg.add_radio_button(
            names, default_value=names[0], horizontal=True, callback=self._chose, parent=self._flow.cell()
        )
        self.copy: Tag = dpg.add_button(
            label=labelled("copy", text("code.copy")), callback=self.copy_shown, show=False, parent=self._flow.cell()
        )
        for item, about in ((self._passes, "passes"), (self.choice, "choice"), (self.copy, "copy")):
            theme.tip(item, text(f"code.{about}_tip"))
        self._hint: Tag = dpg.add_text("", color=theme.DIM, parent=parent, wrap=0)
        self._both: Tag = dpg.add_group(parent=parent, horizontal=True)
        self.ir, self.glsl = CodeView(self._both), CodeView(self._both)
        self._room = 0

    def sync(self, now: float) -> None:
        trainer = self._machine.core.trainer
        if self._asked_for != trainer.session_version:
            self._texts = None
            if trainer.ask("code", read_texts, self._take):
                self._asked_for = trainer.session_version
        state = (self._machine.state, trainer.passes_version, self._texts)
        if state != self._seen:
            self._seen = state
            self._offer()
        room = dpg.get_item_rect_size(dpg.get_item_parent(self._both))[0]
        if room != self._room:
            self._room = room
            self._arrange()
        self._flow.fit(room)
        for view in (self.ir, self.glsl):
            if dpg.is_item_shown(view.box):
                view.sync()

    def _take(self, found: Texts) -> None:
        self._texts = found

    def _offer(self) -> None:
        """The passes of what is selected; the one that is shown stays, if it is among them."""
        trainer = self._machine.core.trainer
        chosen = self._machine.pass_
        found = {chosen} if chosen is not None else passes_of_nodes(trainer.passes, self._machine.paths)
        self._offered = tuple(sorted(found)) if self._texts is not None and trainer.passes else ()
        if self.index not in self._offered:
            self.index = self._offered[0] if self._offered else None
        titles = [self._title(index) for index in self._offered]
        dpg.configure_item(self._passes, items=titles, default_value=self._title(self.index) if self.index is not None else "")
        for item in (self._passes, self.choice, self.copy):
            dpg.configure_item(item, show=self.index is not None)
        hint = text("code.nothing" if trainer.passes else "code.no_session") if self.index is None else ""
        dpg.set_value(self._hint, hint)
        dpg.configure_item(self._hint, show=bool(hint))
        self._show()

    def _title(self, index: int) -> str:
        return text("code.pass", index=index, name=self._machine.core.trainer.passes[index].name)

    def _show(self) -> None:
        dpg.configure_item(self._both, show=self.index is not None)
        if self.index is not None and self._texts is not None:
            self.ir.show(self._texts.ir[self.index], "ir")
            self.glsl.show(self._texts.glsl[self.index], "glsl")

    # -- what is asked for ---------------------------------------------------------------------------------------------

    def _picked(self, sender: Tag, title: str) -> None:
        self.index = next((index for index in self._offered if self._title(index) == title), self.index)
        self._show()

    def _chose(self, sender: Tag, label: str) -> None:
        self._what = next(name for name in ("both", "ir", "glsl") if text(f"code.{name}") == label)
        self._arrange()

    def next_view(self) -> None:
        """Both texts, the IR, the GLSL."""
        self._what = after(self._what, ("both", "ir", "glsl"))
        dpg.set_value(self.choice, text(f"code.{self._what}"))
        self._arrange()

    def _arrange(self) -> None:
        scale = dpg.get_global_font_scale()
        dpg.configure_item(self._passes, width=max(1, min(theme.px(PASSES), self._room)))
        two = self._what == "both" and self._room >= ROOM_FOR_TWO * scale
        dpg.configure_item(self.ir.box, show=two or self._what in ("ir", "both"), width=int(self._room * 0.46) if two else -1)
        dpg.configure_item(self.glsl.box, show=two or self._what == "glsl")

    def copy_shown(self) -> None:
        """What is shown, as text."""
        shown = [view for view in (self.ir, self.glsl) if dpg.is_item_shown(view.box)]
        copying.copy("\n\n".join(view.text for view in shown))
        self._machine.core.say(text("code.copied", lines=sum(len(view.lines) for view in shown)))
