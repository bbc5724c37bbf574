"""The help of a kind of node as sections of lines: meaning, formula, shapes, an example, where it is used.

Everything in it comes from the declaration. Examples are worked out and project files read when they are first wanted, which
takes a millisecond or two a node; `prepare`, on a thread of its own at the start, does it for all, so that no frame has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from munet import inspect
from munet.inspect import DeclarationView, SocketView
from studio.nodeviews import declarations
from studio.start import examples_of
from studio.texts import text

WORDS, FORMULA, FACTS = "words", "formula", "facts"  # kinds of lines: prose; mathematics; shapes and numbers


@dataclass(frozen=True)
class Section:
    """`title` is "" for the meaning, which comes first."""

    title: str
    kind: str
    lines: tuple[str, ...]


def sections(declared: DeclarationView) -> tuple[Section, ...]:
    """The whole help of a node; what there is nothing to tell of is left out."""
    found = (
        Section("", WORDS, tuple(declared.doc.split("\n\n"))),
        Section(text("help.formula"), FORMULA, declared.formula),
        Section(text("help.shapes"), FACTS, tuple(_shapes(declared))),
        Section(text("help.example"), FACTS, _example(declared)),
        Section(text("help.used"), WORDS, (", ".join(examples_of().get(declared.name, ())),)),
    )
    return tuple(section for section in found if any(section.lines))


def brief(doc: str, formula: tuple[str, ...]) -> tuple[Section, ...]:
    """What a tooltip tells: meaning and formula."""
    return tuple(s for s in (Section("", WORDS, tuple(doc.split("\n\n"))), Section("", FORMULA, formula)) if any(s.lines))


def prepare() -> None:
    """Works out all examples, and reads the shipped projects."""
    for declared in declarations().values():
        sections(declared)


def _shapes(declared: DeclarationView) -> Iterator[str]:
    for sockets, out in ((declared.inputs, False), (declared.outputs, True)):
        for socket in sockets:
            marks = [text("help.optional")] if socket.optional else [text("help.several")] if socket.variadic else []
            about = "; ".join(part for part in (*marks, socket.doc) if part)
            facts = [part for part in (_shape(socket), _dtype(socket)) if part]
            head = "  ".join(("→ " * out + socket.name, *facts))
            yield f"{head}: {about}" if about else head


def _shape(socket: SocketView) -> str:
    if socket.computed:
        return ""
    return f"[{socket.pattern}]" if socket.pattern else text("help.number")


def _dtype(socket: SocketView) -> str:
    variable, _, group = socket.dtype.partition(":")
    if group == "number" and not socket.pattern:
        return ""  # as its shape says
    return group or (variable if len(variable) > 1 else "")


def _example(declared: DeclarationView) -> tuple[str, ...]:
    if declared.name not in declarations() or declared.kind == "subgraph":  # a subgraph is nobody's declaration
        return ()
    example = inspect.example(declared.name)
    return example.lines if example is not None else ()
