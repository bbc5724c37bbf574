"""What the commands of `munet` share: where they print, how errors become text and exit codes, which project is meant."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from munet.engine.assets import bundled_project
from munet.engine.device import REFERENCE, DeviceInfo
from munet.engine.errors import DeviceError, DeviceUnavailable, GraphError, MunetError, Problem, ProjectError, ShaderError
from munet.engine.execute.choose import device_info
from munet.engine.graph import Graph
from munet.engine.project import load_project
from munet.engine.session import Session

app = typer.Typer(name="munet", add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="a project file, or the name of a shipped one")]
DeviceOption = Annotated[str, typer.Option(help="auto, vulkan:N, or cpu for the NumPy reference")]
JsonOption = Annotated[bool, typer.Option("--json", help="end with one line of JSON")]


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are printed as text, and as JSON where that was asked for, with the right exit code."""

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        try:
            command(**arguments)
        except MunetError as error:
            problems = problems_of(error, arguments.get("project", ""))
            for problem in problems:
                err.print(str(problem), markup=False)
            if arguments.get("as_json"):
                print_json({"ok": False, "problems": [asdict(problem) for problem in problems]})
            raise typer.Exit(exit_code(error)) from None

    return wrapped


def problems_of(error: MunetError, project: str) -> tuple[Problem, ...]:
    """What went wrong, as problems; those of the drawing name the project's file."""
    match error:
        case ProjectError() if exit_code(error) == 1:
            return tuple(problem.at(file=str(find_project(project))) for problem in error.problems)
        case ProjectError():
            return error.problems
        case GraphError():
            return (error.problem.at(file=str(find_project(project))),)
        case _:
            return (Problem(type(error).__name__, str(error)),)


def exit_code(error: MunetError) -> int:
    """2 for what the machine or the command line is to blame for, else 1."""
    if isinstance(error, ProjectError):
        return 2 if all(p.code.startswith("file-") or p.code in ("usage", "run-exists") for p in error.problems) else 1
    return 2 if isinstance(error, DeviceError | ShaderError) else 1


def usage(found: str, cure: str = "") -> ProjectError:
    return ProjectError([Problem("usage", found, cure=cure)])


def find_project(name: str) -> str | Path:
    """The file that the user named, else the shipped project of that name."""
    with contextlib.suppress(OSError, ValueError):
        if Path(name).exists():
            return name
    return bundled_project(name) or name


def read_project(name: str) -> Graph:
    return load_project(find_project(name))


def info_or_reference(device: str) -> DeviceInfo:
    """The device to compile for; looking at a program needs no device, so "auto" may end at the reference's limits."""
    try:
        return device_info(device)
    except DeviceUnavailable:
        if device != "auto":
            raise
        err.print("no Vulkan device here: compiled with the limits of the NumPy reference")
        return REFERENCE


def announce(session: Session, resumed: bool, total: int | None) -> None:
    info = session.executor.info
    err.print(f"running on {info.name}" + (f", {info.driver}" if info.driver else ""), markup=False)
    if info.kind == "reference":
        err.print("the NumPy reference is meant for checking results, not for speed")
    for remark in info.notes.values():
        err.print(remark, markup=False)
    if resumed:
        err.print(f"resumed at step {session.step_count}")
    if total is not None and session.step_count >= total:
        err.print(f"nothing to do: the run has {session.step_count} steps of {total}")


def show_table(rows: Sequence[Sequence[str]], right: int) -> None:
    """Columns side by side, the last `right` of them set to the right; never wrapped or cut, so that tools can read it."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)][: len(row) - right]
        cells += [cell.rjust(width) for cell, width in zip(row, widths, strict=True)][len(row) - right :]
        out.print("  ".join(cells).rstrip(), markup=False)


def numbers(metrics: Any) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())


def print_json(value: Any) -> None:
    """One line of strict JSON: what is not finite becomes text."""
    sys.stdout.write(json.dumps(_strict(value), allow_nan=False) + "\n")
    sys.stdout.flush()


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return str(value)
    return value
