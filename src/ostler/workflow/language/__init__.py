"""The language as data: which keys there are, what may stand below them, and which contexts are known where.

The checks walk a file along these shapes, and the JSON Schemas for editors are made of them, so the two cannot differ.
Documented behaviour of GitHub is the measure; each description here is short and our own.
"""
