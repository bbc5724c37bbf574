"""The command `munet`: arguments and printing only. What it can do, the library can do.

Exit codes: 0 fine; 1 something is wrong with the project; 2 wrong usage, or something this machine lacks; 128 and the number
of the signal that ended a run early (130 after Ctrl-C), which is saved all the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

import munet.nodes  # noqa: F401  # fills the registry
import munet_command
from munet import cli_operators, cli_shaders, cli_tools
from munet.console import (
    DeviceOption,
    JsonOption,
    ProjectArgument,
    announce,
    app,
    err,
    find_project,
    info_or_reference,
    numbers,
    out,
    print_json,
    read_project,
    reported,
    usage,
)
from munet.engine import compare as comparison
from munet.engine import settings
from munet.engine.checkpoint import hash_of, read_checkpoint
from munet.engine.device import REFERENCE
from munet.engine.dump import STAGES, dump
from munet.engine.errors import Problem, ProjectError
from munet.engine.events import Carried, Evaluated, Event, Finished, Progress, Saved
from munet.engine.execute.choose import CPU
from munet.engine.execute.vulkan.device import list_devices, why_no_devices
from munet.engine.graph import Graph
from munet.engine.operator import REGISTRY
from munet.engine.project import dump_project
from munet.engine.runfolder import RunFolder
from munet.engine.session import Session
from munet.engine.validate import remarks, validate
from munet.engine.version import VERSION

REPORT_EVERY_S = 2.0  # between lines where the output is no terminal


def main() -> None:
    """The entry point of the command."""
    munet_command.imported()
    try:
        app()
    except BrokenPipeError:  # `munet dump ... | head`
        with contextlib.suppress(OSError):
            sys.stdout.close()
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


# -- commands ----------------------------------------------------------------------------------------------------------


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="print the version")] = False) -> None:
    """Draw a neural network, train it on any GPU with a Vulkan driver."""
    if version:
        out.print(f"munet-studio {VERSION}")
        raise typer.Exit


@app.command()
@reported
def run(
    project: ProjectArgument,
    device: DeviceOption = "auto",
    steps: Annotated[int | None, typer.Option(min=0, help="steps in total; a resumed run counts those it has")] = None,
    more: Annotated[int | None, typer.Option(min=0, help="steps on top of those of the checkpoint")] = None,
    out_dir: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="folder for checkpoint and metrics")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the checkpoint in --out")] = False,
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="NODE.PARAM=VALUE", help="change a parameter")] = None,
    seed: Annotated[int | None, typer.Option(help="another seed than the project's")] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a project. Ctrl-C ends the run after the steps under way and saves it."""
    if steps is not None and more is not None:
        raise usage("--steps and --more exclude each other", "--steps for a total, --more for an addition")
    go_on = resume or more is not None
    if go_on and out_dir is None:
        raise usage(f"{'--resume' if resume else '--more'} needs --out, the folder of the run")
    graph, live = changed(read_project(project), changes or [])
    folder = RunFolder(out_dir) if out_dir else None
    if folder:
        folder.check(resuming=go_on)
    if go_on and seed is not None:
        raise usage("--seed cannot change a run that is resumed", "another folder")
    weights = Path(find_project(project)).parent / graph.run.initial_weights if graph.run.initial_weights else ""
    with Session.open(graph, device, seed=seed, weights="" if go_on else weights) as session, holding(folder):
        if folder and go_on:
            resume_from(session, folder)
        for node, param, value in live:
            session.set(node, param, value)
        if folder:
            resumed_at = session.step_count if go_on else None
            folder.start(as_run(session), session.seed, session.executor.info, resumed_at=resumed_at, changes=changes or ())
        total = session.step_count + more if more is not None else graph.run.steps if steps is None else steps
        announce(session, go_on, total)
        with stopping_on_interrupt(session) as signals:
            show(session, session.run(total, folder), total)
        summarise(session)
        if as_json:
            print_json(session.report())
        if signals and session.step_count < total:
            raise typer.Exit(128 + signals[0])


@app.command()
@reported
def check(project: ProjectArgument, as_json: JsonOption = False) -> None:
    """Say everything that is wrong with a project, without running it."""
    path = str(find_project(project))
    graph, faults = read_leniently(project)
    problems = [*faults, *(problem.at(file=path) for problem in validate(graph, Path(path).parent))]
    notes = [] if problems else [note.at(file=path) for note in remarks(graph)]
    for problem in (*problems, *notes):
        (err if problems else out).print(str(problem), markup=False)
    if as_json:
        tables = {"problems": problems, "remarks": notes}
        print_json({"ok": not problems} | {name: [asdict(p) for p in found] for name, found in tables.items()})
    elif not problems:
        verdict = "nothing would be trained" if any(note.code == "nothing-trains" for note in notes) else "fine"
        out.print(f"{path}: {len(graph.nodes)} nodes, {len(graph.edges)} wires: {verdict}", markup=False)
    if problems:
        raise typer.Exit(1)


@app.command()
@reported
def devices() -> None:
    """List the Vulkan devices of this machine, and the environment variables that matter."""
    found = list_devices()
    table = Table(box=None, pad_edge=False)
    for column in ("device", "name", "kind", "driver", "memory"):
        table.add_column(column)
    for info in found:
        memory = f"{info.memory_bytes / 2**30:.1f} GiB"
        table.add_row(f"vulkan:{info.index}", info.name, "CPU driver" if info.is_cpu else info.kind, info.driver, memory)
    table.add_row(CPU, REFERENCE.name, "for checking", "", "")
    out.print(table)
    for info in found:
        for remark in info.notes.values():
            out.print(f"vulkan:{info.index}: {remark}", markup=False)
    if not found:
        out.print(why_no_devices(), markup=False)
    out.print()
    for variable, value in settings.describe():
        out.print(f"{variable.name}={value}" if value else f"{variable.name} (unset: {variable.default})", markup=False)
        out.print(f"    {variable.doc}", markup=False)


@app.command("dump")
@reported
def dump_command(
    project: ProjectArgument,
    stage: Annotated[str, typer.Option(help=", ".join(STAGES))],
    device: DeviceOption = "auto",
    mode: Annotated[str, typer.Option(help="train or evaluate")] = "train",
) -> None:
    """Print a project as it is at one stage on its way to the device."""
    if stage not in STAGES:
        raise usage(f"there is no stage {stage!r}", " or ".join(STAGES))
    if mode not in ("train", "evaluate"):
        raise usage(f"there is no mode {mode!r}", "train or evaluate")
    sys.stdout.write(dump(read_project(project), stage, info_or_reference(device), mode=mode))


@app.command()
@reported
def compare(
    project: ProjectArgument,
    device: DeviceOption = "auto",
    against: Annotated[str, typer.Option(help="cpu, the NumPy reference")] = CPU,
    steps: Annotated[int, typer.Option(min=1, help="steps to compare")] = 1,
    after: Annotated[int, typer.Option(min=0, help="steps to train before")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Run every pass on a device and on the reference with equal inputs; name the first that differs."""
    if against != CPU:
        raise usage(f"cannot compare against {against!r}", "--against cpu")
    with Session.open(read_project(project), device) as session:
        announce(session, False, None)
        for _ in session.train(after):
            pass
        result = comparison.compare(session, steps)
    for difference in result.differences[:20]:
        out.print(str(difference), markup=False)
    agree = not result.differences
    passes, of_steps = counted(result.passes, "pass", "passes"), counted(steps, "step", "steps")
    text = f"{passes} of {of_steps}, all agree" if agree else counted(len(result.differences), "value differs", "values differ")
    largest = f"largest error {result.largest:.3g} of the tolerance"
    out.print(f"{result.device} against {result.against}: {text}; {largest}", markup=False)
    if as_json:
        fields = ("node", "index", "step", "error", "allowed")
        listed = [{name: getattr(difference, name) for name in fields} for difference in result.differences]
        facts = {"device": result.device, "against": result.against, "steps": steps, "passes": result.passes}
        print_json({"ok": agree, **facts, "largest": result.largest, "differences": listed})
    if not agree:
        raise typer.Exit(1)


cli_tools.register(app)
cli_operators.register(app)
app.add_typer(cli_shaders.app, name="shaders")


# -- helpers -----------------------------------------------------------------------------------------------------------


def counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def changed(graph: Graph, changes: list[str]) -> tuple[Graph, list[tuple[str, str, Any]]]:
    """The graph with the changes that compile in, and the live ones as (node, param, value)."""
    live: list[tuple[str, str, Any]] = []
    for change in changes:
        target, equals, text = change.partition("=")
        node, dot, param = target.strip().rpartition(".")
        if not equals or not dot:
            raise usage(f"--set {change!r} is not NODE.PARAM=VALUE")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        known = graph.nodes.get(node)
        if known is None:
            raise usage(f'--set {change!r}: there is no node "{node}"', f"one of {', '.join(graph.nodes)}")
        declared = REGISTRY.get(known.operator)
        if declared is not None and param in declared.params and declared.params[param].live:
            live.append((node, param, value))
        else:
            new = replace(known, params={**known.params, param: value})
            graph = replace(graph, nodes={**graph.nodes, node: new})
    return graph, live


def holding(folder: RunFolder | None) -> contextlib.AbstractContextManager[None]:
    return folder.held() if folder else contextlib.nullcontext()


def as_run(session: Session) -> Graph:
    """The drawing with the live values that the run goes on with, be they from --set or from a checkpoint."""
    graph = session.graph
    for key, value in session.live.items():
        name, _, param = key.rpartition(".")
        node = graph.nodes.get(name)
        if node and node.params.get(param, REGISTRY[node.operator].params[param].default) != value:
            graph = replace(graph, nodes={**graph.nodes, name: replace(node, params={**node.params, param: value})})
    return graph


def read_leniently(project: str) -> tuple[Graph, tuple[Problem, ...]]:
    """A project, and the faults of its run settings: those do not keep one from looking at its nodes."""
    try:
        return read_project(project), ()
    except ProjectError as error:
        if error.graph is None:
            raise
        return error.graph, error.problems


def resume_from(session: Session, folder: RunFolder) -> None:
    """Go on from the folder's checkpoint; where the drawing has been edited since, say what that means for its states."""
    edited = read_checkpoint(folder.checkpoint)[1].project_sha256 != hash_of(dump_project(session.graph))
    session.load(folder.checkpoint, partial=edited)
    for event in session.events().events:
        if isinstance(event, Carried) and event.source == "checkpoint" and (event.started or event.dropped):
            kept = folder.keep_checkpoint(session.step_count)
            err.print(f"the project has changed since the checkpoint: {event}", markup=False)
            err.print(f"the checkpoint as it was is kept as {kept}", markup=False)


@app.command(name="studio")
@reported
def open_studio(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="a project file, or the name of a shipped one")] = "",
    stats: Annotated[bool, typer.Option("--stats", help="a line with the times of frames and the worker's queue")] = False,
) -> None:
    """Open the window: draw a network, watch it train."""
    try:
        # Late: the window's toolkit is an extra, and every other command does without it.
        from studio.view.opening import open_window
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("dearpygui", "fontTools"):
            raise
        raise usage(
            "the studio's window needs Dear PyGui and fontTools", "pip install -e '.[studio]' in the folder of MuNet Studio"
        ) from None
    except ImportError as error:
        if "lib" not in str(error):
            raise
        raise usage(f"Dear PyGui cannot be loaded: {error}", "your system's package of that library (libgl1 on Debian)") from None
    why = open_window(Path(find_project(project)) if project else None, stats=stats)
    if why:
        raise usage(why)


@contextlib.contextmanager
def stopping_on_interrupt(session: Session) -> Iterator[list[int]]:
    """Ctrl-C, a closed terminal or a polite kill ends the run in good order; a second one at once. Gives those that came."""
    came: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if number == getattr(signal, "SIGHUP", None):
            err.quiet = out.quiet = True  # nobody is there to read, and writing would fail before the run is saved
        elif len(came) > 1:
            raise KeyboardInterrupt
        session.stop()
        if not err.quiet:
            with contextlib.suppress(OSError):  # not by `err`: the signal may have come in the middle of its printing
                os.write(sys.stderr.fileno(), b"stopping after the steps under way; once more ends at once without saving\n")

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    known = [signal.Signals[name] for name in names]
    # Under nohup a closed terminal is no reason to stop.
    heard = [number for number in known if number.name != "SIGHUP" or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show(session: Session, events: Iterator[Event], total: int) -> None:
    """Follow a run: a bar on a terminal, now and then a line elsewhere; what was saved is said once, at the end."""
    saved: dict[str, int] = {}
    metrics, rate = TextColumn("{task.description}"), TextColumn("{task.fields[rate]}")
    columns = (metrics, BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    shown = 0.0
    with Bar(*columns, console=err, disable=not err.is_terminal, transient=True) as bar:
        task = bar.add_task("training", total=total, completed=session.step_count, rate="")
        for event in events:
            match event:
                case Progress():
                    rate = f"{event.steps_per_second:,.4g} steps/s"
                    bar.update(task, completed=event.step, description=numbers(event.metrics), rate=rate)
                    if not err.is_terminal and time.monotonic() - shown > REPORT_EVERY_S:
                        shown = time.monotonic()
                        err.print(f"step {event.step}/{total}  {numbers(event.metrics)}  {rate}", markup=False)
                case Evaluated():
                    err.print(f"step {event.step}: held out  {numbers(event.metrics)}", markup=False)
                case Saved():
                    saved[event.path] = event.step
                case Finished(stopped=True):
                    reason = f": {event.reason}" if event.reason else ""
                    err.print(f"stopped at step {event.step}{reason}", markup=False)
                case _:
                    pass
    for path, step in saved.items():
        err.print(f"step {step}: saved {path}", markup=False)


def summarise(session: Session) -> None:
    report = session.report()
    wall_ms = report["wall_ms_per_step"]
    parts = [f"{session.step_count} steps", numbers(session.metrics)]
    if session.evaluation:
        parts.append(f"held out: {numbers(session.evaluation)}")
    if wall_ms:
        parts.append(f"{wall_ms:.3g} ms a step in {report['passes_per_step']} passes")
    out.print("; ".join(part for part in parts if part), markup=False)


if __name__ == "__main__":
    main()
