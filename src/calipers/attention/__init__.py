"""Attention that rankings give to documents and to groups of documents."""
