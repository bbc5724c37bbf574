"""compile_program: Module -> Program. The first file to read: every stage of the compiler, in order.

transforms   simplify, drop and merge ops; legalise for the device; fuse into kernels; pack optimiser updates
levels       order the kernels, one barrier between levels
buffers      place every value: states, data, feeds, temporaries that share bytes
emit         write each kernel's GLSL and bindings
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from munet.engine.device import DeviceInfo
from munet.engine.emit import emit_program
from munet.engine.ir.module import Module
from munet.engine.ir.verify import verify
from munet.engine.passlist import Placement
from munet.engine.plan.buffers import plan_buffers
from munet.engine.plan.levels import order_levels
from munet.engine.program import Program
from munet.engine.stages import Report, silent, within
from munet.engine.transforms import chosen


def compile_program(
    module: Module,
    device: DeviceInfo,
    *,
    states: Mapping[str, Placement] | None = None,
    off: Collection[str] = (),
    check: bool = False,
    report: Report = silent,
) -> Program:
    """The program of one step of `module` on `device`.

    states  where states lie that an earlier program of the session placed, by name
    off     names of transforms to leave out; "alias" lets no values share bytes, "join" no ops share a pass, "assets"
            uses generated kernels alone
    check   verify the module between transforms
    report  hears how far it is
    Raises GraphError when the device cannot hold or compute something, naming the node.
    """
    transformed = transform(module, device, off=off, check=check, report=within(report, 0.0, 0.7))
    report("planning", 0.7)
    schedule = order_levels(transformed)
    plan = plan_buffers(schedule, device, states=states, alias="alias" not in off)
    report("writing shaders", 0.85)
    return emit_program(schedule, plan, device, join="join" not in off, assets="assets" not in off)


def transform(
    module: Module, device: DeviceInfo, *, off: Collection[str] = (), check: bool = False, report: Report = silent
) -> Module:
    """The module after all transforms."""
    steps = chosen([name for name in off if name not in ("alias", "join", "assets")])
    for place, step in enumerate(steps):
        report("fusing", place / len(steps))
        module = step(module, device)
        if check:
            verify(module)
    return module
