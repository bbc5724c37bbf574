"""What a newcomer tries first: listing operators, checking settings, and calls that are nearly right."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import munet
from munet.cli_operators import by_category
from munet.engine.errors import MunetError, ProjectError
from munet.engine.graph import Graph, Run
from munet.engine.operator import REGISTRY, Layer, Operator
from munet.engine.project import dump_project, save_project
from munet.engine.validate import remarks, validate
from tests.engine.running import ROOT, command, last_json, spiral, xor

pytestmark = pytest.mark.usefixtures("own_cache")


# -- munet operators ---------------------------------------------------------------------------------------------------


def test_operators_are_listed_by_category():
    done = command("operators")
    assert done.returncode == 0, done.stderr
    assert "\nActivations\n" in f"\n{done.stdout}"
    assert "    Linear(x, out_features=64, bias=true) -> y\n" in done.stdout
    listed = last_json(command("operators", "--json"))
    assert listed["count"] == len(listed["operators"]) == sum(map(len, by_category().values()))


def test_help_of_one_operator():
    done = command("operators", "Adam")
    assert "a schedule for lr" in done.stdout and "live" in done.stdout
    facts = last_json(command("operators", "Adam", "--json"))
    assert facts["inputs"]["rate"]["optional"] and facts["params"]["lr"]["live"]
    refused = command("operators", "conv2")
    assert refused.returncode == 2 and '"Conv2d"' in refused.stderr


def test_the_readme_counts_right():
    shown = [declared for declarations in by_category().values() for declared in declarations]
    computing = sum(isinstance(declared, Operator | Layer) for declared in shown)
    text = f"{len(shown)} kinds of nodes, {computing} of them operators and layers"
    assert text in (ROOT / "README.md").read_text(encoding="utf-8"), text


def test_python_m_munet():
    done = subprocess.run(
        [sys.executable, "-m", "munet", "--version"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith("munet-studio"), done.stderr


# -- munet check -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (Run(judged_by="acuracy"), 'the run is judged by "acuracy".\n  Rule: its metrics: loss.'),
        (Run(patience=3), "patience is 3 evaluations, but evaluate_every is 0."),
        (Run(initial_weights="none.safetensors"), 'initial_weights names "none.safetensors", but there is no such file.'),
    ],
)
def test_run_settings_are_checked(tmp_path: Path, run: Run, text: str):
    (problem,) = validate(xor(run=run), tmp_path)
    assert str(problem).startswith(text)
    save_project(xor(run=run), tmp_path / "p.json")
    done = command("check", tmp_path / "p.json")
    assert done.returncode == 1 and text.splitlines()[0] in done.stderr


def test_initial_weights_beside_the_project(tmp_path: Path):
    (tmp_path / "w.safetensors").touch()
    graph = xor(run=Run(initial_weights="w.safetensors"))
    assert validate(graph, tmp_path) == validate(graph) == []


def test_a_missing_data_set_is_a_problem_of_its_source(tmp_path: Path):
    graph = xor()
    graph = replace(graph, nodes={**graph.nodes, "points": munet.Node("points", "fashion_mnist", {"folder": str(tmp_path)})})
    assert "points" in [problem.node for problem in validate(graph)]


def test_what_trains_nothing_is_not_fine(tmp_path: Path):
    graph = xor()
    nodes = {name: node for name, node in graph.nodes.items() if name != "learn"}
    save_project(replace(graph, nodes=nodes, edges=graph.edges[:-1]), tmp_path / "p.json")
    done = command("check", tmp_path / "p.json")
    assert done.stdout.endswith("nothing would be trained\n") and "fine" not in done.stdout


def test_bad_steps_hide_no_problems_of_nodes(tmp_path: Path):
    document = json.loads(dump_project(xor()))
    document["run"]["steps"] = -1
    document["nodes"][1]["operator"] = "Lineer"
    (tmp_path / "p.json").write_text(json.dumps(document))
    done = command("check", tmp_path / "p.json")
    assert done.returncode == 1
    assert "run.steps is -1" in done.stderr and 'there is no operator "Lineer"' in done.stderr
    document["edges"].append("nobody.y -> one.x")
    with pytest.raises(ProjectError) as caught:
        munet.parse_project(json.dumps(document))
    assert {"wrong-value", "edge-unknown-node"} <= {problem.code for problem in caught.value.problems}


def test_a_batch_larger_than_the_data_is_a_remark():
    (remark,) = remarks(spiral(batch=1000))
    assert remark.found == "batch is 1000, but there are only 39 samples; a step takes all of them"
    assert remarks(spiral(batch=39)) == []


# -- sessions ----------------------------------------------------------------------------------------------------------


def test_a_parameter_that_a_wire_drives_cannot_be_set(tmp_path: Path):
    with munet.Session.open(spiral(), "cpu") as session:
        with pytest.raises(ProjectError, match='lr is driven by a wire, from "rate"'):
            session.set("learn", "lr", 0.5)
        session.set("learn", "beta1", 0.5)
    save_project(spiral(), tmp_path / "p.json")
    done = command("run", tmp_path / "p.json", "--device", "cpu", "--steps", "1", "--set", "learn.lr=0.5")
    assert done.returncode == 1 and "driven by a wire" in done.stderr


@pytest.fixture
def session():
    with munet.Session.open(xor(), "cpu") as opened:
        yield opened


@pytest.mark.parametrize("value", [np.float32(0.25), np.float64(0.25), np.array(0.25)], ids=lambda v: type(v).__name__)
def test_numpy_numbers_can_be_set(session: munet.Session, value: float):
    session.set("learn", "lr", value)
    assert session.live["learn.lr"] == 0.25


def test_whole_numpy_numbers_can_be_set_and_truth_values_cannot(session: munet.Session):
    session.set("learn", "lr", np.int64(1))
    with pytest.raises(ProjectError, match="finite number"):
        session.set("learn", "lr", np.bool_(True))  # pyright: ignore[reportArgumentType]  # that is the test


def test_one_node_to_predict_is_named_by_a_text(session: munet.Session):
    one, listed = session.predict(nodes="two"), session.predict(nodes=["two"])
    assert list(one) == list(listed) == ["two.y"]
    assert np.array_equal(one["two.y"], listed["two.y"])


def test_shipped_projects_open_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with munet.Session.open("xor", "cpu") as session:
        assert isinstance(session.graph, Graph)
    with pytest.raises(ProjectError, match="nowhere"):
        munet.Session.open("nowhere", "cpu")


def test_a_closed_session_says_so():
    with munet.Session.open(xor(), "cpu") as session:
        pass
    for call in (session.stop, session.pause, lambda: session.set("learn", "lr", 0.1)):
        with pytest.raises(MunetError, match="the session is closed"):
            call()


def test_registry_holds_only_named_things():
    assert all(name == declared.name for name, declared in REGISTRY.items())
