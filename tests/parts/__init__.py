"""Real servers that tests can start and break: a database, an object store, and a network that misbehaves.

They exist because a fake of PostgreSQL or S3 agrees with whoever wrote the fake. Everything here listens on loopback
only, lives in a temporary directory, and is gone when the process that started it is, however that process ended.
"""
