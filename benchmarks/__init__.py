"""Speed and memory, ours and the other tools', on the same files in one go: `python -m benchmarks`."""
