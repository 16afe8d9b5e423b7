"""The addresses of a page: its form, parts of its answers, and JSON."""

import asyncio
import sys
import traceback
import warnings
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import resources
from typing import TypeVar, cast
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bayesgen import page
from bayesgen.app.answers import PARTS, Values, probabilities
from bayesgen.app.bodies import MOST_BYTES, case_of_fields, case_of_form, once, rows_of_json
from bayesgen.app.guard import Guard
from bayesgen.app.model import Case, ServedModel, sentence
from bayesgen.errors import BayesgenError

T = TypeVar("T")
FILES = {"bedside.css": "text/css", "bedside.js": "text/javascript"}
MOST_EXPLAINED = 10
"""Rows of a request that are explained."""
MOST_WAITING = 64
"""Questions that wait; each of several people asks one at a time."""
LEFT = 499
"""Status of a question whose asker has left; nobody reads it."""
ONE = ThreadPoolExecutor(1, "bayesgen answers")
"""The thread that answers: one a process, since catching warnings is not for several."""
WAITING: list[Future] = []
"""Its questions."""


def percent(share: float) -> str:
    """Return a probability in percent."""
    if 0.001 <= share <= 0.999:
        return f"{100 * share:.1f} %"
    return "under 0.1 %" if share < 0.5 else "over 99.9 %"


class Page:
    """The handlers of one served model."""

    def __init__(self, model: ServedModel) -> None:
        self.model, self.files = model, resources.files("bayesgen.app")
        self.page = page.template("bayesgen.app", "bedside.html", {"percent": percent})
        self.parts = page.template("bayesgen.app", "parts.html", {"percent": percent})

    async def form(self, request: Request) -> Response:
        """Answer the page: empty, or as a browser without script posts it, with all answers."""
        body = await _body(request)
        typed = dict(parse_qsl(body.decode(errors="replace")))
        found, refusal = await self._found(request, body, PARTS if body else ())
        html = self.page(model=self.model, typed=typed, found=found, refusal=refusal)
        return HTMLResponse(html, 422 if refusal else 200)

    async def part(self, request: Request) -> Response:
        """Answer one part of the answers to a form, as HTML."""
        if (name := request.path_params["name"]) not in PARTS:
            raise HTTPException(404, "there is no such part")
        found, refusal = await self._found(request, await _body(request), [name])
        html = self.parts(model=self.model, found=found, refusal=refusal)
        return HTMLResponse(html, 422 if refusal else 200)

    async def predict(self, request: Request) -> Response:
        """Answer rows as JSON; `?with=strange,why,next` explains a few rows too.

        The address may state a prevalence and costs, in the fields of the page.
        """
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise HTTPException(415, "the content type application/json is needed")
        body, fields = await _body(request), once(request.query_params.multi_items())
        more = fields.pop("with", "").split(",")
        if not {*more} <= {"", "strange", "why", "next"}:
            raise HTTPException(422, "with= takes strange, why and next")
        case = case_of_fields(fields, self.model, {})
        rows = await _asked(request, lambda: rows_of_json(body, self.model))
        if any(more) and len(rows) > MOST_EXPLAINED:
            raise HTTPException(422, f"with= explains {MOST_EXPLAINED} rows of a request at most")
        answers, remarks = await _asked(request, lambda: probabilities(self.model, rows, case))
        for row, found in zip(rows, answers, strict=True) if any(more) else ():
            found |= {name: await self._part(request, name, case.of(row)) for name in more}
        return JSONResponse({"answers": answers, "remarks": remarks})

    async def health(self, request: Request) -> Response:
        """Answer that the model can be asked, and its columns and classes."""
        facts = {"columns": self.model.names, "classes": list(map(str, self.model.labels))}
        return JSONResponse({"status": "ok", "version": self.model.version, **facts})

    async def file(self, request: Request) -> Response:
        """Answer the style or the script."""
        name = request.url.path[1:]
        return Response(self.files.joinpath(name).read_bytes(), media_type=FILES[name])

    async def _found(
        self, request: Request, body: bytes, names: Collection[str]
    ) -> tuple[dict[str, Values], str]:
        """Return parts of the answers to a form, or why there are none."""
        try:
            case = case_of_form(body, self.model)
            return {name: await self._part(request, name, case) for name in names}, ""
        except BayesgenError as error:
            return {}, sentence(error)

    async def _part(self, request: Request, name: str, case: Case) -> Values:
        return await _asked(request, lambda: PARTS[name](self.model, case))


async def _asked(request: Request, question: Callable[[], T]) -> T:
    """Return what the one thread answers; a question that waits is skipped if its asker leaves.

    Raises:
        HTTPException: the asker has left, or too many questions wait.
    """
    WAITING[:] = [future for future in WAITING if not future.done()]
    if len(WAITING) >= MOST_WAITING:
        raise HTTPException(503, "many questions wait; ask again in a moment")
    WAITING.append(future := ONE.submit(_quietly, question))
    answer, gone = asyncio.wrap_future(future), asyncio.create_task(_until_gone(request))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise HTTPException(LEFT)
        return cast(T, answer.result())
    finally:
        answer.cancel()
        gone.cancel()


def _quietly(question: Callable[[], object]) -> object:
    """Return an answer; its warnings, which may quote cells, are remarks of it, or lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return question()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        HTTPException: it is too long.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"a request may have {MOST_BYTES:,} bytes at most")
    return bytes(body)


def _safe(handler: Callable[[Request], Awaitable[Response]]) -> Callable:
    """Return a handler whose errors are one sentence.

    Of others than ours the terminal shows kind and place, and no message, which may quote a cell.
    """

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except BayesgenError as error:
            words, status = sentence(error), 422
        except HTTPException as error:
            words, status = error.detail, error.status_code
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} at {place.filename}:{place.lineno}"
            print(f"bayesgen: {kind}", file=sys.stderr, flush=True)
            words, status = "something went wrong; the terminal of this page says where", 500
        return JSONResponse({"error": words}, status)

    return answered


def prepare(model: ServedModel) -> None:
    """Ask once, while nobody waits, what a fit computes for its first answers alone."""
    ONE.submit(_quietly, lambda: [PARTS[name](model, Case({})) for name in ("answer", "strange")])


def application(model: ServedModel, hosts: Collection[str]) -> Guard:
    """Return the page of a model as an ASGI application.

    Args:
        model: what is served.
        hosts: names under which the page may be asked for, beside numeric addresses.
    """
    own = Page(model)
    routes = [
        Route("/", _safe(own.form), methods=["GET", "POST"]),
        Route("/part/{name}", _safe(own.part), methods=["POST"]),
        Route("/predict", _safe(own.predict), methods=["POST"]),
        Route("/health", _safe(own.health)),
        *(Route(f"/{name}", _safe(own.file)) for name in FILES),
    ]
    return Guard(Starlette(routes=routes), hosts)
