"""MuNet Studio: draw a neural network, train it on any GPU with a Vulkan driver.

    import munet

    with munet.Session.open("projects/xor.json") as session:
        for event in session.train(500):
            print(event)

Importing this fills the registry of operators and touches no GPU.
"""

import munet.entry  # hears Ctrl-C from here on
import munet.nodes  # noqa: F401  # fills the registry
from munet import inspect, shaders
from munet.engine.assets import bundled_project, bundled_projects
from munet.engine.errors import (
    CheckpointError,
    DeviceError,
    DeviceLost,
    DeviceUnavailable,
    GraphError,
    MunetError,
    NonFiniteError,
    OutOfDeviceMemory,
    Problem,
    ProjectError,
    ShaderError,
)
from munet.engine.events import Carried, Evaluated, Event, EventPage, Finished, Paused, Progress, Saved
from munet.engine.extent import too_large
from munet.engine.files import read_file, take_lock, write_file
from munet.engine.graph import Edge, Frame, Graph, Node, Run
from munet.engine.lower import lower
from munet.engine.project import dump_project, load_project, parse_project, save_project
from munet.engine.project_model import id_fault
from munet.engine.runfolder import RunFolder
from munet.engine.session import Session
from munet.engine.settings import has_display, text_editor
from munet.engine.strict_json import parse_json
from munet.engine.subgraphs import Border, Interface, Promoted, flatten, interface, promoted_targets
from munet.engine.validate import remarks, validate
from munet.engine.version import VERSION as __version__  # noqa: N811  # Python's name for it
from munet.own_nodes import load_own_nodes

__all__ = [
    "Session", "RunFolder", "Event", "EventPage", "Progress", "Evaluated", "Saved", "Finished", "Paused", "Carried",
    "inspect", "shaders",
    "Graph", "Node", "Edge", "Frame", "Run",
    "load_project", "parse_project", "dump_project", "save_project", "too_large", "lower", "validate", "remarks",
    "flatten", "interface", "promoted_targets", "Interface", "Border", "Promoted",
    "id_fault", "read_file", "parse_json", "take_lock", "write_file",
    "bundled_project", "bundled_projects", "has_display", "text_editor",
    "MunetError", "NonFiniteError", "Problem", "ProjectError", "GraphError", "CheckpointError", "ShaderError",
    "DeviceError", "DeviceUnavailable", "DeviceLost", "OutOfDeviceMemory",
    "__version__",
]  # fmt: skip

load_own_nodes()  # last: what it imports may use all of the above
