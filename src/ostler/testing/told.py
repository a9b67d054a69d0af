"""An agent's transport that remembers which results the server has said it has.

What the server tells a runner is only a fact once the reply has arrived, so it is read where the reply arrives.
"""

from collections.abc import AsyncIterator

import msgspec

from ostler.client.transport import HttpRequest, HttpResponse, Transport
from ostler.protocol.v1.runner_messages import FinishRequest
from ostler.protocol.v1.table import FINISH
from ostler.testing.history import History

_decode = msgspec.json.Decoder(FinishRequest).decode


class ToldTransport:
    """See `ostler.client.transport.Transport`."""

    def __init__(self, inner: Transport, history: History) -> None:
        self._inner = inner
        self._history = history

    async def send(self, request: HttpRequest) -> HttpResponse:
        response = await self._inner.send(request)
        if request.path == FINISH.path and response.status == FINISH.status:
            finish = _decode(request.body)
            self._history.acknowledged(finish.job_id, finish.fence, finish.conclusion)
        return response

    def stream(self, request: HttpRequest) -> AsyncIterator[bytes]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()
