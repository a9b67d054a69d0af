"""The typed HTTP client that the agent and the command line share.

Every call derives from an ``Endpoint`` of ``ostler.protocol``; this package adds only what a table cannot hold:
deadlines, retries, the circuit breaker and the transports that move bytes.
"""
