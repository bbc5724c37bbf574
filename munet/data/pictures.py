"""Pictures: one as a table of places and colours, or a folder of them with a folder for each class."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from munet.data.dataset import Array, DataError, Dataset
from munet.data.files import LARGEST_BYTES, find
from munet.data.splitting import split

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF")  # others are not tried: their readers are seldom looked at
LARGEST_PIXELS = 1 << 26  # of one picture


def picture(file: str, size: int) -> Dataset:
    """`x` f32 [n, 2] places of pixels, across and down, from -1 to 1; `y` f32 [n, 3] their colours from 0 to 1.

    The longer side is brought down to `size`; without a file a drawn picture is taken. Nothing is held out.
    """
    pixels = read_picture(find(file, "picture"), "RGB", largest=size) if file else drawn_picture(size)
    h, w, _ = pixels.shape
    down, across = np.meshgrid((2 * np.arange(h) + 1) / h - 1, (2 * np.arange(w) + 1) / w - 1, indexing="ij")
    places = np.stack([across, down], axis=-1).reshape(-1, 2)
    return Dataset({"x": places.astype(np.float32), "y": (pixels.reshape(-1, 3) / np.float32(255)).astype(np.float32)})


def drawn_picture(size: int) -> Array:
    """u8 [size, size, 3]: a sky, a sun with rays, and striped hills, with soft and sharp edges."""
    down, across = np.meshgrid(*[np.linspace(-1, 1, size)] * 2, indexing="ij")
    sky = np.stack([0.35 + 0.3 * (down + 1) / 2, 0.55 + 0.2 * (down + 1) / 2, 0.95 - 0.15 * down], axis=-1)
    radius, angle = np.hypot(across - 0.4, down + 0.45), np.arctan2(down + 0.45, across - 0.4)
    rays = (0.5 + 0.5 * np.cos(12 * angle)) * np.exp(-((radius / 0.55) ** 2))
    sky += rays[..., None] * np.array([0.5, 0.35, -0.25])
    sky[radius < 0.22] = (1.0, 0.85, 0.25)
    for height, tint, waves in ((0.15, (0.2, 0.5, 0.3), 3.0), (0.5, (0.1, 0.35, 0.2), 5.0)):
        below = down > height + 0.12 * np.sin(waves * across + height)
        stripes = 0.85 + 0.15 * np.sign(np.sin(30 * (down + 0.3 * across)))
        sky[below] = (np.array(tint) * stripes[..., None])[below]
    return np.rint(np.clip(sky, 0, 1) * 255).astype(np.uint8)


def picture_folder(folder: str, size: int, grey: bool, held_out: float) -> Dataset:
    """`image` u8 [n, 1 or 3, size, size] and `label` u8 [n]: the place of the picture's folder among the sorted folders."""
    root = Path(folder).expanduser()
    if "\0" in folder or not root.is_dir():
        raise DataError(f'there is no folder "{folder}"; relative names count from the folder that the program runs in')
    classes = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not 1 <= len(classes) <= 256:
        raise DataError(f"{root}: it holds {len(classes)} folders; there is one for each class, up to 256")
    files = [(path, label) for label, part in enumerate(classes) for path in pictures_in(part, root.resolve())]
    if not files:
        raise DataError(f"{root}: its folders hold no pictures ({', '.join(SUFFIXES)})")
    channels = 1 if grey else 3
    if len(files) * size * size * channels > LARGEST_BYTES:
        raise DataError(f"{root}: {len(files)} pictures of {size} x {size} pixels are more than {LARGEST_BYTES} bytes")
    image = np.empty((len(files), channels, size, size), np.uint8)
    for place, (path, _) in enumerate(files):
        pixels = read_picture(path, "L" if grey else "RGB", exact=size)
        image[place] = pixels.reshape(size, size, channels).transpose(2, 0, 1)
    return split({"image": image, "label": np.array([label for _, label in files], np.uint8)}, held_out)


def pictures_in(folder: Path, root: Path) -> list[Path]:
    """Pictures of a folder by name. Links that lead out of `root` are refused."""
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            if not path.resolve().is_relative_to(root):
                raise DataError(f"{path}: it is a link that leads out of {root}")
            found.append(path)
    return found


def read_picture(path: Path, mode: str, *, largest: int = 0, exact: int = 0) -> Array:
    """u8 [h, w] or [h, w, 3]; the longer side at most `largest`, or both sides `exact`."""
    with _named(path), Image.open(path, formats=FORMATS) as image:
        if image.width * image.height > LARGEST_PIXELS:
            raise DataError(f"{path}: it has {image.width} x {image.height} pixels, more than {LARGEST_PIXELS}")
        pixels = image.convert(mode)
        if exact:
            pixels = pixels.resize(
                (exact, exact), Image.Resampling.BOX if exact <= min(pixels.size) else Image.Resampling.BILINEAR
            )
        elif largest and max(pixels.size) > largest:
            share = largest / max(pixels.size)
            pixels = pixels.resize(
                (max(1, round(pixels.width * share)), max(1, round(pixels.height * share))), Image.Resampling.BOX
            )
        return np.asarray(pixels)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """What goes wrong with a picture names its file; Pillow's warning of a picture that unpacks to too much is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            yield
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            raise DataError(f"{path}: not a picture that can be read: {error}") from error
