"""Nodes that only say how others are joined: subgraphs and their borders, bends in wires.

`munet/engine/subgraphs.py` resolves them before lowering, so they cost nothing and own nothing.
"""

from __future__ import annotations

from munet.engine.declaring import relay
from munet.engine.operator import Input, Output, Param


@relay("subgraph", params={"graph": Param("", doc="name of the subgraph")})
def subgraph() -> None:
    """Stands for a drawing of its own. It has the sockets and parameters that the drawing gives out."""


@relay(
    "subgraph_input",
    outputs={"y": Output("*any", "T:any")},
    params={
        "socket": Param("x", doc="name of the socket outside: letters, digits and _"),
        "optional": Param(False, doc="may stay without a wire"),
        "doc": Param(""),
    },
)
def subgraph_input() -> None:
    """An input of the subgraph it is drawn in: y is what is wired to the socket of this name outside."""


@relay(
    "subgraph_output",
    inputs={"x": Input("*any", "T:any")},
    params={"socket": Param("y", doc="name of the socket outside: letters, digits and _"), "doc": Param("")},
)
def subgraph_output() -> None:
    """An output of the subgraph it is drawn in: x is given out under the name of the socket."""


@relay(
    "subgraph_parameter",
    params={
        "name": Param("", doc="of the parameter outside"),
        "node": Param("", doc="id of a node in this drawing"),
        "param": Param("", doc="its parameter that is set"),
    },
)
def subgraph_parameter() -> None:
    """A parameter of the subgraph it is drawn in; several of one name set several nodes at once."""


@relay("reroute", inputs={"x": Input("*any", "T:any")}, outputs={"y": Output("*any", "T:any")})
def reroute() -> None:
    """A bend in a wire: y is x."""
