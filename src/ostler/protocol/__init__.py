"""The wire: frozen messages, endpoints as data and problems with stable codes.

Nothing here sends or receives. The server's routes, the client's calls, the OpenAPI document and the reference pages
are all derived from ``v1.table.ENDPOINTS``, which is why they cannot drift apart.
"""
