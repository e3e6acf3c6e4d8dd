"""What tools make of the same rankings, side by side, and why their figures differ."""
