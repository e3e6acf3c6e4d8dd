"""What the unjudged documents could still change, and which of them to judge next."""
