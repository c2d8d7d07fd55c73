"""Minimisers: each receives a callable and knows neither classes nor pairs."""
