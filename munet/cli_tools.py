"""Commands that look at a project or make something of it: predict, info, profile, schema, new, export-weights."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from munet.console import (
    DeviceOption,
    JsonOption,
    ProjectArgument,
    announce,
    err,
    find_project,
    out,
    print_json,
    read_project,
    reported,
    show_table,
    usage,
)
from munet.engine.assets import bundled_project, bundled_projects
from munet.engine.costs import costs
from munet.engine.errors import Problem, ProjectError
from munet.engine.files import read_file, write_file
from munet.engine.project import MAX_BYTES, schema
from munet.engine.session import Session

MAX_ARRAY_BYTES = 8 * 2**30
CheckpointOption = Annotated[Path | None, typer.Option(metavar="FILE", help="checkpoint or weights; else as the project starts")]


def register(app: typer.Typer) -> None:
    """Add the commands to `munet`."""
    for name, command in COMMANDS.items():
        app.command(name)(reported(command))


def predict(
    project: ProjectArgument,
    checkpoint: CheckpointOption = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NODE=FILE.npy", help="an array for a source; else the held-out samples"),
    ] = None,
    nodes: Annotated[
        list[str] | None, typer.Option("--node", metavar="NODE", help="what to give; else what leads nowhere")
    ] = None,
    out_file: Annotated[Path | None, typer.Option("--out", metavar="FILE.npz", help="file for the arrays")] = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Run a trained network on arrays, or on the held-out samples."""
    given = dict(_named_array(text) for text in inputs or [])
    with _opened(project, device, checkpoint) as session:
        announce(session, False, None)
        found = session.predict(given or None, nodes)
    for name, array in found.items():
        out.print(f"{name}  {array.dtype} {list(array.shape)}  {_shown(array)}", markup=False)
    if out_file is not None:
        _save_arrays(out_file, found)
        err.print(f"saved {out_file}", markup=False)
    if as_json:
        print_json({name: {"dtype": str(a.dtype), "shape": list(a.shape)} for name, a in found.items()})


def info(project: ProjectArgument, as_json: JsonOption = False) -> None:
    """Parameters, arithmetic and bytes of each node, for one step of training."""
    graph = read_project(project)
    found = costs(graph)
    rows = [["node", "operator", "output", "parameters", "forward flops", "training flops", "result bytes"]]
    for node in found.nodes:
        counts = (node.parameters, node.flops, node.training_flops, node.bytes)
        rows.append([node.node, node.operator, node.output, *(f"{count:,}" if count else "" for count in counts)])
    total = (found.parameters, found.flops, found.training_flops, sum(node.bytes for node in found.nodes))
    rows.append(["total", "", "", *(f"{count:,}" for count in total)])
    show_table(rows, right=4)
    out.print(f"states {found.state_bytes:,} bytes, data {found.data_bytes:,} bytes")
    if as_json:
        nodes = [vars(node) for node in found.nodes]
        sizes = {"state_bytes": found.state_bytes, "data_bytes": found.data_bytes}
        print_json({"nodes": nodes, "parameters": found.parameters, "flops": found.flops, **sizes})


def profile(
    project: ProjectArgument,
    device: DeviceOption = "auto",
    steps: Annotated[int, typer.Option(min=1, help="steps to time; medians are shown")] = 10,
    after: Annotated[int, typer.Option(min=0, help="steps to train before")] = 20,
    trace: Annotated[Path | None, typer.Option(metavar="FILE", help="trace for chrome://tracing or ui.perfetto.dev")] = None,
    as_json: JsonOption = False,
) -> None:
    """Time every pass alone on the device, and share it out over the nodes."""
    with _opened(project, device, None) as session:
        announce(session, False, None)
        for _ in session.train(after):
            pass
        found = session.profile(steps, trace)
    rows = [["#", "level", "pass", "nodes", "us", "GFLOP/s", "GB/s"]]
    for p in found.passes:
        rates = (f"{p.flops / p.us / 1e3:.3g}", f"{p.bytes_moved / p.us / 1e3:.3g}") if p.us else ("", "")
        rows.append([str(p.index), str(p.level), p.name, ", ".join(p.nodes), f"{p.us:.1f}", *rates])
    show_table(rows, right=3)
    out.print()
    rows = [["node", "forward us", "backward us", "update us", "us"]]
    for node in found.nodes:
        times = (node.forward_us, node.backward_us, node.update_us, node.us)
        rows.append([node.node or "(none)", *(f"{us:.1f}" if us else "" for us in times)])
    show_table(rows, right=4)
    real = f"; a step as it runs takes {found.step_us:.1f} us" if found.step_us else ""
    sums = f"passes one by one {found.serialised_us:.1f} us, levels {found.levels_us:.1f} us"
    out.print(f"{found.device}: {sums}{real}", markup=False)
    if trace is not None:
        err.print(f"saved {trace}", markup=False)
    if as_json:
        facts = {"device": found.device, "steps": found.steps, "serialised_us": found.serialised_us, "levels_us": found.levels_us}
        facts["step_us"] = found.step_us
        print_json({**facts, "passes": [vars(p) for p in found.passes], "nodes": [vars(node) for node in found.nodes]})


def print_schema() -> None:
    """Print the JSON Schema of project files."""
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")


def new(
    template: Annotated[str, typer.Argument(help="a shipped project; without PATH its name decides the file")] = "",
    path: Annotated[Path | None, typer.Argument(metavar="[PATH]", help="the file to write")] = None,
) -> None:
    """Start a project from a shipped one; without a name, list them."""
    known = ", ".join(bundled_projects())
    if not template:
        out.print(f"templates: {known}", markup=False)
        return
    source = bundled_project(template)
    if source is None:
        raise usage(f'there is no template "{template}"', f"one of {known}")
    target = path or Path(source.name)
    if target.exists():
        raise ProjectError([Problem("file-exists", "the file is there already", cure="another path", file=str(target))])
    write_file(target, read_file(source, MAX_BYTES))
    out.print(f"wrote {target}; munet run {target}", markup=False)


def export_weights(
    project: ProjectArgument,
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="safetensors file to write")],
    checkpoint: CheckpointOption = None,
) -> None:
    """Write parameters and running statistics alone as a safetensors file."""
    with _opened(project, "cpu", checkpoint) as session:
        weights = session.weights()
        session.export_weights(out_file)
    out.print(f"{len(weights)} arrays, {sum(a.size for a in weights.values()):,} numbers: {out_file}", markup=False)


COMMANDS: dict[str, Any] = {
    "predict": predict,
    "info": info,
    "profile": profile,
    "schema": print_schema,
    "new": new,
    "export-weights": export_weights,
}


def _opened(project: str, device: str, checkpoint: Path | None) -> Session:
    """A session with the weights of the checkpoint, all of them, or those that the project starts from."""
    graph = read_project(project)
    named = graph.run.initial_weights
    session = Session.open(graph, device, weights=Path(find_project(project)).parent / named if named and not checkpoint else "")
    if checkpoint is not None:
        try:
            session.start_from(checkpoint, partial=False)
        except BaseException:
            session.close()
            raise
    return session


def _named_array(text: str) -> tuple[str, np.ndarray[Any, Any]]:
    name, equals, file = text.partition("=")
    if not equals:
        raise usage(f"--input {text!r} is not NODE=FILE.npy")
    try:
        if Path(file).stat().st_size > MAX_ARRAY_BYTES:
            raise usage(f"{file} is larger than {MAX_ARRAY_BYTES:,} bytes")
        array = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise usage(f"{file} is no NumPy array: {error}") from None
    if not isinstance(array, np.ndarray):
        raise usage(f"{file} holds several arrays", "a .npy file")
    return name.strip(), array


def _save_arrays(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    content = io.BytesIO()
    np.savez(content, **arrays)  # pyright: ignore[reportArgumentType]
    write_file(path, content.getvalue())


def _shown(array: np.ndarray[Any, Any]) -> str:
    text = np.array2string(array, threshold=8, edgeitems=2, precision=4, separator=", ").replace("\n", " ")
    return " ".join(text.split())
