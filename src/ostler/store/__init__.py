"""Everything that outlives a process: plain synchronous functions over one connection, one transaction each.

A file per noun holds the noun's statements; `database.Database` runs them on SQLite or PostgreSQL. State machines
live in `ostler.domain`: a function here loads and locks rows, asks the domain what an event means, and writes the
answer with guarded updates, effects included (`transitions`).

Why the queue is fast: a waiting job belongs to a *demand class* (pool, kind, labels, pinned runner, isolation).
Which classes a runner matches is decided in memory by `ostler.scheduling`; claiming is then a range read at the
front of a partial index, whose cost does not depend on how much waits. Many runners are served by one transaction.

Locks are taken in one order: attempts with their jobs by id, then runs by id. No lock is held across an await.
"""
