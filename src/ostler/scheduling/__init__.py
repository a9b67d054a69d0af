"""Deciding what runs where, as pure functions over values: no I/O, no clock, no database.

`demand` answers which waiting work a runner may take; `waiting` explains why a job is not running.
"""
