"""What tools may know of a drawing, its program and its run: read-only views, frozen data.

munet.inspect.registry()                    declarations of all nodes
munet.inspect.example("softmax")            small inputs and what comes out, as data and as lines of text
munet.inspect.wire_shapes(graph)            shapes and dtypes on the wires
session.passes, session.memory_plan         PassView, MemoryPlan
session.timings(), session.profile(5)       Timings by pass and by node
session.limits(), session.unfused()        what the device can do at best; the step without fusion
munet.inspect.glsl_of(session.program, "conv 1"), ir_of(...)
munet.inspect.costs(graph)                  parameters, arithmetic and bytes of each node
munet.inspect.live_parameters(graph)        what `Session.set` can change
munet.inspect.devices()                     DeviceInfo of each Vulkan device, and why there is none
munet.inspect.histogram(array), summary()   of what `look`, `tap` and `gradients` bring
munet.inspect.vocabulary(file)              letters of a text by their numbers, as the text source has them
munet.inspect.read_run(folder)              an earlier run: settings, series, checkpoints
munet.inspect.read_header(checkpoint)       all of a checkpoint but its arrays: step, live values, the project's text
"""

from munet.data.text import vocabulary
from munet.engine.backward import Gradients
from munet.engine.checkpoint import Header, read_header
from munet.engine.costs import Costs, NodeCost, costs
from munet.engine.device import DeviceInfo
from munet.engine.example import Example, Tensor
from munet.engine.execute.choose import devices, why_no_devices
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
    example,
    glsl_of,
    ir_of,
    passes_of,
    plan_of,
    registry,
    wire_shapes,
)
from munet.engine.limits import Limits, known_limits
from munet.engine.livevalues import LiveParameter, live_parameters
from munet.engine.looking import TensorView
from munet.engine.pastruns import Checkpoint, PastRun, read_run
from munet.engine.prediction import Histogram, Summary, histogram, summary
from munet.engine.profiling import NodeTime, TimedPass, Timings
from munet.engine.unfused import Total, Unfused, UnfusedOp

__all__ = [
    "registry", "declaration", "DeclarationView", "SocketView", "ParamView", "example", "Example", "Tensor",
    "wire_shapes", "WireView", "passes_of", "PassView", "glsl_of", "ir_of",
    "plan_of", "MemoryPlan", "PlannedValue", "Sharing",
    "Timings", "TimedPass", "NodeTime", "Histogram", "Summary", "histogram", "summary", "Gradients", "TensorView",
    "vocabulary",
    "costs", "Costs", "NodeCost", "live_parameters", "LiveParameter",
    "devices", "why_no_devices", "DeviceInfo", "read_run", "PastRun", "Checkpoint", "read_header", "Header",
    "Limits", "known_limits", "Unfused", "UnfusedOp", "Total",
]  # fmt: skip
