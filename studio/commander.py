"""What the palette of commands offers, and what of it fits a text: actions, nodes to go to, panels, projects.

All words of the text must be found, each in the title (best at a word's start) or in the hint beside it; letters may be left out.
"@" in front looks only for nodes, ">" only for actions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from munet import Graph
from studio.edits import SUBGRAPH
from studio.keys import ACTIONS
from studio.texts import text

ACTION, PANEL, RECENT, EXAMPLE, NODE = KINDS = ("action", "panel", "recent", "example", "node")
ONLY = {"@": NODE, ">": ACTION}
MAX_DEPTH = 8  # of subgraphs in subgraphs
NOT_OFFERED = ("cancel", "commands")


@dataclass(frozen=True)
class Choice:
    """Something that can be chosen. `name` is what its kind is opened by: action, panel, file, project, a node's path."""

    kind: str
    name: str
    title: str
    hint: str = ""  # stands at the right: shortcut, folder, operator
    icon: str = ""

    @property
    def key(self) -> str:
        return f"{self.kind} {self.name}"


def choices(
    graph: Graph, actions: Collection[str], shortcuts: Mapping[str, Sequence[str]], panels: Iterable[tuple[str, str]],
    recent: Iterable[str], examples: Iterable[str],
) -> tuple[Choice, ...]:  # fmt: skip
    """All there is. `panels`: (name, title) of those that can be shown."""
    found = [
        Choice(ACTION, action.name, action.title, ", ".join(shortcuts.get(action.name, ())), action.name)
        for action in ACTIONS
        if action.name in actions and action.name not in NOT_OFFERED
    ]
    found += [Choice(PANEL, name, text("view.show_panel", name=title), text("view.panel"), "panel") for name, title in panels]
    found += [Choice(RECENT, name, Path(name).name, str(Path(name).parent), "recent") for name in recent]
    found += [Choice(EXAMPLE, name, name, text("view.example"), "example") for name in examples]
    found += (Choice(NODE, "/".join(path), path[-1], hint, "node") for path, hint in _nodes(graph, graph, (), 0))
    return tuple(found)


def _nodes(graph: Graph, part: Graph, inside: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], str]]:
    place = f"  ({'/'.join(inside)})" if inside else ""
    for id_, node in part.nodes.items():
        yield (*inside, id_), f"{node.operator}{place}"
        definition = graph.subgraphs.get(str(node.params.get("graph"))) if node.operator == SUBGRAPH else None
        if definition is not None and depth < MAX_DEPTH:
            yield from _nodes(graph, definition, (*inside, id_), depth + 1)


def find(query: str, among: Iterable[Choice], used: Sequence[str] = ()) -> list[Choice]:
    """What fits, the best first; `used`: keys of what was chosen before, the last one first. All in order for an empty query."""
    query = query.strip()
    only = ONLY.get(query[:1])
    words = (query[1:] if only else query).lower().split()
    places = {key: place for place, key in enumerate(used)}
    found: list[tuple[float, int, int, str, Choice]] = []
    for choice in among:
        if only and choice.kind != only:
            continue
        scores = [_score(word, choice) for word in words]
        if all(scores):
            bonus = 4.0 - 0.3 * places[choice.key] if choice.key in places else 0.0
            length = len(choice.title) if words else 0
            found.append((-sum(scores) - bonus, KINDS.index(choice.kind), length, choice.title if words else "", choice))
    return [entry[-1] for entry in sorted(found, key=lambda entry: entry[:-1])]


def _score(word: str, choice: Choice) -> float:
    title = choice.title.lower()
    if title.startswith(word):
        return 60.0
    parts = title.replace("_", " ").split()
    if any(part.startswith(word) for part in parts):
        return 50.0
    if word in title:
        return 35.0
    if word in choice.hint.lower():
        return 25.0
    return spread(word, title)


def spread(word: str, title: str) -> float:
    """How well a word's letters are found in order: 20 at most, more if they start words or follow each other; 0 if not."""
    if len(word) < 2:
        return 0.0
    at, gaps = -1, 0
    for letter in word:
        place = title.find(letter, at + 1)
        start = title.find(f" {letter}", at + 1)
        if start >= 0 and place != at + 1:
            place = start + 1
        if place < 0:
            return 0.0
        starts = place == 0 or title[place - 1] == " "
        gaps += 0 if starts or place == at + 1 else 1
        at = place
    return 20.0 - 6.0 * gaps if gaps <= 2 else 0.0
