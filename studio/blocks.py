"""Blocks: subgraphs kept as files of their own, to be placed in any project. A block's file is a project with one instance of it.

Files are read on a thread; what is wrong with one is told, and the others are there.
"""

from __future__ import annotations

import queue
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from munet import Graph, MunetError, Node, Problem, ProjectError, dump_project, parse_project, read_file, write_file
from studio import edits
from studio.files import typed_path
from studio.preferences import Preferences, preferences_file

MAX_FILES, MAX_BYTES = 500, 4 * 2**20


@dataclass(frozen=True)
class Block:
    """`graph` holds the definition `name` and those it needs."""

    name: str
    graph: Graph
    path: Path

    @property
    def note(self) -> str:
        return self.graph.subgraphs[self.name].note


def folder_of(preferences: Preferences) -> Path:
    typed = preferences.blocks_folder
    return typed_path(typed, Path()) if typed else preferences_file().with_name("blocks")


def piece(graph: Graph, name: str) -> Graph:
    """A project with nothing but an instance of the subgraph."""
    used = edits.uses(graph, name)
    parts = {key: graph.subgraphs[key] for key in graph.subgraphs if key in used}
    return Graph(name, {name: Node(name, edits.SUBGRAPH, {"graph": name})}, subgraphs=parts)


def file_of(name: str, folder: Path) -> Path:
    return folder / ((re.sub(r"[^\w .-]", "_", name).strip(". ")[:80] or "block") + ".json")


def save(graph: Graph, name: str, folder: Path) -> Path:
    """Write a subgraph of a project as a block, in place of one of that name. Raises ProjectError."""
    path = file_of(name, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProjectError([Problem("cannot-write", f"{folder}: {error.strerror}")]) from error
    write_file(path, dump_project(piece(graph, name)).encode())
    return path


def delete(block: Block) -> None:
    """Take its file away. Raises ProjectError."""
    try:
        block.path.unlink(missing_ok=True)
    except OSError as error:
        raise ProjectError([Problem("cannot-write", f"{block.path}: {error.strerror}")]) from error


def read(path: Path) -> Block:
    """Raises ProjectError for what is no block."""
    graph = parse_project(read_file(path, MAX_BYTES).decode(errors="replace"))
    names = {str(node.params.get("graph")) for node in graph.nodes.values() if node.operator == edits.SUBGRAPH}
    if len(graph.nodes) != 1 or not names <= graph.subgraphs.keys() or not names:
        rule = "a block is a project with one node, an instance of a subgraph"
        raise ProjectError([Problem("no-block", f"{path.name} holds {len(graph.nodes)} nodes", rule)])
    return Block(names.pop(), graph, path)


def read_all(folder: Path) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """All blocks of a folder by name, and a line about each file that is none."""
    found: dict[str, Block] = {}
    faults: list[str] = []
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.is_file())
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        return (), (f"{folder}: {error.strerror}",)
    for path in paths[:MAX_FILES]:
        try:
            block = read(path)
            found.setdefault(block.name, block)
        except MunetError as error:
            faults.append(f"{path.name}: {str(error).splitlines()[0]}")
    return tuple(found.values()), tuple(faults)


class Shelf:
    """The blocks that there are. `look` reads the folder anew without waiting, `poll` takes in what was found."""

    def __init__(self) -> None:
        self._found: queue.SimpleQueue[tuple[tuple[Block, ...], tuple[str, ...]]] = queue.SimpleQueue()
        self._awaited = 0
        self.blocks: tuple[Block, ...] = ()
        self.faults: tuple[str, ...] = ()
        self.version = 0

    @property
    def busy(self) -> bool:
        return self._awaited > 0

    def look(self, folder: Path) -> None:
        self._awaited += 1
        threading.Thread(target=lambda: self._found.put(read_all(folder)), name="blocks", daemon=True).start()

    def poll(self) -> bool:
        """Whether something has come."""
        if self._found.empty():
            return False
        self.blocks, self.faults = self._found.get()
        self._awaited -= 1
        self.version += 1
        return True
