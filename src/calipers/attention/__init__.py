"""What attention documents and groups of them get from rankings."""
