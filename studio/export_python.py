"""The drawing as a Python script that builds the same graph with the library, trains it and prints the loss.

What the script builds equals the graph, positions included, so that the studio can open what it saves again.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Mapping
from pathlib import Path
from pprint import pformat
from typing import Any

from munet import Edge, Frame, Graph, Node, Run

WIDTH = 110


def script(graph: Graph, folder: Path | None = None) -> str:
    """The text of the script. `folder` is the project file's, where the weights lie that a run starts from."""
    names = _function_names(graph)
    parts = [_head(graph)]
    parts += [_function(names[name], part, f"The subgraph {name!r}.") for name, part in graph.subgraphs.items()]
    parts.append(_project(graph, names))
    named = graph.run.initial_weights
    weights = f", weights={str(folder.resolve() / named)!r}" if named and folder is not None else ""
    parts.append(MAIN.replace("open(graph)", f"open(graph{weights})"))
    return "\n\n\n".join(parts)


SPECIAL = "from math import inf, nan\n\n"
IMPORTS = "import munet\nfrom munet import Edge, Frame, Graph, Node, Run"
MAIN = """\
def main() -> None:
    graph = project()
    with munet.Session.open(graph) as session:
        for event in session.run():
            if isinstance(event, munet.Progress):
                values = ", ".join(f"{name} {value:.5g}" for name, value in event.metrics.items())
                print(f"step {event.step}: {values}")


if __name__ == "__main__":
    main()
"""


def _head(graph: Graph) -> str:
    title = (graph.name or "A network").replace("\\", "\\\\").replace('"""', "'''")
    note = graph.note.replace("\\", "\\\\").replace('"""', "'''").strip()
    doc = f'"""{title}, drawn in MuNet Studio.' + (f"\n\n{note}\n" if note else "") + '"""'
    special = any(_has_special(node.params) for part in (graph, *graph.subgraphs.values()) for node in part.nodes.values())
    return f"{doc}\n\nfrom __future__ import annotations\n\n{SPECIAL if special else ''}{IMPORTS}"


def _has_special(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_special(item) for item in value.values())
    if isinstance(value, tuple | list):
        return any(_has_special(item) for item in value)
    return isinstance(value, float) and not math.isfinite(value)


def _function_names(graph: Graph) -> dict[str, str]:
    names: dict[str, str] = {}
    for name in graph.subgraphs:
        wanted = re.sub(r"\W+", "_", name.lower()).strip("_") or "subgraph"
        if wanted[0].isdigit() or keyword.iskeyword(wanted) or wanted in ("project", "main", "munet"):
            wanted = f"subgraph_{wanted}"
        while wanted in names.values():
            wanted += "_"
        names[name] = wanted
    return names


def _function(name: str, part: Graph, doc: str) -> str:
    return f"def {name}() -> Graph:\n    {doc!r}\n{_body(part)}\n    return Graph({part.name!r}, {_given(part)})"


def _project(graph: Graph, names: Mapping[str, str]) -> str:
    fields = {name: value for name, value in vars(graph.run).items() if value != getattr(Run, name)}
    run = ", ".join(f"{name}={_value(value)}" for name, value in fields.items())
    subgraphs = ", ".join(f"{name!r}: {function}()" for name, function in names.items())
    lines = ["def project() -> Graph:", '    """The drawing."""', _body(graph)]
    lines += [f"    subgraphs = {{{subgraphs}}}", f"    run = Run({run})"]
    lines.append(f"    return Graph({graph.name!r}, {_given(graph)}, subgraphs=subgraphs, run=run)")
    return "\n".join(lines)


def _given(part: Graph) -> str:
    return f"{{node.id: node for node in nodes}}, edges, frames=frames, note={part.note!r}"


def _body(part: Graph) -> str:
    return "\n".join(
        [
            _list("nodes", [_node(node) for node in part.nodes.values()], "[]"),
            _list("edges", [_edge(edge) for edge in part.edges], "()"),
            _list("frames", [_frame(frame) for frame in part.frames], "()"),
        ]
    )


def _list(name: str, items: list[str], brackets: str) -> str:
    if not items:
        return f"    {name}: list[Node] = []" if name == "nodes" else f"    {name} = {brackets}"
    return f"    {name} = {brackets[0]}\n" + "".join(f"        {item},\n" for item in items) + f"    {brackets[1]}"


def _node(node: Node) -> str:
    parts = [repr(node.id), repr(node.operator), _value(dict(node.params)), _value(node.position)]
    more = {name: getattr(node, name) for name in ("version", "muted", "note", "frozen")}
    parts += [f"{name}={_value(value)}" for name, value in more.items() if value != getattr(Node, name)]
    return f"Node({', '.join(parts)})"


def _edge(edge: Edge) -> str:
    return f"Edge({edge.source!r}, {edge.source_socket!r}, {edge.target!r}, {edge.target_socket!r})"


def _frame(frame: Frame) -> str:
    more = f", {frame.note!r}" if frame.note else ""
    return f"Frame({frame.title!r}, {_value(frame.position)}, {_value(frame.size)}, {frame.color!r}{more})"


def _value(value: Any) -> str:
    """As Python writes it; infinities and NaN by the names that the script imports."""
    return pformat(value, width=10**6, sort_dicts=False) if not isinstance(value, float) else repr(value)
