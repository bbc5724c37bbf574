"""From the command line to a window and back: preferences, place, recovery of what was lost, and what is kept at the end."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from studio import languages, storage
from studio import preferences as settings
from studio.files import time_text
from studio.texts import text
from studio.view.app import HEIGHT, LEAST, WIDTH, App
from studio.view.comfort import geometry, tell_font, tell_language
from studio.view.gui import why_no_window
from studio.view.interrupt import EXIT_CODE, Interrupt


def open_window(project: Path | None = None, *, stats: bool = False) -> str:
    """Show the window until it is closed; "" then, or at once why there cannot be one. `stats`: with the line of frame times."""
    why = why_no_window()
    if why:
        return why
    known = settings.load()
    outcome = languages.use(known.language, cjk_font=known.cjk_font)
    if outcome.refused:
        known = replace(known, language=languages.ENGLISH)
    size = known.window[2:] or (WIDTH, HEIGHT)
    app = App(known, (max(LEAST[0], size[0]), max(LEAST[1], size[1])), stats=stats)
    app.comfort.keeps = True
    interrupt, ended = Interrupt(lambda: app.core.autosave_if_due(0.0, at_once=True)), False
    try:
        if project is not None:
            app.actions.open_path(project)
        else:
            app.comfort.start.show()
        offer_recovery(app)
        tell_language(app.core, outcome)
        tell_font(app.core)
        app.loop(lambda: interrupt.asked)
        ended = not interrupt.asked
    finally:
        if not ended:  # by a fault of ours, perhaps: what is not saved is offered at the next start
            app.core.autosave_if_due(0.0, at_once=True)
        app.panels.save(app.core.preferences.ui_scale)
        app.core.preferences = replace(app.core.preferences, window=geometry())
        app.comfort.save()
        app.close(keep=not ended)
        interrupt.close()
    if interrupt.asked:
        sys.exit(EXIT_CODE)
    return ""


def offer_recovery(app: App, skipped: int = 0) -> None:
    """Work that another studio left behind when it ended unasked, the newest first. What is put off is offered next time."""
    found = storage.orphans(app.core.autosave.folder)[skipped:]
    if not found:
        return
    newest = found[0]

    def take() -> None:
        app.core.recover(newest)
        app.canvas.fit()

    def forget() -> None:
        storage.forget(newest)
        offer_recovery(app, skipped)

    name = newest.path.name if newest.path else newest.graph.name or text("view.untitled")
    choices = (
        (text("view.yes_recover"), partial(app.actions.unless_unsaved, take)), (text("view.no_recover"), forget),
        (text("view.later_recover"), partial(offer_recovery, app, skipped + 1)),
    )  # fmt: skip
    app.dialogs.ask(text("view.recover", name=name, time=time_text(newest.saved_at)), choices)
