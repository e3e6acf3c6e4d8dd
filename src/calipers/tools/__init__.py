"""Our measures inside other packages: while a model is trained, and where another tool evaluates."""
