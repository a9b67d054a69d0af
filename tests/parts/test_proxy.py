"""The network's faults arrive as the faults they claim to be."""

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.parts.ports import LOOPBACK
from tests.parts.proxy import TO_CLIENT, TO_SERVER, TcpProxy

PATIENCE_SECONDS = 10.0


class Echo:
    """A server that sends back what it gets, and says goodbye when it has got everything."""

    def __init__(self) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE_SECONDS)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    @staticmethod
    def _echo(connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(65536):
                    connection.sendall(data)
                connection.sendall(b"bye")
            except OSError:
                return


@pytest.fixture
def network() -> Iterator[TcpProxy]:
    echo = Echo()
    with TcpProxy(echo.port) as proxy:
        yield proxy
    echo.close()


def connect(network: TcpProxy) -> socket.socket:
    return socket.create_connection((LOOPBACK, network.port), timeout=PATIENCE_SECONDS)


def receive(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (more := connection.recv(count - len(data))):
        data += more
    return data


def test_passes_bytes_and_ends_through(network: TcpProxy) -> None:
    with connect(network) as connection:
        connection.sendall(b"x" * 300_000)
        assert receive(connection, 300_000) == b"x" * 300_000
        connection.shutdown(socket.SHUT_WR)
        assert receive(connection, 10) == b"bye"
    network.wait_connections(0)
    assert network.passed(TO_SERVER) == 300_000
    assert network.passed(TO_CLIENT) == 300_003


def test_cut_resets_and_refuses_until_mended(network: TcpProxy) -> None:
    with connect(network) as connection:
        network.wait_connections(1)
        network.cut()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(network)
    network.mend()
    with connect(network) as connection:
        connection.sendall(b"again")
        assert receive(connection, 5) == b"again"


def test_a_one_way_blackhole_swallows_answers_and_mends(network: TcpProxy) -> None:
    with connect(network) as connection:
        network.wait_connections(1)
        network.blackhole(TO_CLIENT)
        connection.sendall(b"hello")
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        assert network.passed(TO_SERVER) == 5
        network.mend()
        connection.settimeout(PATIENCE_SECONDS)
        assert receive(connection, 5) == b"hello"


def test_closes_after_a_number_of_bytes(network: TcpProxy) -> None:
    network.close_after(3, TO_CLIENT)
    with connect(network) as connection:
        connection.sendall(b"hello")
        with pytest.raises(ConnectionResetError):
            receive(connection, 5)
        assert network.passed(TO_CLIENT) == 0


def test_half_closes_one_direction(network: TcpProxy) -> None:
    with connect(network) as connection:
        connection.sendall(b"hello")
        assert receive(connection, 5) == b"hello"
        network.half_close(TO_SERVER)
        assert receive(connection, 10) == b"bye"


def test_delays_and_throttles(network: TcpProxy) -> None:
    network.delay(0.05, TO_SERVER)
    network.throttle(1_000_000, TO_CLIENT)
    with connect(network) as connection:
        connection.sendall(b"x" * 100_000)
        connection.settimeout(0.04)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(PATIENCE_SECONDS)
        assert receive(connection, 100_000) == b"x" * 100_000
