"""The operator library: one file per palette category. Importing it fills the registry."""

from munet.nodes import (  # noqa: F401  # imported for what they declare
    activations,
    arithmetic,
    convolution,
    functions,
    indexing,
    layers,
    linear,
    logic,
    losses,
    metrics,
    normalisation,
    optimisers,
    plumbing,
    pooling,
    random,
    reductions,
    schedules,
    shape_ops,
    sources,
)
