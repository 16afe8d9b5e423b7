"""What stands before every address: the names it is asked under, and headers."""

import contextlib
import ipaddress
from collections.abc import Collection

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# without a referrer to itself a browser without script would post its form as from nowhere
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses foreign names and sites, and adds the headers of every answer.

    A site may reach a local address under a name of its own (DNS rebinding), or post to it from its
    pages. A numeric address cannot be such a name.

    Args:
        app: the application.
        hosts: names under which it answers, beside localhost and numeric addresses.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app, self.hosts = app, {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app = self._answering(Request(scope)) if scope["type"] == "http" else self.app
        await app(scope, receive, with_headers)

    def _answering(self, request: Request) -> ASGIApp:
        """Return the application, or a refusal."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
        before, _, port = host.rpartition(":")
        name = (before if port.isdigit() and before else host).strip("[]").lower()
        here = name in self.hosts
        with contextlib.suppress(ValueError):
            here = here or bool(ipaddress.ip_address(name))
        if not here:
            return JSONResponse({"error": "this page does not answer under that name"}, 421)
        if origin and origin.partition("://")[2].lower() != host.lower():
            return JSONResponse({"error": "another site may not ask this page"}, 403)
        return self.app
