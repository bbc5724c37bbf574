"""What asks for a recompile, and what does not."""

from __future__ import annotations

from dataclasses import replace

from munet import Graph
from studio.commands import Delete, add_reroute
from studio.document import Command, Document, selected
from studio.essence import essence_of
from tests.studio.helpers import project


def after(graph: Graph, command: Command) -> Graph:
    document = Document(graph)
    assert document.do(command)
    return document.graph


def test_bends_are_laid_while_it_trains() -> None:
    """Once, twice in one wire, and taken away again."""
    graph = project("spiral_mlp")
    before = essence_of(graph)
    once = after(graph, add_reroute(graph.edges[0], (10.0, 20.0)))
    (bend,) = set(once.nodes) - set(graph.nodes)
    twice = after(once, add_reroute(next(edge for edge in once.edges if edge.source == bend), (30.0, 20.0)))
    assert len(twice.nodes) == len(graph.nodes) + 2
    for drawing in (once, twice):
        assert not essence_of(drawing).needs_compile(before)
    assert essence_of(after(graph, Delete(selected([graph.edges[0].target])))).needs_compile(before)


def test_a_bend_that_leads_elsewhere_is_a_change() -> None:
    graph = project("spiral_mlp")
    bent = after(graph, add_reroute(graph.edges[0], (10.0, 20.0)))
    (bend,) = set(bent.nodes) - set(graph.nodes)
    other = next(edge for edge in graph.edges if edge.source != graph.edges[0].source)
    elsewhere = {"source": other.source, "source_socket": other.source_socket}
    moved = tuple(replace(edge, **elsewhere) if edge.target == bend else edge for edge in bent.edges)
    assert essence_of(replace(bent, edges=moved)).needs_compile(essence_of(graph))
    in_a_circle = tuple(replace(edge, source=bend, source_socket="y") if edge.target == bend else edge for edge in bent.edges)
    assert essence_of(replace(bent, edges=in_a_circle)).needs_compile(essence_of(graph))
