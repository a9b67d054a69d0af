"""What can go wrong with a part before the test that wanted it has begun."""


class PartMissing(Exception):
    """This machine lacks a program that a test needs; the message says which, and how to get it."""


class PartFailed(Exception):
    """A part was there but did not start or did not obey; the message ends with the tail of its log."""
