"""Planning: levels of passes, lifetimes, aliases, byte offsets. Values in, placements out; no kernel is chosen here."""
