"""How answers travel: JSON, JSON lines, and an end to the work when the client hangs up."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress

from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Json(Response):
    """One JSON document."""

    media_type = "application/json; charset=utf-8"

    def render(self, content: object) -> bytes:
        """The bytes of `content`."""
        return _line(content)


class NdJson(StreamingResponse):
    """JSON documents, one a line, sent as they come.

    `first` is there before the response begins, so that an error before any text still gets its
    own status; a later error is a line of its own, `{"error": …}`.
    """

    media_type = "application/x-ndjson"

    def __init__(
        self, first: Mapping[str, object], rest: AsyncGenerator[Mapping[str, object], None]
    ) -> None:
        self._first = first
        self._rest = rest
        super().__init__(self._lines())

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        yield _line(self._first) + b"\n"
        try:
            async for value in self._rest:
                yield _line(value) + b"\n"
        except Exception as error:  # noqa: BLE001 - the status is sent; a line is all that is left
            yield _line({"error": str(error)}) + b"\n"

    async def stream_response(self, send: Send) -> None:
        """Send the lines; when sending is given up, end the work behind them at once."""
        async with aclosing(self._rest):
            await super().stream_response(send)


class CancelOnDisconnect:
    """Cancels a request's handler when its client hangs up: queued, streaming or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the whole body, then run the handler and watch the connection side by side."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = [await receive()]
        while body[-1].get("more_body"):
            body.append(await receive())
        hung_up = asyncio.ensure_future(receive())
        handler = asyncio.ensure_future(self._app(scope, _replay(body, hung_up), send))
        try:
            await asyncio.wait({handler, hung_up}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            handler.cancel()  # no effect where it is done
            hung_up.cancel()
        with suppress(asyncio.CancelledError):
            await handler


def _replay(body: list[Message], hung_up: "asyncio.Future[Message]") -> Receive:
    async def receive() -> Message:
        return body.pop(0) if body else await asyncio.shield(hung_up)

    return receive
