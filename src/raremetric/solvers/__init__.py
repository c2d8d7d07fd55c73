"""Solvers: each one minimizes a loss that it receives, and knows nothing about classes."""
