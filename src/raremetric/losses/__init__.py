"""Losses: value and gradient. An objective does not know its solver."""
