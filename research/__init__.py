"""The papers behind Calipers: their printed figures, and their experiments on any data. `python -m research --help`."""
