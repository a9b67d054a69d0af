"""The workflow language: what a file says, whether it is right, and which jobs it asks for.

Pure functions over values. `patterns` matches the names of branches, tags and files; `filters` decides with them
whether an event starts a workflow.
"""
