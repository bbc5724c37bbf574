"""Compile time grows no faster than drawings do. What is judged is how many calls a compile makes, which no other process
disturbs, and processor time with generous ratios; never how long something takes."""

from __future__ import annotations

import cProfile
import itertools
import pstats
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from munet.engine.builder import Builder
from munet.engine.compile import compile_program, transform
from munet.engine.device import REFERENCE, DeviceInfo
from munet.engine.errors import ProjectError
from munet.engine.execute.cpu import ReferenceExecutor
from munet.engine.graph import Edge, Graph, Node
from munet.engine.ir.module import Initial, Module
from munet.engine.ir.text import print_module
from munet.engine.ir.verify import verify
from munet.engine.lower import lower
from munet.engine.plan.arena import place
from munet.engine.plan.lifetimes import Lifetime
from munet.engine.project import load_project
from munet.engine.session import Session
from tests.engine.drawings import PROJECTS

CPU_DRIVER = DeviceInfo(name="CPU driver", kind="cpu", max_workgroup_invocations=1024, max_storage_buffers=32)
ACTIVATIONS = ("tanh", "relu", "sigmoid", "abs")


def deep_network(blocks: int) -> Graph:
    """`blocks` x (Linear, relu, add to what came before, tanh), and Adam: five nodes short of 4 x blocks."""
    nodes = [Node("data", "xor"), Node("first", "Linear", {"out_features": 8})]
    edges: list[tuple[str, ...]] = [("data", "x", "first", "x")]
    last = ("first", "y")
    for i in range(blocks):
        nodes += [Node(f"linear {i}", "Linear", {"out_features": 8}), Node(f"relu {i}", "relu")]
        nodes += [Node(f"add {i}", "add"), Node(f"tanh {i}", "tanh")]
        edges += [(*last, f"linear {i}", "x"), (f"linear {i}", "y", f"relu {i}", "x"), (*last, f"add {i}", "x")]
        edges += [(f"relu {i}", "y", f"add {i}", "y"), (f"add {i}", "z", f"tanh {i}", "x")]
        last = (f"tanh {i}", "y")
    return _with_loss(nodes, edges, last)


def chain(length: int) -> Graph:
    """One activation behind the other, `length` of them."""
    nodes = [Node("data", "xor"), Node("first", "Linear", {"out_features": 1})]
    edges: list[tuple[str, ...]] = [("data", "x", "first", "x")]
    last = ("first", "y")
    for i in range(length):
        nodes.append(Node(f"node {i}", ACTIVATIONS[i % len(ACTIVATIONS)]))
        edges.append((*last, f"node {i}", "x"))
        last = (f"node {i}", "y")
    return _with_loss(nodes, edges, last)


def _with_loss(nodes: list[Node], edges: list[tuple[str, ...]], last: tuple[str, str]) -> Graph:
    nodes += [Node("out", "Linear", {"out_features": 1}), Node("loss", "mse_loss"), Node("optimiser", "Adam")]
    edges += [(*last, "out", "x"), ("out", "y", "loss", "prediction"), ("data", "y", "loss", "target")]
    edges += [("loss", "loss", "optimiser", "loss")]
    return Graph("scaling", {node.id: node for node in nodes}, tuple(Edge(*edge) for edge in edges))


def elementwise(count: int) -> Module:
    """`count` sums and products, each of two of the twenty values before it."""
    pick = random.Random(count)
    b = Builder("train")
    with b.active():
        values = [b.state("x", (64,), initial=Initial("zeros"), group="x")]
        for i in range(count):
            x, y = pick.choice(values[-20:]), pick.choice(values[-20:])
            values.append(x + y if i % 2 else x * y)
        b.set_result(values[0], values[-1])
        return b.finish()


def doublings(count: int) -> Module:
    """x = x + x, so often; a tree that a careless compiler would write out whole."""
    b = Builder("train")
    with b.active():
        x = y = b.state("x", (7,), initial=Initial("zeros"), group="x")
        for _ in range(count):
            y = y + y
        b.set_result(x, y)
        return b.finish()


def calls(work: Callable[[], object]) -> int:
    """Python's own count of calls."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]  # missing from the stubs


def processor_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def compile_graph(graph: Graph) -> None:
    compile_program(lower(graph).module, REFERENCE)


def test_deep_networks_cost_as_many_calls_as_they_have_nodes() -> None:
    small, large = deep_network(30), deep_network(120)
    compile_graph(deep_network(2))  # what is made once is made now
    ratio = calls(lambda: compile_graph(large)) / calls(lambda: compile_graph(small))
    assert ratio < 5, f"4 times the nodes, {ratio:.1f} times the calls"


def test_a_thousand_nodes_compile() -> None:
    lowered = lower(deep_network(249))
    assert compile_program(lowered.module, REFERENCE).pass_count < 1.1 * 2 * 250


@pytest.mark.slow
def test_ten_thousand_operators() -> None:
    modules = {count: elementwise(count) for count in (2_500, 5_000, 10_000)}
    cost = {}
    for count, module in modules.items():
        cost[count] = min(processor_s(lambda m=module: compile_program(m, REFERENCE)) for _ in range(2))
    for count in (2_500, 5_000):
        assert cost[2 * count] < 3 * cost[count], cost


def test_operators_cost_as_many_calls_as_there_are() -> None:
    modules = [elementwise(count) for count in (800, 1_600)]
    few, many = (calls(lambda m=module: compile_program(m, REFERENCE)) for module in modules)
    assert many < 2.4 * few, (few, many)


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_no_project_needs_more_than_forty_pipelines(path: Path) -> None:
    """On a CPU driver, where compiling one takes up to a second."""
    try:
        module = lower(load_project(path)).module
    except ProjectError as error:
        pytest.skip(str(error))
    passes = [p for passes in compile_program(module, CPU_DRIVER).pass_lists for p in passes]
    assert len({(p.kernel.glsl, p.kernel.constants) for p in passes}) <= 40


def test_checks_and_text_too() -> None:
    modules = [transform(lower(deep_network(blocks)).module, REFERENCE) for blocks in (30, 120)]
    for work in (verify, print_module):
        small, large = (calls(lambda m=module, w=work: w(m)) for module in modules)
        assert large < 5 * small, (work.__name__, small, large)


def test_a_chain_of_five_thousand_nodes_trains() -> None:
    with Session.open(chain(5_000), device="cpu") as session:
        for _ in session.train(1):
            pass
        assert session.loss is not None
        assert np.isfinite(session.loss)
        assert session.program.pass_count < 400


@pytest.mark.parametrize("off", [(), ("fuse",)], ids=["fused", "unfused"])
def test_sixty_doublings(off: tuple[str, ...]) -> None:
    program = compile_program(doublings(60), REFERENCE, off=off)
    if not off:
        assert program.pass_count == 1
        assert len(program.pass_lists[0].passes[0].kernel.glsl) < 10_000
    with ReferenceExecutor() as executor:
        executor.load(program)
        place_of_x = program.state_placement("x")
        start = np.array([1, -1, 3, 0.5, 0, 7, 1e-20], np.float32)
        executor.write(place_of_x.buffer, start, offset_bytes=place_of_x.offset_bytes)
        executor.wait(executor.submit(program, first_step=0, steps=1, feeds={}))
        found = executor.read(place_of_x.buffer, offset_bytes=place_of_x.offset_bytes, size_bytes=start.nbytes)
    np.testing.assert_array_equal(np.frombuffer(found, np.float32), start * np.float32(2.0**60))


def test_the_arena_takes_thousands_of_values() -> None:
    pick = random.Random(5)
    firsts = [pick.randrange(2_000) for _ in range(4_000)]
    lifetimes = [Lifetime((), first, first + pick.randrange(9), pick.choice((16, 64, 4_000))) for first in firsts]
    offsets, total = place(lifetimes, 64)
    assert total == max(offset + max(64, -(-life.size_bytes // 64) * 64) for offset, life in zip(offsets, lifetimes, strict=True))
    ends = [offset + life.size_bytes for offset, life in zip(offsets, lifetimes, strict=True)]
    by_level: dict[int, list[int]] = {}
    for i, life in enumerate(lifetimes):
        for level in range(life.first, life.last + 1):
            by_level.setdefault(level, []).append(i)
    for alive in by_level.values():
        in_order = sorted(alive, key=offsets.__getitem__)
        assert all(ends[a] <= offsets[b] for a, b in itertools.pairwise(in_order))
