"""Scoring: options, requests, and the one function that turns lists into scores."""
