"""What a new version of a system does to its users: what changed, and whether it is worse."""
