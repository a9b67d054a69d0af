"""What can go wrong with a call besides the connection (``transport.TransportError``), each with a stable code."""

from ostler.protocol.problem import Problem


class ClientError(Exception):
    """Any failure of this package that is not the connection's."""

    code = "client_failed"


class ProblemError(ClientError):
    """The server answered with a problem. Its text is the cause and the fix, as people should read them."""

    def __init__(self, problem: Problem) -> None:
        said = f"{problem.title}: {problem.detail}" if problem.detail else problem.title
        super().__init__(f"{said}. {problem.fix}" if problem.fix else said)
        self.problem = problem
        self.code = problem.code


class CircuitOpen(ClientError):
    """Nothing was sent: the last calls all failed, and the server is left alone for a while."""

    code = "circuit_open"

    def __init__(self, wait_seconds: float) -> None:
        super().__init__(f"the server failed repeatedly; the next attempt is in {wait_seconds:.0f} s")
        self.wait_seconds = wait_seconds


class ReplyMalformed(ClientError):
    """The reply is not what the endpoint promises: usually something else answered in the server's place."""

    code = "reply_malformed"

    def __init__(self, endpoint: str, reason: str) -> None:
        super().__init__(
            f"the reply of {endpoint} is not readable ({reason}); is the address that of an Ostler server?"
        )
        self.endpoint = endpoint
        self.reason = reason


class AddressMalformed(ClientError):
    """A server's or a proxy's address cannot be used."""

    code = "address_malformed"
