"""The form of a project file as pydantic models: their checks, their faults in our words, and the Graph they describe.

Ids may hold any letters of any script, spaces included; only "." and " -> " are kept back, because an edge is
written "source id.socket -> target id.socket".
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.functional_validators import PlainValidator
from pydantic_core import PydanticCustomError

from munet.engine.errors import Problem
from munet.engine.graph import Edge, Frame, Graph, Node, Run
from munet.engine.strict_json import MAX_PROBLEMS
from munet.engine.version import VERSION

FORMAT = 1
SUBGRAPH_OPERATOR = "subgraph"  # a node of this kind stands for the subgraph that its parameter names
SUBGRAPH_PARAM = "graph"

MAX_ID_LENGTH = 200
ID_RULE = (
    f"an id has 1 to {MAX_ID_LENGTH} characters of any script, spaces between them included, "
    'but no "." and no " -> ", no control characters, and no space at either end'
)
EDGE_RULE = 'an edge is written "source id.socket -> target id.socket"; sockets are letters, digits and _'
PARAM_RULE = 'a parameter is null, true, false, a number, text, a list of these, or {"float": "nan"}, "inf" or "-inf"'

_EDGE = re.compile(r"([^.]+)\.(\w+) -> ([^.]+)\.(\w+)")
_SPECIAL_FLOATS = ("nan", "inf", "-inf")


def _param(value: Any) -> Any:
    """A parameter as the graph holds it: lists become tuples, {"float": "inf"} becomes the number."""
    if isinstance(value, list):
        return tuple(_param(item) for item in value)
    if isinstance(value, dict):
        if len(value) == 1 and value.get("float") in _SPECIAL_FLOATS:
            return float(value["float"])
        raise PydanticCustomError("param", "a parameter")
    return value


_PARAM_SCHEMA = {
    "description": PARAM_RULE,
    "anyOf": [
        {"type": ["null", "boolean", "number", "string", "array"]},
        {
            "type": "object",
            "properties": {"float": {"enum": list(_SPECIAL_FLOATS)}},
            "required": ["float"],
            "additionalProperties": False,
        },
    ],
}
Param = Annotated[Any, PlainValidator(_param), WithJsonSchema(_PARAM_SCHEMA)]
Pair = Annotated[list[float], Field(min_length=2, max_length=2)]


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class HeaderModel(_Model):
    format: int = Field(description="version of the file's form")
    version: str = Field(default="", description="version of munet-studio that wrote the file")


class RunModel(_Model):
    steps: int = Field(default=Run.steps, ge=0)
    seed: int = Field(default=Run.seed, ge=0)
    evaluate_every: int = Field(default=Run.evaluate_every, ge=0, description="steps between evaluations; 0 = only at the end")
    checkpoint_every: int = Field(default=Run.checkpoint_every, ge=0, description="steps between them; 0 = only at the end")
    accumulate: int = Field(default=Run.accumulate, ge=1, description="batches whose gradients make one update")
    judged_by: str = Field(default=Run.judged_by, description="metric of the held-out split that tells which state is best")
    keep_best: bool = Field(default=Run.keep_best, description="also keep the checkpoint with the best metric")
    patience: int = Field(default=Run.patience, ge=0, description="evaluations without a better one; 0 = no end")
    initial_weights: str = Field(default=Run.initial_weights, description="file whose parameters the run starts from")


class NodeModel(_Model):
    id: str = Field(description=ID_RULE)
    operator: str = Field(min_length=1)
    version: int = Field(default=1, ge=1, description="of the operator's meaning")
    params: dict[str, Param] = Field(default_factory=dict)
    position: Pair = Field(default=[0.0, 0.0], description="x, y on the canvas")
    muted: bool = False
    note: str = ""
    frozen: bool = Field(default=False, description="no optimiser updates its parameters")


class FrameModel(_Model):
    title: str
    position: Pair
    size: Pair
    color: str = ""
    note: str = ""


class DrawingModel(_Model):
    """What a project and a subgraph have in common."""

    note: str = ""
    nodes: list[NodeModel]
    edges: list[str] = Field(default_factory=list, description=EDGE_RULE)
    frames: list[FrameModel] = Field(default_factory=list)


class ProjectModel(DrawingModel):
    munet: HeaderModel
    name: str = ""
    run: RunModel = RunModel()
    subgraphs: dict[str, DrawingModel] = Field(default_factory=dict)


def build_graph(model: ProjectModel) -> tuple[Graph, list[Problem]]:
    """The graph, and what is wrong with ids and edges; the graph is of use only if nothing is."""
    problems: list[Problem] = []
    subgraphs: dict[str, Graph] = {}
    for name, part in model.subgraphs.items():
        fault = id_fault(name)
        if fault:
            problems.append(Problem("bad-id", f'the name of the subgraph "{_short(name)}" {fault}', rule=ID_RULE))
        subgraphs[name] = _drawing(part, name, problems)
    root = _drawing(model, "", problems)
    run = Run(**model.run.model_dump())
    return Graph(model.name, root.nodes, root.edges, subgraphs, root.frames, run, model.note), problems


def id_fault(text: str) -> str:
    """What is wrong with an id, as the end of a sentence; "" for a good one."""
    if not text:
        return "is empty"
    if len(text) > MAX_ID_LENGTH:
        return f"has {len(text)} characters"
    for part in (".", " -> "):
        if part in text:
            return f'holds "{part}"'
    if text != text.strip():
        return "starts or ends with a space"
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        return "holds a control character"
    return ""


def _drawing(model: DrawingModel, name: str, problems: list[Problem]) -> Graph:
    nodes: dict[str, Node] = {}
    for entry in model.nodes:
        place = _node_path(name, entry.id)
        fault = id_fault(entry.id)
        if fault:
            problems.append(Problem("bad-id", f"the id {fault}", rule=ID_RULE, node=place))
        if entry.id in nodes:
            cure = "give one of them another id"
            problems.append(Problem("duplicate-id", "two nodes have this id", rule="ids are unique", cure=cure, node=place))
        x, y = entry.position
        marks = (entry.muted, entry.note, entry.frozen)
        nodes[entry.id] = Node(entry.id, entry.operator, entry.params, (x, y), entry.version, *marks)
    frames = tuple(Frame(f.title, (f.position[0], f.position[1]), (f.size[0], f.size[1]), f.color, f.note) for f in model.frames)
    edges = _read_edges(model.edges, nodes, name, problems)
    return Graph(name=name, nodes=nodes, edges=edges, frames=frames, note=model.note)


def _read_edges(texts: Sequence[str], nodes: Mapping[str, Node], subgraph: str, problems: list[Problem]) -> tuple[Edge, ...]:
    where = f'in the subgraph "{_short(subgraph)}" ' if subgraph else ""
    edges: dict[Edge, None] = {}
    for text in texts:
        if len(problems) > 20 * MAX_PROBLEMS:
            break
        match = _EDGE.fullmatch(text)
        if match is None:
            problems.append(Problem("bad-edge", f'{where}"{_short(text)}" is not an edge', rule=EDGE_RULE))
            continue
        edge = Edge(*match.groups())
        if edge in edges:
            place = _node_path(subgraph, edge.target)
            found = f'the edge "{_short(text)}" is listed twice'
            problems.append(Problem("duplicate-edge", found, cure="remove one", node=place))
        edges[edge] = None
        for id_ in dict.fromkeys((edge.source, edge.target)):
            if id_ not in nodes:
                found = f'{where}the edge "{_short(text)}" names "{_short(id_)}", but there is no such node'
                # Searching for a close name is slow, and nobody sees more than the first problems.
                cure = _closest(id_, nodes) if len(problems) < MAX_PROBLEMS else ""
                problems.append(Problem("edge-unknown-node", found, rule="edges join nodes of the same drawing", cure=cure))
    return tuple(edges)


def problems_of(error: ValidationError, document: Any) -> list[Problem]:
    """What pydantic found, in our words, with the node each belongs to; the first `MAX_PROBLEMS` of them."""
    # Without inputs and contexts this is four times faster, which a file with 200,000 faults needs.
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return [_problem(fault["type"], fault["loc"], fault["msg"], document) for fault in faults[:MAX_PROBLEMS]]


_EXPECTED = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "too_short": "two numbers",
    "too_long": "two numbers",
}


def _problem(kind: str, path: Sequence[int | str], message: str, document: Any) -> Problem:
    node, inner = _place(path, document)
    if kind in ("missing", "extra_forbidden"):
        return _key_problem(kind, path, inner, document).at(node=node)
    text = f"{_path_text(inner)} is {_shown(_entry(document, path))}"
    if kind == "param":
        return Problem("wrong-type", text, rule=PARAM_RULE, node=node)
    if kind == "greater_than_equal":  # pydantic's message ends with the bound
        return Problem("wrong-value", f"{text}, but must be at least {message.split()[-1]}", node=node)
    return Problem("wrong-type", f"{text}, but must be {_EXPECTED.get(kind, kind.replace('_', ' '))}", node=node)


def _key_problem(kind: str, path: Sequence[int | str], inner: Sequence[int | str], document: Any) -> Problem:
    owner, keys = _keys_at(path)
    rule = f"{owner} has the keys {', '.join(keys)}"
    place = _path_text(inner[:-1])
    inside = f" in {place}" if place else ""
    key = str(path[-1])
    if kind == "missing":
        return Problem("missing-key", f'the key "{key}" is missing{inside}', rule=rule)
    cure = _cure_unknown(key, keys, document)
    return Problem("unknown-key", f'the key "{_short(key)}"{inside} is not known', rule=rule, cure=cure)


def _place(path: Sequence[int | str], document: Any) -> tuple[str, Sequence[int | str]]:
    """The node that a path leads into ("" for none, or for one whose id is not text), and the path from there on."""
    start = 2 if len(path) > 3 and path[0] == "subgraphs" else 0
    if len(path) < start + 2 or path[start] != "nodes":
        return "", path
    entry = _entry(document, path[: start + 2])
    named = entry.get("id") if isinstance(entry, dict) else None
    if not isinstance(named, str) or not named:
        return "", path
    return _node_path(str(path[1]) if start else "", named), path[start + 2 :]


def _entry(document: Any, path: Sequence[int | str]) -> Any:
    """What lies at a path of the document; the last that is there, for a path into something that is not."""
    for step in path:
        if isinstance(document, dict):
            document = document.get(step, document)
        elif isinstance(document, list) and isinstance(step, int):
            document = document[step]
    return document


def _node_path(subgraph: str, id_: str) -> str:
    return f"{_short(subgraph)}/{_short(id_)}" if subgraph else _short(id_)


def _path_text(path: Sequence[int | str]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{_short(step)}" for step in path).lstrip(".")


_OWNERS: Mapping[str, tuple[str, type[BaseModel]]] = {
    "munet": ('"munet"', HeaderModel),
    "run": ('"run"', RunModel),
    "nodes": ("a node", NodeModel),
    "frames": ("a frame", FrameModel),
}


def _keys_at(path: Sequence[int | str]) -> tuple[str, list[str]]:
    """What kind of object holds the last step of a path, and its keys."""
    inner = path[2:] if path[0] == "subgraphs" and len(path) > 2 else path
    if len(inner) > 1:
        owner, model = _OWNERS[str(inner[0])]
    else:
        owner, model = ("a project", ProjectModel) if inner is path else ("a subgraph", DrawingModel)
    return owner, list(model.model_fields)


def _cure_unknown(key: str, keys: Sequence[str], document: Any) -> str:
    close = difflib.get_close_matches(key[:60], keys, n=1)
    if close:
        return f'write "{close[0]}"'
    saved_by = document["munet"].get("version")
    if isinstance(saved_by, str) and saved_by not in ("", VERSION):
        return f"remove it, or use munet-studio {_short(saved_by)}, which wrote the file (this is {VERSION})"
    return "remove it"


def _closest(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name[:60], list(known)[:1000], n=1) if known else []
    return f'write "{close[0]}"' if close else "remove the edge"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{_short(value)}"'
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, dict) else json.dumps(value)


def _short(text: str) -> str:
    text = text if len(text) <= 60 else text[:57] + "..."
    return text if _is_unicode(text) else text.encode("utf-8", "backslashreplace").decode()


def _is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: JSON's \\ud800 alone cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
