"""The handlers of the endpoint table, one file per noun: decode nothing, decide nothing, call the store and the domain.

Each class gets its parts in the constructor and offers ``handlers()``, the rows of the table that it serves.
"""
