"""Executors: they replay programs and decide nothing."""
