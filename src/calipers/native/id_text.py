"""Ids as text and as bytes; bytes that are no UTF-8 survive the way there and back."""

from __future__ import annotations


def encode(identifier: bytes | str) -> bytes:
    return identifier if isinstance(identifier, bytes) else identifier.encode("utf-8", "surrogateescape")


def decode(identifier: bytes) -> str:
    return identifier.decode("utf-8", "surrogateescape")
