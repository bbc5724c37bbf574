"""What declarations of own nodes are written with: one import for operators, layers, optimisers, schedules and sources.

    from munet.declare import Array, Elementwise, Grads, Input, Output, Value, operator

The operators that gradient rules and layers are put together from are in `munet.nodes`.
"""

from munet.data.dataset import Dataset
from munet.engine.builder import Builder
from munet.engine.declaring import layer, not_differentiable, operator, optimiser, reduced, schedule, source
from munet.engine.ir.module import Initial, Value
from munet.engine.kernels import Contraction, Elementwise, Reduction
from munet.engine.operator import Array, Axes, Choice, Grads, Input, Live, Output, Param, Sample

__all__ = [
    "operator", "layer", "optimiser", "schedule", "source", "not_differentiable", "reduced",
    "Input", "Output", "Param", "Live", "Choice", "Axes", "Sample", "Initial",
    "Elementwise", "Reduction", "Contraction",
    "Builder", "Value", "Array", "Grads", "Dataset",
]  # fmt: skip
