"""Train a shipped project from Python, look at the result, keep it, and go on from there.

python examples/library_use.py [steps]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import munet

PROJECT = Path(__file__).resolve().parents[1] / "projects" / "spiral_mlp.json"


def main(steps: int = 300) -> None:
    with tempfile.TemporaryDirectory() as folder, munet.Session.open(PROJECT) as session:
        print(f"on {session.executor.info.name}: {session.program.pass_count} passes a step")
        for event in session.train(steps):
            if isinstance(event, munet.Progress):
                print(f"step {event.step}: loss {event.metrics['loss']:.4f}, {event.steps_per_second:,.0f} steps/s")
        print("held out:", session.evaluate())

        # Any number of points: the source "spirals" is replaced by an array.
        points = np.array([[0.0, 0.5], [0.5, 0.0], [-0.5, -0.5]], np.float32)
        logits = session.predict({"spirals": points})["linear 3.y"]
        print("arms of three points:", logits.argmax(axis=1))

        checkpoint = Path(folder) / "spiral.safetensors"
        session.save(checkpoint)
        session.load(checkpoint)  # moments, step and order of the samples included
        print("going on at step", session.step_count)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
