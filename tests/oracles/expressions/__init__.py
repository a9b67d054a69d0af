"""Ostler's expressions against GitHub's own evaluator, over random expressions and contexts.

``python -m tests.oracles.expressions --count 100000 --seed 1`` compares value, type and whether it is an error. What
differs for a known reason is counted under that reason (``differences``); anything else is printed and fails.
"""
