"""Ostler: an open, self-hosted runner platform."""

__version__ = "0.1.0"
