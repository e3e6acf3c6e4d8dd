"""The scanner, compiled, and its plain twin: bytes in, arrays out. No measure is known here by name."""
