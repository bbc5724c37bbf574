"""What tools may know of a drawing, its program and its run: read-only views, frozen data.

munet.inspect.registry()                    declarations of all nodes
munet.inspect.wire_shapes(graph)            shapes and dtypes on the wires
session.passes, session.memory_plan         PassView, MemoryPlan
session.timings(), session.profile(5)       Timings by pass and by node
munet.inspect.glsl_of(session.program, "conv 1"), ir_of(...)
munet.inspect.costs(graph)                  parameters, arithmetic and bytes of each node
"""

from munet.engine.costs import Costs, NodeCost, costs
from munet.engine.inspect import (
    DeclarationView,
    MemoryPlan,
    ParamView,
    PassView,
    PlannedValue,
    Sharing,
    SocketView,
    WireView,
    declaration,
    glsl_of,
    ir_of,
    passes_of,
    plan_of,
    registry,
    wire_shapes,
)
from munet.engine.prediction import Histogram, Summary
from munet.engine.profiling import NodeTime, TimedPass, Timings

__all__ = [
    "registry", "declaration", "DeclarationView", "SocketView", "ParamView",
    "wire_shapes", "WireView", "passes_of", "PassView", "glsl_of", "ir_of",
    "plan_of", "MemoryPlan", "PlannedValue", "Sharing",
    "Timings", "TimedPass", "NodeTime", "Histogram", "Summary",
    "costs", "Costs", "NodeCost",
]  # fmt: skip
