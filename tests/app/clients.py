"""Models that pages serve, and a client that asks them without a network."""

import asyncio
import dataclasses
import json
from urllib.parse import urlencode

from bayesgen.app.model import ServedModel
from bayesgen.app.server import application

JSON = {"content-type": "application/json"}


def served(clf, **options):
    """Return a model with its fields; options: title, notes, cost_of."""
    stated = {"title": "Test", "notes": "", "cost_of": {}} | options
    return ServedModel(clf, *stated.values())


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a page answers."""

    status: int
    headers: dict
    text: str

    def json(self):
        return json.loads(self.text)


class Client:
    """A client of the page of a classifier."""

    def __init__(self, clf, **options):
        self.app = application(served(clf, **options), ["here"])

    def get(self, path, **headers):
        return self.ask("GET", path, b"", headers)

    def rows(self, rows, path="/predict", **headers):
        """Ask about rows as JSON, or about text that shall be JSON."""
        body = rows if isinstance(rows, str | bytes) else json.dumps(rows)
        return self.ask("POST", path, body, JSON | headers)

    def form(self, fields, path="/", **headers):
        return self.ask("POST", path, urlencode(fields), headers)

    def ask(self, method, path, body, headers):
        return asyncio.run(self.answer(method, path, body, headers))

    async def answer(self, method, path, body=b"", headers=None, leaves=None):
        """Return what is answered; leaves: an event after which the asker is gone."""
        path, _, query = path.partition("?")
        body = body.encode() if isinstance(body, str) else body
        named = {"host": "here"} | (headers or {})
        scope = {
            **{"type": "http", "method": method, "path": path, "query_string": query.encode()},
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        }
        parts = [body[i : i + 60_000] for i in range(0, len(body), 60_000)] or [b""]
        sent, gone = [], asyncio.Event() if leaves is None else leaves

        async def receive():
            if parts:
                return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        return Answer(sent[0]["status"], found, text)
