"""What the GPU does in one step of training: its passes, the shader of one, the memory plan, and where the time goes.

python examples/reading_the_pass_list.py [steps]
"""

from __future__ import annotations

import sys
from pathlib import Path

import munet

PROJECT = Path(__file__).resolve().parents[1] / "projects" / "spiral_mlp.json"


def main(steps: int = 50) -> None:
    with munet.Session.open(PROJECT) as session:
        session.step(steps)
        for p in session.passes:
            print(f"level {p.level}  {p.name:50}  {p.kernel:12}  {', '.join(p.nodes)}")
            print(f"         grid {p.grid}, {p.flops:,} flops, {p.bytes_read + p.bytes_written:,} bytes; {p.reason}")

        index, shader = next(iter(munet.inspect.glsl_of(session.program, "loss").items()))
        print(f"\nThe shader of pass {index}, which computes the loss, has {len(shader.splitlines())} lines; what it does:")
        print(munet.inspect.ir_of(session.program, "loss")[index])

        plan = session.memory_plan
        print(f"\nAll buffers: {plan.total_bytes:,} bytes. Values that share bytes with another one:")
        for value in plan.values:
            for sharing in value.shares:
                if value.role == "temporary" and sharing.value > value.index:
                    other = plan.values[sharing.value]
                    print(f"  {value.name} ({value.node}) and {other.name} ({other.node}): {sharing.reason}")

        timings = session.profile(steps=5)
        print(f"\nPass by pass a step takes {timings.serialised_us:,.0f} us:")
        for node in timings.nodes[:5]:
            times = f"forward {node.forward_us:6.1f}  backward {node.backward_us:6.1f}  update {node.update_us:6.1f}"
            print(f"  {node.node or '(none)':14} {times}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
