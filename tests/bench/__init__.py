"""Measuring against the goals: `python -m tests.bench` prints every figure beside its floor, and never fails a build.

See README.md here for how to add a figure and how to read the table.
"""
