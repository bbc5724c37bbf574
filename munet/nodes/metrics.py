"""Metrics: numbers recorded each step that nothing is trained on."""

from __future__ import annotations

from munet.engine.builder import Builder
from munet.engine.ir.module import Value
from munet.engine.operator import Input, layer
from munet.nodes.arithmetic import cast, equal
from munet.nodes.reductions import argmax, mean


@layer(
    "accuracy",
    category="Metrics",
    inputs={"logits": Input("*any c", "T:float"), "label": Input("*any", "I:integer")},
    outputs=("accuracy",),
    role="metric",
)
def accuracy(b: Builder, logits: Value, label: Value) -> Value:
    """Share of samples whose largest logit is at the label; the first of equal logits counts."""
    return mean(cast(equal(argmax(logits), cast(label, dtype="i32")), dtype="f32"))
