"""Keeps the unit tests honest: whoever opens a connection here tests something that belongs to another folder.

Socket pairs stay allowed, because every asyncio loop wakes itself through one.
"""

import socket

import pytest


def _refuse(*arguments: object, **options: object) -> None:
    raise AssertionError("a unit test does no I/O: this one belongs to tests/contract or tests/e2e")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every way to reach another process fail with an explanation."""
    for method in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, method, _refuse)
    for function in ("create_connection", "create_server", "getaddrinfo"):
        monkeypatch.setattr(socket, function, _refuse)
