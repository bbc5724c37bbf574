"""The hook that hears how far compiling is: stages in order, fractions that only grow, and giving up without a trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from munet import DeviceUnavailable, Graph, Session, load_project
from munet.engine.execute.choose import device_info

PROJECTS = Path(__file__).resolve().parents[2] / "projects"


class GivenUp(Exception):
    pass


class Hook:
    """Notes what it hears; raises when a stage begins so."""

    def __init__(self, end: str = ""):
        self.heard: list[tuple[str, float]] = []
        self._end = end

    def __call__(self, stage: str, fraction: float) -> None:
        self.heard.append((stage, fraction))
        if self._end and stage.startswith(self._end):
            raise GivenUp(stage)

    @property
    def stages(self) -> list[str]:
        return list(dict.fromkeys(stage.split(" ")[0] for stage, _ in self.heard))


def devices() -> list[str]:
    try:
        device_info("auto")
    except DeviceUnavailable:
        return ["cpu"]
    return ["cpu", "auto"]


def xor() -> Graph:
    return load_project(PROJECTS / "xor.json")


def wider() -> Graph:
    graph = xor()
    node = replace(graph.nodes["linear 1"], params={"out_features": 11})
    return replace(graph, nodes={**graph.nodes, "linear 1": node})


@pytest.mark.parametrize("device", devices())
def test_opening_and_replacing_tell_how_far_they_are(device: str):
    opening, replacing = Hook(), Hook()
    with Session.open(xor(), device, progress=opening) as session:
        session.step(3)
        session.replace(wider(), progress=replacing)
    for hook in (opening, replacing):
        fractions = [fraction for _, fraction in hook.heard]
        assert fractions == sorted(fractions) and fractions[0] == 0.0 and 0.9 < fractions[-1] <= 1.0
        assert [stage for stage in hook.stages if stage in ("lowering", "fusing", "planning", "writing", "loading")] == [
            "lowering", "fusing", "planning", "writing", "loading",
        ]  # fmt: skip
        if device != "cpu":
            counts = [stage.rsplit(" ", 1)[1] for stage, _ in hook.heard if stage.startswith("compiling shaders")]
            total = int(counts[-1].partition("/")[2])
            assert counts == [f"{done}/{total}" for done in range(total + 1)]


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("stage", ["lowering", "fusing", "writing", "compiling", "loading data"])
def test_a_hook_that_raises_ends_it_and_the_session_goes_on_as_it_was(device: str, stage: str):
    if device == "cpu" and stage == "compiling":
        stage = "loading"  # the reference compiles no shaders
    with pytest.raises(GivenUp):
        Session.open(xor(), device, progress=Hook(stage))
    with Session.open(xor(), device) as session, Session.open(xor(), device) as other:
        for each in (session, other):
            each.step(4)
        with pytest.raises(GivenUp):
            session.replace(wider(), progress=Hook(stage))
        assert session.graph == xor()
        assert session.step(3) == other.step(3)
        carried = session.replace(wider())
        assert "linear 2/bias" in carried.kept and "linear 1/weight" in carried.started
        session.step(2)
