"""Ways to run a job's commands: the contract they share, and one module for each.

Loaded into every supervisor, whose memory is counted, so nothing here imports more than a few light modules of the
standard library.
"""
