"""Benchmarks: scripts that are run from the root of the repository."""
