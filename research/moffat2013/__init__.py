"""Moffat (2013), Seven numeric properties of effectiveness metrics."""
