"""Dimension patterns and shape arithmetic: how a declaration states what fits.

A pattern is written like "n c h w": the same name means the same size, a number exactly that size, and `*any` any number of
dimensions. Starred dimensions broadcast between inputs as in NumPy; plain ones must be equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from munet.engine.errors import ShapeError

Shape = tuple[int, ...]


def parse_pattern(pattern: str) -> tuple[str, ...]:
    """Words of a pattern; at most one is starred."""
    words = tuple(pattern.split())
    if sum(word.startswith("*") for word in words) > 1:
        raise ValueError(f'pattern "{pattern}" has more than one starred name')
    for word in words:
        if not (word.isdecimal() or word.lstrip("*").isidentifier()):
            raise ValueError(f'pattern "{pattern}": "{word}" is neither a name nor a number')
    return words


@dataclass
class Dims:
    """Sizes bound so far by matching one node's inputs; `origin` says which input bound a name, for messages."""

    sizes: dict[str, int] = field(default_factory=dict)
    stars: dict[str, Shape] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def __getattr__(self, name: str) -> int:
        try:
            return self.sizes[name]
        except KeyError:
            raise AttributeError(name) from None

    def match(self, operator: str, socket: str, pattern: str, shape: Shape, *, bind_star: bool = True) -> None:
        """Bind the pattern's names to `shape`; raises ShapeError that names both sides of a disagreement.

        Without `bind_star` the starred dimensions are any: those of a variadic input need not broadcast with each other.
        """
        words = parse_pattern(pattern)
        star = next((i for i, word in enumerate(words) if word.startswith("*")), None)
        plain = len(words) - (star is not None)
        if len(shape) < plain or (star is None and len(shape) != plain):
            count = f"{'' if star is None else 'at least '}{plain} dimension{'s' if plain != 1 else ''}"
            raise ShapeError(
                f"{socket} has shape {list(shape)}, {len(shape)} dimensions",
                rule=f'{socket} of {operator} is "{pattern}", {count}' if words else f"{socket} of {operator} is a single number",
                socket=socket,
                code="rank-mismatch",
            )
        axis = 0
        for i, word in enumerate(words):
            if i == star:
                length = len(shape) - plain
                if bind_star:
                    self._match_star(operator, socket, word[1:], shape[axis : axis + length])
                axis += length
                continue
            size = shape[axis]
            expected = int(word) if word.isdecimal() else self.sizes.get(word)
            if expected is not None and expected != size:
                where = "" if word.isdecimal() else f", but {self.origin[word]} set {word} = {expected}"
                raise ShapeError(
                    f"{operator}.{socket}: dimension {axis}{'' if word.isdecimal() else f' ({word})'} is {size}{where}",
                    rule=f'{socket} is "{pattern}"',
                    socket=socket,
                )
            if not word.isdecimal():
                self.sizes[word] = size
                self.origin.setdefault(word, f"{operator}.{socket}")
            axis += 1

    def _match_star(self, operator: str, socket: str, name: str, shape: Shape) -> None:
        known = self.stars.get(name)
        if known is None:
            self.stars[name] = shape
            self.origin[name] = f"{operator}.{socket}"
            return
        try:
            self.stars[name] = broadcast_shapes(known, shape)
        except ValueError:
            raise ShapeError(
                f"{operator}.{socket} has {list(shape)} where {self.origin[name]} has {list(known)}",
                rule="shapes broadcast when each dimension, counted from the last, is equal or 1",
                socket=socket,
            ) from None

    def build(self, pattern: str) -> Shape:
        """The shape that a pattern stands for; every name in it is bound."""
        shape: list[int] = []
        for word in parse_pattern(pattern):
            if word.startswith("*"):
                shape += self.stars[word[1:]]
            else:
                shape.append(int(word) if word.isdecimal() else self.sizes[word])
        return tuple(shape)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcasting, zero sizes included. Raises ValueError."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis and shape[axis] != 1}
        if len(sizes) > 1:
            raise ValueError(f"shapes {[list(s) for s in shapes]} do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int = 1) -> int:
    """Number of window positions along one axis; all arguments in pixels.

    Trailing pixels that cannot hold a whole window are ignored.
    Raises ShapeError when the padded axis is shorter than the kernel.
    """
    reach = dilation * (kernel - 1) + 1
    if size + 2 * padding < reach:
        raise ShapeError(
            f"a window of {reach} does not fit into {size} pixels with padding {padding}",
            rule="size + 2 padding is at least the window",
            cure="a smaller kernel, more padding, or fewer pooling steps before",
        )
    return (size + 2 * padding - reach) // stride + 1


def normal_axes(axes: Sequence[int], rank: int, param: str = "axes") -> tuple[int, ...]:
    """Axes counted from the front, sorted, each once. Raises ShapeError for one that does not exist."""
    for axis in axes:
        if not -rank <= axis < rank:
            rule = f"axes of a tensor of {rank} dimensions are {-rank} to {rank - 1}" if rank else "a single number has no axes"
            raise ShapeError(f"axis {axis} does not exist", rule=rule, socket=param)
    return tuple(sorted({axis % rank for axis in axes}))


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Shape after a reduction; no axes means all."""
    chosen = normal_axes(axes, len(shape)) or tuple(range(len(shape)))
    if keepdims:
        return tuple(1 if axis in chosen else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in chosen)


def resolve_reshape(shape: Shape, target: Sequence[int]) -> Shape:
    """The target shape with one -1 worked out. Raises ShapeError when the element counts differ."""
    unknown = [axis for axis, size in enumerate(target) if size == -1]
    known = math.prod(size for size in target if size != -1)
    total = math.prod(shape)
    if len(unknown) > 1 or any(size < -1 for size in target):
        raise ShapeError(f"cannot reshape to {list(target)}", rule="at most one size is -1, none is below", socket="shape")
    if unknown and known and total % known == 0:
        return tuple(total // known if size == -1 else size for size in target)
    if unknown or known != total:
        raise ShapeError(
            f"cannot reshape {list(shape)} ({total} elements) to {list(target)}",
            rule="the number of elements stays the same",
            socket="shape",
        )
    return tuple(target)


Sizes = Mapping[str, int]
