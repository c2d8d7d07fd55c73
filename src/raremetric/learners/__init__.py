"""Metric learners, one module for each."""
