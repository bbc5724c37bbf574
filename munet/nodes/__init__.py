"""The operator library: one file per palette category. Importing it fills the registry."""

from munet.nodes import (  # noqa: F401  # imported for what they declare
    activations,
    arithmetic,
    convolution,
    indexing,
    layers,
    linear,
    losses,
    metrics,
    optimisers,
    plumbing,
    pooling,
    reductions,
    schedules,
    shape_ops,
    sources,
)
