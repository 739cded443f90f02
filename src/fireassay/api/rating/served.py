"""How is a page for raters served on this machine?

By http.server of the standard library, on loopback alone.  Refused is: a Host that does not name this server (DNS rebinding); any request without
the token that the address holds, and any change without it in a header of its own and with JSON as its type, which no foreign page can send (CSRF); a body
above 4 KiB; any path but the page's four files, its images by number, and three calls.  Names of sides and of files are never sent: a rater
sees "left" and "right".  Texts reach the page as JSON and are shown as text; the content security policy allows the page's own script, style
and images, and nothing else.

    GET  /                       the page
    GET  /next                   {"number", "total", "done", "prompt", "shown": [{"text"} or {"image"}], "mode", "last"}
    GET  /image/NUMBER/PLACE     an image of a thing, in this rater's order
    POST /answer                 {"number", "answer"}: kept on the disk, then what is next; 409: the page is not where the rater is
    POST /undo                   the last answer taken back
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from fireassay.api.rating.items import RatedItem, Shown, type_of
from fireassay.api.rating.sheet import Sheet, Turn

MAX_BODY: Final = 4096
IDLE_S: Final = 60.0  # a connection that says nothing is closed
LOOPBACK: Final = "127.0.0.1"
KEY: Final = "X-Assay-Key"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ASSETS: Final = {"/": ("page.html", "text/html"), "/page.js": ("page.js", "text/javascript"), "/page.css": ("page.css", "text/css")}


@dataclass(frozen=True, kw_only=True)
class Rating:
    """What is served: the items by id, where raters stand, and the token of the address."""

    items: dict[str, RatedItem]
    sheet: Sheet
    token: str
    kept: Callable[[], None]  # called after every answer that was kept


class Refused(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def server(rating: Rating, port: int) -> ThreadingHTTPServer:
    """A server that listens on loopback. Raises OSError: the port is taken."""
    made = _Server((LOOPBACK, port), partial(Handler, rating))
    return made


class _Server(ThreadingHTTPServer):
    """Asks no name server what it is called."""

    daemon_threads = True

    def server_bind(self) -> None:
        """As of its base, without its look-up."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "assay", ""
    timeout = IDLE_S

    def __init__(self, rating: Rating, *arguments: Any) -> None:
        self.rating = rating
        super().__init__(*arguments)

    def log_message(self, *_: Any) -> None:
        """Nothing: addresses hold the token."""

    def do_GET(self) -> None:
        """The page, its state, an image."""
        self._answered(self._get)

    def do_POST(self) -> None:
        """An answer, or one taken back."""
        self._answered(self._post)

    def _answered(self, work: Callable[[str, dict[str, str]], tuple[bytes, str]]) -> None:
        try:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query, max_num_fields=8).items()}
            self._trusted_host()
            content, kind = work(parts.path, query)
        except Refused as refused:
            self.close_connection = True  # a body may be left unread
            self._send(refused.status, str(refused).encode(), "text/plain")
        except ValueError:
            self.close_connection = True
            self._send(400, b"no such address", "text/plain")
        else:
            self._send(200, content, kind)

    def _trusted_host(self) -> None:
        port = self.connection.getsockname()[1]
        if self.headers.get("Host", "") not in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
            raise Refused(421, "another host's name")

    def _get(self, path: str, query: dict[str, str]) -> tuple[bytes, str]:
        if path == "/favicon.ico":  # which every browser asks for
            return b"", "image/x-icon"
        if path in ASSETS:  # the same for everybody: they hold nothing
            name, kind = ASSETS[path]
            return files("fireassay.api.rating").joinpath(name).read_bytes(), f"{kind}; charset=utf-8"
        self._entitled(query.get("key", ""))
        rater = query.get("rater", "")
        if path == "/next":
            return self._state(self._at(lambda: self.rating.sheet.turn(rater)))
        if path.startswith("/image/"):
            return self._image(rater, path.removeprefix("/image/"))
        raise Refused(404, "no such page")

    def _post(self, path: str, _: dict[str, str]) -> tuple[bytes, str]:
        self._entitled(self.headers.get(KEY, ""))
        if self.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise Refused(415, "JSON only")
        body = self._body()
        rater, number, answer = (body.get(name) for name in ("rater", "number", "answer"))
        if not isinstance(rater, str):
            raise Refused(400, "no rater")
        if path == "/undo":
            turn = self._at(lambda: self.rating.sheet.undo(rater))
        elif path == "/answer" and isinstance(answer, str) and isinstance(number, int):
            turn = self._at(lambda: self.rating.sheet.answer(rater, number, answer))
        else:
            raise Refused(404, "no such call")
        self.rating.kept()
        return self._state(turn)

    def _entitled(self, key: str) -> None:
        if not hmac.compare_digest(key.encode(), self.rating.token.encode()):
            raise Refused(403, "the address has another key: copy it from the terminal")

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or len(length) > 6 or int(length) > MAX_BODY:
            raise Refused(413, f"a body of at most {MAX_BODY} bytes")
        try:
            found = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(400, "no JSON") from None
        if not isinstance(found, dict):
            raise Refused(400, "no object")
        return found

    def _at(self, work: Callable[[], Turn]) -> Turn:
        try:
            return work()
        except ValueError as error:
            raise Refused(409 if "not at" in str(error) else 400, str(error)) from None
        except OSError as error:
            raise Refused(507, f"the file cannot be written ({error.strerror})") from None

    def _state(self, turn: Turn) -> tuple[bytes, str]:
        state: dict[str, Any] = {
            "done": turn.done,
            "total": turn.total,
            "mode": self.rating.sheet.mode,
            "number": turn.number,
            "last": bool(turn.done),
        }
        if turn.thing is not None:
            item = self.rating.items[turn.thing.item]
            shown = [item.sides[side] for side in turn.thing.sides]
            state["prompt"] = item.prompt
            state["shown"] = [
                {"image": f"/image/{turn.number}/{place}"} if one.image is not None else {"text": one.text}
                for place, one in enumerate(shown)
            ]
        return json.dumps(state).encode(), "application/json"

    def _image(self, rater: str, place: str) -> tuple[bytes, str]:
        number, _, side = place.partition("/")
        if not (number.isascii() and number.isdigit() and side in ("0", "1")):
            raise Refused(404, "no such image")
        thing = self.rating.sheet.thing(rater, int(number[:9]))  # a ValueError of a bad code is answered with 400
        if thing is None or int(side) >= len(thing.sides):
            raise Refused(404, "no such image")
        return _content(self.rating.items[thing.item].sides[thing.sides[int(side)]])

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


def _content(shown: Shown) -> tuple[bytes, str]:
    """An image's bytes; refused if the file is no longer of the type that it was."""
    if shown.image is None:
        raise Refused(404, "no such image")
    try:
        content = shown.image.read_bytes()
    except OSError:
        raise Refused(404, "no such image") from None
    if type_of(content[:16]) != shown.type:
        raise Refused(404, "no image of that type any more")
    return content, shown.type
