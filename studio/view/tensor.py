"""The tensor inspector: any tensor of the selected node as numbers in a table, with a picture of the slice and its statistics.

When training is held because a number was not finite, the values are those of the step that failed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from munet import MunetError, Session, write_file
from munet.inspect import TensorView, summary
from studio import messages, slices, toning
from studio.cycle import after
from studio.icons import icon
from studio.texts import text
from studio.view import copying, theme
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg
from studio.view.looks import Looks, quietly
from studio.view.textures import Texture

Array = np.ndarray[Any, Any]
SaveAs = Callable[[str, str, Callable[[Path], None]], None]  # title, name of the file, what is done with the path

ROWS, COLUMNS = 24, 8  # of the table
MAP = 66  # pixels of the picture
SAMPLES = 32
GAP = 5  # pixels between the sliders
MARGIN = 16  # of the panel, left and right together
HELD, TRAINING, GRADIENT = "held_out", "training", "gradient"


class TensorPanel:
    """`name` is the tensor that is shown, `batch` where its samples are from, `values` what it holds."""

    def __init__(self, core: Core, parent: Tag, looks: Looks, save_as: SaveAs):
        self._core, self._looks, self._save_as, self._parent = core, looks, save_as, parent
        self.node, self.name, self.batch = "", "", HELD
        self.tensors: tuple[TensorView, ...] = ()
        self.values: Array | None = None
        self.cut = slices.Cut()
        self._fault = ""
        self._drawn: object = None
        self._version = 0
        self._held_seen: object = None
        self._controls_seen: object = None
        self._texture: Texture | None = None
        with dpg.group(parent=parent) as self._all:
            with dpg.group(horizontal=True):
                self.combo: Tag = dpg.add_combo([], width=theme.px(150), callback=self._choose)
                self.batches: Tag = dpg.add_combo([], width=-1, callback=self._choose_batch)
            with dpg.group(horizontal=True):
                self._map: Tag = dpg.add_drawlist(MAP, MAP)
                self._facts: Tag = dpg.add_text("", wrap=0, color=theme.DIM)
            self._strange: Tag = dpg.add_text("", wrap=0, color=theme.ERROR, show=False)
            with dpg.group(horizontal=True):
                self.copy: Tag = dpg.add_button(label=text("tensor.copy"), callback=self.copy_numbers)
                self.save: Tag = dpg.add_button(label=text("tensor.npy"), callback=self._save)
                self._turns: dict[str, Tag] = {
                    word: dpg.add_combo([], width=theme.px(82), callback=self._turn, user_data=word, show=False)
                    for word in ("down", "right")
                }
            for item, about in (
                (self.combo, "choice"), (self.batches, "batches"), (self.copy, "copy"), (self.save, "npy"),
                *((item, word) for word, item in self._turns.items()),
            ):  # fmt: skip
                theme.tip(item, text(f"tensor.{about}_tip"))
            self._axes: list[Tag] = []
            self._sliders: Tag = dpg.add_group(horizontal=True, horizontal_spacing=GAP)
            self._lines, self._cells = _table()
        self._empty: Tag = dpg.add_text(text("tensor.none"), parent=parent, color=theme.DIM, wrap=0)

    # -- what is chosen ------------------------------------------------------------------------------------------------

    def _choose(self, sender: Tag, title: str) -> None:
        self.name = next((tensor.name for tensor in self.tensors if _title(tensor) == title), self.name)

    def _choose_batch(self, sender: Tag, title: str) -> None:
        self.batch = next((batch for batch in (HELD, TRAINING, GRADIENT) if self._batch_title(batch) == title), HELD)

    def next_tensor(self) -> None:
        """Another one of the node."""
        if self.tensors:
            self.name = after(self.name, [tensor.name for tensor in self.tensors])

    def next_batch(self) -> None:
        """Held-out samples, the next step of training, or the gradient there."""
        tensor = self.tensor
        if tensor is not None:
            self.batch = after(self.batch, _batches(tensor))

    def _batch_title(self, batch: str) -> str:
        return text(f"tensor.{batch}")

    @property
    def tensor(self) -> TensorView | None:
        return next((tensor for tensor in self.tensors if tensor.name == self.name), None)

    @property
    def held(self) -> str:
        """The node that training is held for, "" unless it is."""
        trainer = self._core.trainer
        found = next((problem for problem in trainer.problems if problem.code == "not-finite"), None)
        return found.node if found is not None and trainer.phase == messages.PAUSED else ""

    def sync(self, now: float) -> None:
        core = self._core
        chosen = core.document.selection.nodes
        node = core.document.state.path_of(next(iter(chosen))) if len(chosen) == 1 else ""
        shown = bool(node) and core.trainer.has_session
        if shown != dpg.is_item_shown(self._all):
            dpg.configure_item(self._all, show=shown)
            dpg.configure_item(self._empty, show=not shown)
            self._drawn = None
        dpg.set_value(self._empty, text("tensor.none" if not node else "preview.no_session"))
        if not shown:
            return
        if node != self.node:
            self.node, self.tensors = node, ()
            self._hear(None, "")  # nothing of the node before is shown under the name of this one
        if self.held and self._held_seen is not core.trainer.problems:
            self._held_seen, self.batch = core.trainer.problems, TRAINING
        self._looks.want("tensors", node, partial(_tensors, node=node), partial(self._hear_tensors, node), now)
        tensor = self.tensor
        if tensor is not None:
            call = quietly(partial(fetch, tensor=tensor, batch=self.batch), lambda why: why)
            key = (tensor, self.batch)
            self._looks.want("tensor", key, call, partial(self._hear, key), now)
        self._controls()
        state = (self._version, self.cut, self.held)
        if state != self._drawn:
            self._drawn = state
            self._draw()

    def _hear_tensors(self, node: str, found: tuple[TensorView, ...]) -> None:
        if node != self.node or found == self.tensors:
            return
        self.tensors = found
        if self.tensor is None:
            best = sorted(found, key=lambda tensor: ("output", "parameter", "input", "state").index(tensor.kind))
            self.name = best[0].name if best else ""
        if not found:
            self._hear((None, ""), text("preview.nothing"))

    def _hear(self, key: object, found: Array | str) -> None:
        self._version += 1
        self.values, self._fault = (None, found) if isinstance(found, str) else (found, "")
        if self.values is not None:
            self.cut = slices.fitting(self.cut, self.values.shape)

    # -- drawing -------------------------------------------------------------------------------------------------------

    def _controls(self) -> None:
        """The choices above the table: tensors, batches, axes, and the places along them."""
        tensor = self.tensor
        shape = self.values.shape if self.values is not None else ()
        batches = [] if tensor is None else _batches(tensor)
        width = dpg.get_item_rect_size(self._parent)[0] - MARGIN
        now = (self.tensors, self.name, self.batch, shape, self.cut.down, self.cut.across, width)
        if now == self._controls_seen:
            return
        self._controls_seen = now
        dpg.configure_item(self.combo, items=[_title(each) for each in self.tensors])
        dpg.set_value(self.combo, _title(tensor) if tensor is not None else "")
        titles = [self._batch_title(batch) for batch in batches]
        if tensor is not None and not tensor.socket:
            titles[0] = text("tensor.value")
        dpg.configure_item(self.batches, items=titles)
        dpg.set_value(self.batches, titles[batches.index(self.batch)] if self.batch in batches else titles[0] if titles else "")
        for word, axis in (("down", self.cut.down), ("right", self.cut.across)):
            dpg.configure_item(self._turns[word], show=len(shape) > 1, items=[_axis(word, each) for each in range(len(shape))])
            dpg.set_value(self._turns[word], _axis(word, axis))
        limits = {axis: limit for axis, size in enumerate(shape) if (limit := size - self._shown_along(axis)) > 0}
        clear(self._sliders)
        self._axes.clear()
        dpg.configure_item(self._sliders, show=bool(limits))
        for axis, limit in limits.items():
            slider = dpg.add_slider_int(
                parent=self._sliders, width=max(40, int((width - GAP * (len(limits) - 1)) / len(limits))), max_value=limit,
                default_value=min(limit, self.cut.at[axis]), clamped=True, format=text("tensor.at", axis=axis), user_data=axis,
                callback=self._move,
            )  # fmt: skip
            self._axes.append(slider)
            theme.tip(slider, text("tensor.at_tip"))  # lies among the sliders, and has no state of its own

    @property
    def inputs(self) -> set[Tag]:
        """Fields that take letters while they are edited."""
        return set(self._axes)

    def _shown_along(self, axis: int) -> int:
        """How many elements of an axis the table has room for."""
        return ROWS if axis == self.cut.down else COLUMNS if axis == self.cut.across else 1

    def _turn(self, sender: Tag, title: str, word: str) -> None:
        axis = next(each for each in range(len(self.cut.at)) if _axis(word, each) == title)
        self.cut = self.cut.with_axes(axis, self.cut.across) if word == "down" else self.cut.with_axes(self.cut.down, axis)

    def _move(self, sender: Tag, index: int, axis: int) -> None:
        self.cut = self.cut.moved(axis, index)

    def _draw(self) -> None:
        values = self.values
        if values is None:
            dpg.set_value(self._facts, self._fault)
            dpg.configure_item(self._strange, show=False)
            plane = np.zeros((0, 0))
        else:
            found = summary(values)
            zeros = 100 * found.zeros / max(1, values.size)
            words = text("tensor.facts", minimum=found.minimum, maximum=found.maximum, mean=found.mean,
                         deviation=found.deviation, zeros=zeros)  # fmt: skip
            shape = f"{values.dtype}  {' × '.join(map(str, values.shape)) or '1'}"
            dpg.set_value(self._facts, f"{shape}\n{words}" if found.strange < values.size else shape)
            strange = [text("tensor.strange", count=found.strange, size=values.size)] if found.strange else []
            if self.held and self.batch != HELD:
                strange.append(text("tensor.held"))
            dpg.set_value(self._strange, "\n".join(strange))
            dpg.configure_item(self._strange, show=bool(strange))
            plane = slices.plane_of(values, self.cut)
        top, left = slices.start_of(self.cut) if plane.size else (0, 0)
        part = plane[top : top + ROWS, left : left + COLUMNS]
        self._fill(part, top, left)
        self._draw_map(plane, part, top, left)

    def _fill(self, part: Array, top: int, left: int) -> None:
        for row, (line, cells) in enumerate(zip(self._lines, self._cells, strict=True)):
            dpg.configure_item(line, show=row < len(part) + 1)
            for column, cell in enumerate(cells):
                inside = row < len(part) + 1 and column < part.shape[1] + 1 and part.size > 0
                if not inside or (row == 0 and column == 0):
                    dpg.set_value(cell, "")
                elif row == 0 or column == 0:
                    dpg.set_value(cell, str(left + column - 1 if row == 0 else top + row - 1))
                else:
                    value = part[row - 1, column - 1]
                    dpg.set_value(cell, slices.shown(value))
                    dpg.configure_item(cell, color=theme.ERROR if slices.is_strange(value) else theme.TEXT)

    def _draw_map(self, plane: Array, part: Array, top: int, left: int) -> None:
        clear(self._map)
        if not plane.size:
            return
        if self._texture is None:
            self._texture = Texture(MAP)
        numbers = plane.astype(np.float32)
        signed = bool((np.nan_to_num(numbers) < 0).any())
        rgba, used = toning.fitted(toning.tone(numbers, "signed" if signed else "sea"), MAP)
        self._texture.put(rgba, used)
        dpg.draw_image(self._texture.tag, (0, 0), (used[1], used[0]), uv_max=self._texture.uv_max, parent=self._map)
        if part.shape != plane.shape:
            across, down = used[1] / plane.shape[1], used[0] / plane.shape[0]
            corner = (left + part.shape[1]) * across, (top + part.shape[0]) * down
            dpg.draw_rectangle((left * across, top * down), corner, color=theme.ACCENT, parent=self._map)

    # -- out of the studio ---------------------------------------------------------------------------------------------

    def copy_numbers(self) -> None:
        """The slice that is shown, as text."""
        if self.values is not None:
            plane = slices.plane_of(self.values, self.cut)
            copying.copy(slices.as_text(plane))
            rows, columns = (min(size, slices.COPIED) for size in plane.shape)
            self._core.say(text("tensor.copied", rows=rows, columns=columns))

    def _save(self) -> None:
        values = self.values
        if values is None:
            return

        def write(path: Path) -> None:
            try:
                write_file(path.with_suffix(".npy"), slices.as_npy(values))
            except MunetError as error:
                self._core.say(str(error), error=True)
            else:
                self._core.say(text("view.saved", name=path.with_suffix(".npy").name))

        self._save_as(text("tensor.save"), self.name.replace("/", " "), write)


def fetch(session: Session, tensor: TensorView, batch: str) -> Array | str:
    """What a tensor holds: for held-out samples, in the next step of training, or its gradient there."""
    if batch == GRADIENT:
        return session.gradients(tensor.name).values[tensor.name]
    if not tensor.socket:
        return session.state(tensor.name)
    if batch == HELD:
        return session.look(tensor.name, SAMPLES)[tensor.name]
    node, _, socket = tensor.name.rpartition(".")
    found = session.tap(node, socket)
    assert isinstance(found, np.ndarray)
    return found


def _tensors(session: Session, node: str) -> tuple[TensorView, ...]:
    return session.tensors(node)


def _title(tensor: TensorView) -> str:
    if tensor.kind == "input":
        return f"in {tensor.socket}: {tensor.name}"
    return tensor.name


def _batches(tensor: TensorView) -> list[str]:
    return [HELD, TRAINING, GRADIENT] if tensor.socket else [HELD, GRADIENT]


def _axis(word: str, axis: int) -> str:
    """Which axis of a tensor goes down or across the table."""
    return f"{icon(word)} {text('tensor.axis', axis=axis)}"


def _table() -> tuple[list[Tag], list[list[Tag]]]:
    """Rows of a table, and the texts in them; the first row and column are for the numbers of rows and columns."""
    lines: list[Tag] = []
    cells: list[list[Tag]] = []
    with dpg.table(
        header_row=False, row_background=True, borders_innerV=True, policy=dpg.mvTable_SizingFixedFit, scrollX=True, scrollY=True,
        freeze_rows=1, freeze_columns=1, no_host_extendX=True,
    ) as table:  # fmt: skip
        for column in range(COLUMNS + 1):
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(34 if column == 0 else 64))
        for row in range(ROWS + 1):
            with dpg.table_row() as line:
                lines.append(line)
                cells.append([dpg.add_text("", color=theme.DIM if row == 0 or column == 0 else theme.TEXT)
                              for column in range(COLUMNS + 1)])  # fmt: skip
    dpg.bind_item_theme(table, theme.grid_theme())
    return lines, cells
