"""Executing the job of a workflow: which command runs next, and what its output means.

Nothing here starts a process, waits, or reads a clock: whoever drives a job implements ``machine.Machine`` and resumes
the job's tasks. The same rules therefore hold under a supervisor and in a test that plays a script.

Reading order: ``machine`` (what the driver gives), ``job`` (the order of everything), ``step`` (one step's life),
``script``, ``node`` and ``composite`` (what a step may be), ``background``; beside them what they share:
``scope`` and ``evaluation`` (contexts and expressions), ``environment``, ``shells``, ``commands``, ``output``,
``matchers`` and ``file_commands`` (how steps talk back).
"""
