"""The control plane: use cases over the store, served as one ASGI application.

Any number of equal replicas may run over one PostgreSQL; nothing here keeps a fact that another replica could not
read. What is held in memory (waiting polls, queue heads, followers) is a cache that a lost hint only delays.
"""
