"""The only limit of time in the tests. It ends a process that hangs; a slow machine never reaches it."""

TIME_LIMIT = 3600  # seconds
