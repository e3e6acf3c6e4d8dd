"""The seven numeric properties of measures, decided by program.

A search over every small ranking refutes a property with its smallest counterexample, or finds none; a proof from the
form of the measure settles it for rankings of any size.

Moffat, Seven numeric properties of effectiveness metrics, AIRS 2013.
"""
