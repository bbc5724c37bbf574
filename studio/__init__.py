"""The studio: the editor in a window. It uses the public API of `munet`, never the inside of its engine."""
