"""`bg.serve`: a page of a fitted classifier, from a thread of this process."""

import html
import ipaddress
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bayesgen import arguments
from bayesgen.app.model import ServedModel
from bayesgen.errors import InvalidArgument
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.packages import require_pages
from bayesgen.estimators.classifier import Classifier
from bayesgen.report.subject import named

LOCAL = "127.0.0.1"
PORT, MOST_PORT = 8000, 65535
CONNECTIONS = 64
"""At once; more are refused."""


class Serving:
    """A page that answers until it is stopped; `with bg.serve(clf, wait=False) as page:` does so.

    Attributes:
        address: of the page.
    """

    def __init__(self, model: ServedModel, sock: socket.socket, hosts: list[str]) -> None:
        from uvicorn import Config, Server

        from bayesgen.app.server import application, prepare

        host, port = sock.getsockname()[:2]
        host = socket.gethostname() if ipaddress.ip_address(host).is_unspecified else host
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        prepare(model)
        quiet: Any = {"log_config": None, "log_level": "critical", "access_log": False}
        bounds: Any = {"limit_concurrency": CONNECTIONS, "timeout_graceful_shutdown": 1}
        app = application(model, hosts)
        self._server = Server(Config(app, server_header=False, **quiet, **bounds))
        self._thread = threading.Thread(target=self._server.run, args=([sock],), daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)

    def wait(self) -> None:
        """Wait until the page is stopped, or Ctrl-C."""
        with self:
            while self._thread.is_alive():
                self._thread.join(0.5)

    def stop(self) -> None:
        """Stop the page."""
        self._server.should_exit = True
        self._thread.join(10)

    def __enter__(self) -> "Serving":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        """Return where the page is."""
        return f"page at {self.address}"

    def _repr_html_(self) -> str:
        address = html.escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">{address}</a>'


def serve(
    clf: Classifier,
    *,
    host: str = LOCAL,
    port: int = PORT,
    title: str | None = None,
    notes: str = "",
    cost_of: Mapping[str, float | int] | None = None,
    served_as: Sequence[str] = (),
    wait: bool | None = None,
) -> Serving:
    """Serve a fitted classifier as a page with a form, to this machine unless told otherwise.

    The page has a field for each column, and answers at every change: the probability of each class
    with its interval, the prediction set, what to measure next, why, and whether the row is
    strange. `POST /predict` answers rows as JSON. Nothing that is typed is stored or logged.

    Args:
        clf: a fitted classifier.
        host: address of this machine to answer at; "0.0.0.0" answers to the whole network.
        port: number of the port; 0 takes a free one.
        title: of the page; None: the name of the classifier.
        notes: intended use and limits, as in `report_html`.
        cost_of: cost of measuring columns, by name, in the unit of the costs of decisions.
        served_as: names under which the page is asked for, beside localhost, numeric addresses and
            the name of this machine.
        wait: whether to wait until the page is stopped by Ctrl-C, after printing its address; None:
            unless Python is interactive, as in Jupyter.

    Returns:
        The page, with its `address` and `stop()`.

    Raises:
        MissingPackage: Starlette or uvicorn, which `pip install "bayesgen[app]"` brings.
        InvalidArgument: the port is taken; a cost of no column; no column, or too many.

    Example:
        >>> import json
        >>> from urllib.request import urlopen
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> with bg.serve(bg.NaiveBayes().fit(X, y), port=0, wait=False) as page:
        ...     json.load(urlopen(page.address + "health"))["columns"]
        ['sex', 'age', 'passengerClass']
    """
    require_pages()
    wait = arguments.one_of("wait", wait, [None, True, False])
    wait = not hasattr(sys, "ps1") if wait is None else wait
    model = ServedModel(clf, named(clf) if title is None else title, notes, cost_of or {})
    page = Serving(model, _listening(host, port), [host, socket.gethostname(), *served_as])
    if wait:
        print(f"bayesgen: {model.title} is at {page.address} (Ctrl-C ends it)", flush=True)
        page.wait()
    return page


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket at an address.

    Raises:
        InvalidArgument: another program has it, or there is no such address.
    """
    if not 0 <= port <= MOST_PORT:
        raise out_of_range("port", port, f"0 to {MOST_PORT}", f"Pass port={PORT}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        problem = "no page can answer at {host}, port {port}: {reason}."
        reason = getattr(error, "strerror", None) or str(error)
        cure = "Choose another port, such as {other}."
        other = PORT + 1 if port == PORT else PORT
        told = {"host": host, "port": port, "reason": reason.lower(), "other": other}
        raise InvalidArgument(problem, cure, **told) from None
