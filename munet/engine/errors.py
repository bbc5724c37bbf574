"""Errors that people read: every one says where, what was found, the rule, and a cure.

A `Problem` is data, so the command line, the studio and the tests show the same text.
Exceptions are for what stops the work; `ProjectError` carries all problems, never only the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from munet.engine.graph import Graph


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a project, in parts that a tool can show separately.

    code      stable short name, e.g. "shape-mismatch": tests and translations key on it
    found     what is there, as a full clause: "weight has shape [32, 3, 3, 3], but x has 16 channels"
    rule      what must hold;  cure: what to try.  Either may be empty when there is nothing useful to say.
    node      id of the node on the drawing, "" for the project as a whole;  socket: its socket or parameter
    """

    code: str
    found: str
    rule: str = ""
    cure: str = ""
    node: str = ""
    socket: str = ""
    file: str = ""

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.file, f'node "{self.node}"' if self.node else "", self.socket) if part)
        text = f"{place}: {self.found}" if place else self.found
        if not text.endswith((".", "!", "?")):
            text += "."
        advice = "  ".join(
            part for part in (f"Rule: {self.rule}." if self.rule else "", f"Try: {self.cure}." if self.cure else "") if part
        )
        return f"{text}\n  {advice}" if advice else text

    def at(self, *, node: str = "", socket: str = "", file: str = "") -> Problem:
        """The same problem with places filled in where they are still empty."""
        return replace(self, node=self.node or node, socket=self.socket or socket, file=self.file or file)


class MunetError(Exception):
    """Anything that goes wrong for a reason a user can understand; the command line prints its text, no traceback."""


class ProjectError(MunetError):
    """The project cannot be used as it is; `problems` holds all that was found.

    `graph` is the drawing, where only the settings of its run are at fault: for whoever looks for more problems.
    """

    def __init__(self, problems: Sequence[Problem], graph: Graph | None = None):
        self.problems, self.graph = tuple(problems), graph
        super().__init__("\n".join(str(problem) for problem in self.problems))


class GraphError(MunetError):
    """One node cannot be lowered; caught per node by validation, so that all such problems are found at once."""

    def __init__(self, problem: Problem):
        self.problem = problem
        super().__init__(str(problem))


class ShapeError(GraphError):
    """Shapes or dtypes do not fit an operator's declaration."""

    def __init__(self, found: str, rule: str = "", cure: str = "", socket: str = "", code: str = "shape-mismatch"):
        super().__init__(Problem(code, found, rule, cure, socket=socket))


class DeclarationError(MunetError):
    """An operator, layer or asset is declared wrongly: a fault of its author, found at import, with file and line."""


class VerifyError(MunetError):
    """A module breaks the law of the IR: a fault of the engine, never of the user."""


class ShaderError(MunetError):
    """GLSL did not compile or does not fit its operator; the text names file and line."""


class NonFiniteError(MunetError):
    """Training met an infinite number or NaN. The states are those before `step` (counted from 1); nothing was lost.

    `node` and `operator` name what gave it first, both "" if that could not be found again.
    """

    def __init__(self, step: int, found: str, *, node: str = "", operator: str = ""):
        self.step, self.node, self.operator = step, node, operator
        self.problem = Problem(
            "not-finite",
            f"step {step}: {found}",
            rule="all numbers of a training step are finite",
            cure="a lower learning rate, clip_norm on the optimiser, or an input the operator is defined for; "
            f"the parameters are those after step {step - 1}",
            node=node,
        )
        super().__init__(str(self.problem))

    def keep(self, file: str, step: int) -> None:
        """Say that the states have been saved."""
        self.problem = replace(self.problem, cure=f"{self.problem.cure}, saved in {file} (step {step})")
        self.args = (str(self.problem),)


class CheckpointError(MunetError):
    """A checkpoint cannot be read or does not fit; nothing was changed."""


class DeviceError(MunetError):
    """The device refused something. `where` names the call, pass or node; `result` is the VkResult's name if there is one."""

    def __init__(self, message: str, *, where: str = "", result: str = ""):
        self.where, self.result = where, result
        detail = ", ".join(part for part in (where, result) if part)
        super().__init__(f"{message} ({detail})" if detail else message)


class DeviceUnavailable(DeviceError):
    """No such device, or no Vulkan loader or driver on this machine."""


class DeviceLost(DeviceError):
    """The driver gave the device up; its buffers are gone."""


class OutOfDeviceMemory(DeviceError):
    """An allocation would not fit or did not; the text holds the needed and the available bytes."""


class DeviceTimeout(DeviceError):
    """The device did not finish in the time it was given."""
