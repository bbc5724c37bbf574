"""The part of the preview panel in which a language model writes; a few letters at a time, again when it has learnt more."""

from __future__ import annotations

from dataclasses import replace

from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Tag, dpg
from studio.view.looks import Looks, quietly
from studio.writing import Writing, write

COUNT = 240  # letters
NAME = "writing"


class Typist:
    """`writing` is the text as far as it is written."""

    def __init__(self, core: Core, parent: Tag, looks: Looks):
        self._core, self._looks = core, looks
        self._written_at: object = None  # session and step that the text was begun with
        self.writing: Writing | None = None
        with dpg.group(parent=parent, show=False) as self._box:
            with dpg.group(horizontal=True):
                self.prompt: Tag = dpg.add_input_text(default_value="\\n", hint=text("preview.prompt"), width=theme.px(110))
                self.temperature: Tag = dpg.add_slider_float(
                    width=theme.px(130), min_value=0.0, max_value=2.0, default_value=0.8, format=text("preview.temperature")
                )
                self.button: Tag = dpg.add_button(label=text("preview.write"), callback=self._again)
            for item, about in ((self.prompt, "prompt"), (self.temperature, "temperature"), (self.button, "write")):
                theme.tip(item, text(f"preview.{about}_tip"))
            with dpg.child_window(border=False):
                self._text: Tag = dpg.add_text("", wrap=0, color=theme.TEXT)

    def show(self, shown: bool) -> None:
        dpg.configure_item(self._box, show=shown)

    def _again(self) -> None:
        self._written_at = None

    def sync(self, now: float) -> None:
        trainer, purpose = self._core.trainer, self._looks.purpose
        if purpose is None or not purpose.letters:
            return
        at = (trainer.session_version, trainer.record.step)
        done = self.writing is None or self.writing.left == 0
        if self._written_at is None or (done and at != self._written_at):
            self._written_at = at
            prompt = dpg.get_value(self.prompt).replace("\\n", "\n")
            heat = float(dpg.get_value(self.temperature))
            self.writing = Writing(purpose.letters, purpose.scores, purpose.file, prompt, COUNT, heat, trainer.record.step)
        writing = self.writing
        if writing is None or writing.left == 0:
            return
        call = quietly(lambda session: write(session, writing), lambda why: replace(writing, written=why, left=0))
        self._looks.want(NAME, "text", call, self._hear, now, more=True)

    def _hear(self, writing: Writing) -> None:
        if self._written_at is not None:  # else another text is to be begun
            self.writing = writing
            dpg.set_value(self._text, writing.written)
