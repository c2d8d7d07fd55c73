"""Losses: immutable objects with value, gradient and dual point. They do not know the solver."""
