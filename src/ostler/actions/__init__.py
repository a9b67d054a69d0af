"""Executing the steps of a workflow's job on a runner: contexts, commands, files, shells, and the actions they use.

It decides which command runs next and what its output means; starting and ending processes is left to whoever drives
it, so that the same code runs below a supervisor and under a test.
"""
