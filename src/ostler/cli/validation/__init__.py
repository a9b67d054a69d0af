"""The parts of ``ostler validate``: which files are meant, what was found in one, and how it is told."""
