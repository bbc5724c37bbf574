"""Sources: where samples come from. Arrays live on the device; a step reads its batch by row number."""

from __future__ import annotations

from munet.data import synthetic
from munet.data.dataset import Dataset
from munet.data.digits import digits as load_digits
from munet.engine.operator import Output, Param, source


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
