"""Sources: where samples come from. Arrays live on the device; a step reads its batch by row number."""

from __future__ import annotations

from munet.data import fashion, pictures, synthetic, tables, text
from munet.data.dataset import Dataset
from munet.data.digits import digits as load_digits
from munet.engine.declaring import source
from munet.engine.operator import Output, Param


@source("digits", outputs={"image": Output("n 1 28 28", "u8"), "label": Output("n", "u8")}, batch=100)
def digits() -> Dataset:
    """10,000 handwritten digits, 28 x 28 grey bytes, with labels 0 to 9: 9,000 to train on, 1,000 held out."""
    return load_digits()


@source("xor", outputs={"x": Output("n 2", "f32"), "y": Output("n 1", "f32")}, batch=4)
def xor() -> Dataset:
    """The four points of exclusive or: y is 1 where exactly one of the two inputs is."""
    return synthetic.xor()


@source(
    "spiral",
    outputs={"x": Output("n 2", "f32"), "label": Output("n", "u8")},
    batch=64,
    params={
        "classes": Param(3, min=2, max=12),
        "points": Param(200, min=4, max=100_000, doc="points of each class"),
        "noise": Param(0.1, min=0.0),
        "data_seed": Param(0, min=0),
    },
)
def spiral(classes: int, points: int, noise: float, data_seed: int) -> Dataset:
    """Points in the plane on intertwined spiral arms, one arm a class."""
    return synthetic.spiral(classes=classes, points=points, noise=noise, seed=data_seed)


HELD_OUT = Param(0.2, min=0.0, max=0.9, doc="share of the samples that is kept for testing")
SEED = Param(0, min=0)


@source(
    "blobs",
    outputs={"x": Output("n features", "f32"), "label": Output("n", "u8")},
    params={
        "classes": Param(3, min=1, max=256),
        "points": Param(100, min=1, max=1_000_000, doc="points of each class"),
        "features": Param(2, min=1, max=4096),
        "spread": Param(0.3, min=0.0),
        "data_seed": SEED,
    },
)
def blobs(classes: int, points: int, features: int, spread: float, data_seed: int) -> Dataset:
    """Round clouds of points, one a class."""
    return synthetic.blobs(classes, points, features, spread, data_seed)


@source(
    "regression",
    outputs={"x": Output("n features", "f32"), "y": Output("n 1", "f32")},
    params={
        "count": Param(200, min=1, max=10_000_000),
        "features": Param(1, min=1, max=4096),
        "noise": Param(0.1, min=0.0),
        "data_seed": SEED,
    },
)
def regression(count: int, features: int, noise: float, data_seed: int) -> Dataset:
    """Points on a smooth curve, with noise: y is to be told from x."""
    return synthetic.regression(count, features, noise, data_seed)


@source("iris", outputs={"x": Output("n 4", "f32"), "label": Output("n", "u8")}, batch=30)
def iris() -> Dataset:
    """150 iris flowers of three species by four lengths, brought to mean 0 and deviation 1; 30 are held out."""
    return tables.iris()


@source(
    "fashion_mnist",
    outputs={"image": Output("n 1 28 28", "u8"), "label": Output("n", "u8")},
    batch=100,
    params={"folder": Param("", doc="where its four files lie; empty means Debian's place")},
)
def fashion_mnist(folder: str) -> Dataset:
    """Clothes, 28 x 28 grey bytes, in ten classes: 60,000 to train on, 10,000 held out."""
    return fashion.fashion_mnist(folder)


@source(
    "csv",
    outputs={"x": Output("n columns", "f32"), "y": Output("n 1", "f32"), "label": Output("n", "i32")},
    params={
        "file": Param(""),
        "target": Param("", doc="the column to be told from the others: a name, or a number from 0; empty means the last"),
        "held_out": HELD_OUT,
        "standardise": Param(True, doc="columns are brought to mean 0 and deviation 1"),
    },
)
def csv_source(file: str, target: str, held_out: float, standardise: bool) -> Dataset:
    """A table of numbers, a row a sample. y is the target as a number, label its place among its distinct values."""
    return tables.csv_table(file, target, held_out, standardise)


@source(
    "npz",
    outputs={"x": Output("n *x"), "y": Output("n *y", "U")},
    params={
        "file": Param(""),
        "x": Param("x", doc="name of an array in it"),
        "y": Param("y", doc="name of another; arrays of these names with _test behind are held out if there are any"),
        "held_out": HELD_OUT,
    },
)
def npz(file: str, x: str, y: str, held_out: float) -> Dataset:
    """Two arrays of a NumPy archive, a row a sample."""
    return tables.npz_table(file, x, y, held_out)


@source(
    "text",
    outputs={"x": Output("n length", "u8"), "y": Output("n length", "u8")},
    params={
        "file": Param("", doc="in UTF-8; empty means some Shakespeare, 61 different characters"),
        "length": Param(64, min=1, max=65536, doc="characters of a sample"),
        "every": Param(1, min=1, doc="characters between the starts of samples"),
        "held_out": Param(0.1, min=0.0, max=0.9, doc="share of the text, at its end, that is kept for testing"),
    },
)
def text_source(file: str, length: int, every: int, held_out: float) -> Dataset:
    """Windows of text as numbers of characters, in their sorted order from 0; y is one character ahead of x."""
    return text.windows(file, length, every, held_out)


@source(
    "image",
    outputs={"x": Output("n 2", "f32"), "y": Output("n 3", "f32")},
    batch=4096,
    params={
        "file": Param("", doc="empty means a drawn picture"),
        "size": Param(64, min=1, max=8192, doc="pixels of the longer side, at most"),
    },
)
def image(file: str, size: int) -> Dataset:
    """One picture: x the places of its pixels, across and down from -1 to 1, y their colours from 0 to 1."""
    return pictures.picture(file, size)


@source(
    "image_folder",
    outputs={"image": Output("n c size size", "u8"), "label": Output("n", "u8")},
    params={
        "folder": Param("", doc="holds a folder of pictures for each class"),
        "size": Param(32, min=1, max=4096, doc="pixels of both sides"),
        "grey": Param(False),
        "held_out": HELD_OUT,
    },
)
def image_folder(folder: str, size: int, grey: bool, held_out: float) -> Dataset:
    """Pictures in folders, a folder a class, brought to one size."""
    return pictures.picture_folder(folder, size, grey, held_out)
