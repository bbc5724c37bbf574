"""project.json <-> Graph: format version, migrations, strict reading, stable writing.

Reading collects every fault as a Problem; a half-read project never comes out. It checks what the file alone can
tell: its form, ids, edges between nodes that exist, subgraphs that exist and do not contain themselves.
What operators, sockets and shapes must be is `validate.py`'s business.

Writing gives one node and one edge a line, in the order of the graph, so that diffs are small; a text that
reading would refuse is never written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from munet.engine.errors import Problem, ProjectError
from munet.engine.files import PathLike, read_file, write_file
from munet.engine.graph import Edge, Frame, Graph, Node, Run
from munet.engine.project_model import (
    FORMAT,
    PARAM_RULE,
    SUBGRAPH_OPERATOR,
    SUBGRAPH_PARAM,
    ProjectModel,
    build_graph,
    problems_of,
)
from munet.engine.strict_json import MAX_PROBLEMS, decode_utf8, read_json
from munet.engine.version import VERSION

MAX_BYTES = 16 * 2**20
_RUN_ALWAYS = ("steps", "seed", "evaluate_every", "checkpoint_every")

Document = dict[str, Any]  # the JSON of a project file

# MIGRATIONS[n] turns a document of format n into one of format n + 1; every format that was ever released keeps its entry.
MIGRATIONS: Mapping[int, Callable[[Document], Document]] = {}


def load_project(path: PathLike) -> Graph:
    """Reads a project file of at most `MAX_BYTES`. Raises ProjectError with all that is wrong."""
    file = str(path)
    return parse_project(decode_utf8(read_file(path, MAX_BYTES), file), file)


def parse_project(text: str, file: str = "") -> Graph:
    """The graph that a project's text describes; `file` only names it in errors. Raises ProjectError with all that is wrong."""
    data, problems = read_json(text, file)
    document = migrate(data, file)
    try:
        model = ProjectModel.model_validate(document)
    except ValidationError as error:
        found = problems_of(error, document)
        refused = _project_error([*problems, *found], file, unlisted=error.error_count() - len(found))
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        if not problems and all(fault["loc"][:1] == ("run",) for fault in faults):
            drawn = {key: value for key, value in document.items() if key != "run"}
            try:
                refused.graph = parse_project(json.dumps(drawn), file)
            except ProjectError as further:
                raise _project_error([*found, *further.problems], file) from None
        raise refused from None
    graph, wrong = build_graph(model)
    problems += wrong
    problems += _subgraph_problems(graph)
    if problems:
        raise _project_error(problems, file)
    return graph


def migrate(
    data: Any, file: str = "", target: int = FORMAT, migrations: Mapping[int, Callable[[Document], Document]] = MIGRATIONS
) -> Document:
    """The document in format `target`. Raises ProjectError for what is no project, or one of a format unknown here."""
    header = data.get("munet") if isinstance(data, dict) else None
    found = header.get("format") if isinstance(header, dict) else None
    if type(found) is not int:  # not isinstance: true is no format
        rule = 'a project is an object that starts with "munet": {"format": 1, "version": "..."}'
        raise ProjectError([Problem("not-a-project", "this is JSON, but not a MuNet project", rule=rule, file=file)])
    if found > target:
        saved_by = header.get("version") if isinstance(header, dict) else None
        by = f" (saved by munet-studio {saved_by[:40]})" if isinstance(saved_by, str) else ""
        rule = f"munet-studio {VERSION} reads formats up to {target}"
        problem = Problem("format-newer", f"the file has format {found}{by}", rule=rule, cure="update munet-studio", file=file)
        raise ProjectError([problem])
    for version in range(found, target) if found >= 0 else ():
        if version not in migrations:
            break
        data = migrations[version](data)
        data["munet"]["format"] = version + 1
    if data["munet"]["format"] != target:
        raise ProjectError([Problem("format-unknown", f"there is no format {found}", rule=f"the format is {target}", file=file)])
    return data


def dump_project(graph: Graph) -> str:
    """The graph as the text of a project file. Raises ProjectError for a graph that such a file cannot hold."""
    problems = list(_unwritable(graph))
    if problems:
        raise _project_error(problems, "")
    text = _lines(
        {
            "munet": _line({"format": FORMAT, "version": VERSION}),
            "name": _line(graph.name),
            "note": _line(graph.note) if graph.note else "",
            "run": _line(_run_fields(graph.run)),
            **_parts(graph),
            "subgraphs": _block("{}", [f"{_line(name)}: {_definition(part)}" for name, part in graph.subgraphs.items()]),
        }
    )
    parse_project(text)
    return text


def save_project(graph: Graph, path: PathLike) -> None:
    """Writes the file in one step: after a crash it is the old one or the new one.

    Raises ProjectError when the graph or the file cannot be written; nothing was changed then.
    """
    write_file(path, dump_project(graph).encode())


def schema() -> dict[str, Any]:
    """The JSON Schema of a project file: for editors and for other tools that write one."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ProjectModel.model_json_schema(),
        "title": "MuNet Studio project",
    }


def _project_error(problems: list[Problem], file: str, unlisted: int = 0) -> ProjectError:
    listed = [problem.at(file=file) for problem in problems[:MAX_PROBLEMS]]
    rest = len(problems) - len(listed) + unlisted
    if rest:
        listed.append(Problem("more", f"at least {rest:,} more problems are not listed", file=file))
    return ProjectError(listed)


def _subgraph_problems(graph: Graph) -> Iterator[Problem]:
    """Nodes that name no subgraph, and subgraphs that contain themselves, directly or through others."""
    inside: dict[str, list[str]] = {}
    for owner, part in (("", graph), *graph.subgraphs.items()):
        users = [node for node in part.nodes.values() if node.operator == SUBGRAPH_OPERATOR]
        for node in users:
            named = node.params.get(SUBGRAPH_PARAM)
            if not isinstance(named, str) or named not in graph.subgraphs:
                place = f"{owner}/{node.id}" if owner else node.id
                known = f'"{named[:60]}", which is not defined' if isinstance(named, str) else "nothing"
                found = f"as its subgraph it names {known}"
                rule = f'the parameter "{SUBGRAPH_PARAM}" of a subgraph node is a key of "subgraphs"'
                yield Problem("subgraph-unknown", found, rule=rule, node=place, socket=SUBGRAPH_PARAM)
        names = [node.params.get(SUBGRAPH_PARAM) for node in users]
        inside[owner] = [name for name in dict.fromkeys(names) if isinstance(name, str) and name in graph.subgraphs]
    cycle = _find_cycle(inside)
    if cycle:
        shown = cycle if len(cycle) < 10 else [*cycle[:8], "...", cycle[-1]]
        chain = " contains ".join(f'"{name}"' for name in shown)
        yield Problem("subgraph-recursion", f"the subgraph {chain}", rule="a subgraph may not contain itself")


def _find_cycle(inside: Mapping[str, list[str]]) -> list[str]:
    """Names along one cycle, the first again at its end; empty if there is none. Each name is walked once, without recursion."""
    done: set[str] = set()
    for start in inside:
        path = {} if start in done else {start: iter(inside[start])}
        while path:
            part = next(path[next(reversed(path))], None)
            if part is None:
                done.add(path.popitem()[0])
            elif part in path:
                names = list(path)
                return [*names[names.index(part) :], part]
            elif part not in done:
                path[part] = iter(inside[part])
    return []


def _unwritable(graph: Graph) -> Iterator[Problem]:
    """What the text could not express, so that it would be lost or changed in silence."""
    for name, part in (("", graph), *graph.subgraphs.items()):
        for key, node in part.nodes.items():
            if key != node.id:
                yield Problem("node-id", f'the node is listed as "{key}"', rule="a node is listed under its own id", node=node.id)
        if not name:
            continue
        if part.subgraphs or part.name != name or part.run != type(part.run)():
            rule = "the root graph holds all subgraphs and the run; a subgraph's name is its key"
            yield Problem("subgraph-form", f'the subgraph "{name}" holds subgraphs, run settings or another name', rule=rule)


def _parts(graph: Graph) -> dict[str, str]:
    return {
        "nodes": _block("[]", [_line(_node_fields(node)) for node in graph.nodes.values()]) or "[]",
        "edges": _block("[]", [_line(edge_text(edge)) for edge in graph.edges]) or "[]",
        "frames": _block("[]", [_line(_frame_fields(frame)) for frame in graph.frames]),
    }


def _definition(graph: Graph) -> str:
    return _lines({"note": _line(graph.note) if graph.note else "", **_parts(graph)}).rstrip("\n").replace("\n", "\n    ")


def edge_text(edge: Edge) -> str:
    """The form in which edges are written and shown: "conv 1.y -> relu 1.x"."""
    return f"{edge.source}.{edge.source_socket} -> {edge.target}.{edge.target_socket}"


def _node_fields(node: Node) -> dict[str, Any]:
    """In reading order; what has its usual value is left out."""
    fields: dict[str, Any] = {"id": node.id, "operator": node.operator}
    if node.version != 1:
        fields["version"] = node.version
    if node.params:
        fields["params"] = {name: _plain(value) for name, value in node.params.items()}
    fields["position"] = [_coordinate(value) for value in node.position]
    if node.muted:
        fields["muted"] = True
    if node.note:
        fields["note"] = node.note
    if node.frozen:
        fields["frozen"] = True
    return fields


def _run_fields(run: Run) -> dict[str, Any]:
    """The usual four always, the others where they are not as usual."""
    return {name: value for name, value in vars(run).items() if name in _RUN_ALWAYS or value != getattr(Run, name)}


def _frame_fields(frame: Frame) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "title": frame.title,
        "position": [_coordinate(value) for value in frame.position],
        "size": [_coordinate(value) for value in frame.size],
    }
    return fields | {name: value for name, value in (("color", frame.color), ("note", frame.note)) if value}


def _plain(value: Any) -> Any:
    """A parameter as JSON. Strict JSON has no NaN and no infinity: they are written {"float": "nan"}, "inf" or "-inf"."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _coordinate(value: float) -> Any:
    """Whole numbers without ".0": shorter lines, and a node moved by the mouse does not change its form."""
    if math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return int(value)
    return _plain(float(value))


def _line(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()  # refuses half of a surrogate pair
        return text
    except (TypeError, ValueError) as error:
        node = ascii(value.get("id", ""))[1:-1] if isinstance(value, dict) else ""
        problem = Problem("param-type", f"it cannot be written as JSON ({error})", rule=PARAM_RULE, node=node)
        raise ProjectError([problem]) from None


def _block(brackets: str, lines: list[str]) -> str:
    """One item a line; empty if there is none."""
    if not lines:
        return ""
    return brackets[0] + "\n    " + ",\n    ".join(lines) + "\n  " + brackets[1]


def _lines(entries: Mapping[str, str]) -> str:
    """An object with one entry a line; entries without text are left out."""
    return "{\n" + ",\n".join(f'  "{key}": {text}' for key, text in entries.items() if text) + "\n}\n"
