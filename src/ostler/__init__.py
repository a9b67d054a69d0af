"""Ostler: an open, self-hosted runner platform."""
