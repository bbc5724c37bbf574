"""Speed, always with correctness first, and PyTorch in the same run where it is installed: `python -m benchmarks`."""
