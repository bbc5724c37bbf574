"""Textures: made once at first use, and used again. Dear PyGui checks nothing of what it is given, so it is checked here.

A texture that exists is uploaded in every frame, seen or not: there are few, and they are small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from studio.view.gui import Tag, dpg

Array = np.ndarray[Any, Any]


class Texture:
    """Square, RGBA of f32; `put` writes into its memory, which Dear PyGui reads."""

    def __init__(self, side: int):
        self.side = side
        self._memory = np.zeros((side, side, 4), np.float32)
        with dpg.texture_registry():
            self.tag: Tag = dpg.add_raw_texture(side, side, default_value=self._memory, format=dpg.mvFormat_Float_rgba)
        self.used = (side, side)  # height and width of the part that shows something

    def put(self, rgba: Array, used: tuple[int, int] | None = None) -> None:
        """A picture of just this size; `used`: how much of it, from the upper left, is to be seen."""
        if rgba.shape != self._memory.shape or rgba.dtype != np.float32:
            raise ValueError(f"a texture of {self._memory.shape} f32 cannot take {rgba.shape} {rgba.dtype}")
        self._memory[...] = rgba
        self.used = used or (self.side, self.side)

    @property
    def uv_max(self) -> tuple[float, float]:
        """Where the used part ends, as a share of the width and of the height."""
        return self.used[1] / self.side, self.used[0] / self.side


class Pool:
    """So many textures of one size, by the names of those who show something in them."""

    def __init__(self, count: int, side: int):
        self.count, self.side = count, side
        self._free: list[Texture] = []
        self._made = 0
        self._taken: dict[str, Texture] = {}

    def get(self, name: str) -> Texture | None:
        """The texture that has been taken under a name."""
        return self._taken.get(name)

    def take(self, name: str) -> Texture | None:
        """A texture for this name, the same one as before; None if there is none left."""
        if name not in self._taken:
            if not self._free and self._made == self.count:
                return None
            if not self._free:
                self._free.append(Texture(self.side))
                self._made += 1
            self._taken[name] = self._free.pop()
        return self._taken[name]

    def keep(self, names: set[str]) -> None:
        """Take back the textures of all others; nothing may show them any more."""
        for name in self._taken.keys() - names:
            self._free.append(self._taken.pop(name))
