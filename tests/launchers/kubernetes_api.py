"""Which parts of Kubernetes' API does the fake serve, and how does it answer?

HTTPS with a bearer token, JSON: create, get, list, merge-patch, delete and watch of the resources in RESOURCES, and exec over a websocket
(v4.channel.k8s.io).  Objects are checked against the models of the official client, which are generated from the published OpenAPI schema.
Errors are Status objects with the codes, reasons and sentences of the real server.  `kubernetes_cluster.py` acts on what is stored here.
Not served: protobuf, server-side apply, strategic merge patches, admission, field selectors.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
import select
import ssl
import struct
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

Object = dict[str, Any]
TOKEN = "token-of-a-test"
USER = "system:serviceaccount:lab:assay"
VERSION = "v1.33.0-fake"
RESOURCES = {  # plural -> path of its group, kind, model
    "jobs": ("apis/batch/v1", "Job", "V1Job"),
    "pods": ("api/v1", "Pod", "V1Pod"),
    "events": ("api/v1", "Event", "CoreV1Event"),
    "nodes": ("api/v1", "Node", "V1Node"),
    "services": ("api/v1", "Service", "V1Service"),
    "persistentvolumeclaims": ("api/v1", "PersistentVolumeClaim", "V1PersistentVolumeClaim"),
    "leases": ("apis/coordination.k8s.io/v1", "Lease", "V1Lease"),
}
PATH = re.compile(r"/(apis?(?:/[a-z.0-9]+)?/v\d\w*)(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?(?:/(exec|eviction|status))?$")
IMMUTABLE = ("completions", "completionMode", "selector", "template")  # of a Job that is not suspended
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "AlreadyExists",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
}


class Refused(Exception):
    """An answer other than 2xx."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message

    @property
    def status(self) -> Object:
        """The Status object."""
        reason = REASONS.get(self.code, "InternalError")
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": reason,
            "code": self.code,
        }


def now() -> str:
    """The time as the API writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def checked(found: object, model: str, where: str = "") -> None:
    """Refuse fields that the schema lacks, wrong types, and required fields that are missing."""
    from kubernetes import client

    if model.startswith("list["):
        if not isinstance(found, list):
            raise Refused(400, f'json: cannot unmarshal {type(found).__name__} into field "{where}" of type {model}')
        for place, item in enumerate(found):
            checked(item, model[5:-1], f"{where}[{place}]")
    elif model.startswith("dict("):
        of = model[5:-1].split(", ")[1]
        for key, value in dict(found).items():  # type: ignore[call-overload]
            checked(value, of, f"{where}.{key}")
    elif hasattr(client, model):
        _model(found, getattr(client, model), where)
    elif model in ("str", "int", "bool") and not isinstance(found, {"str": str, "int": int, "bool": bool}[model]):
        raise Refused(400, f'json: cannot unmarshal {type(found).__name__} into field "{where}" of type {model}')


def _model(found: object, model: Any, where: str) -> None:
    if not isinstance(found, dict):
        raise Refused(400, f'json: cannot unmarshal {type(found).__name__} into field "{where}" of type {model.__name__}')
    names = {json_name: name for name, json_name in model.attribute_map.items()}
    for key, value in found.items():
        if key not in names:
            raise Refused(400, f'strict decoding error: unknown field "{f"{where}.{key}".lstrip(".")}"')
        if value is not None:
            checked(value, model.openapi_types[names[key]], f"{where}.{key}".lstrip("."))
    try:
        model(**{names[key]: value for key, value in found.items()})
    except ValueError as error:
        raise Refused(422, f"{where or model.__name__}: {error}") from None


def merged(base: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    base = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            base.pop(key, None)
        else:
            base[key] = merged(base.get(key), value)
    return base


class Store:
    """All objects, and a log of their changes for watches."""

    def __init__(self, kept: int = 1000) -> None:
        self.lock = threading.Condition(threading.RLock())
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.log: list[tuple[int, str, str, Object]] = []  # version, type, resource, object
        self.version, self.kept = 100, kept
        self.requests: list[tuple[str, str]] = []  # method and path of each request
        self.forbidden: set[tuple[str, str]] = set()  # verb, resource
        self.answers: list[tuple[str, int, int]] = []  # method, code, how many times: failures to come

    def list(self, resource: str, namespace: str = "", selector: Mapping[str, str] | None = None) -> list[Object]:
        with self.lock:
            return [
                copy.deepcopy(found)
                for (kind, place, _), found in sorted(self.objects.items())
                if kind == resource
                and namespace in ("", place)
                and (selector or {}).items() <= (found["metadata"].get("labels") or {}).items()
            ]

    def get(self, resource: str, namespace: str, name: str) -> Object:
        with self.lock:
            if (found := self.objects.get((resource, namespace, name))) is None:
                group = RESOURCES[resource][0].split("/")[1:-1]
                raise Refused(404, f'{".".join([resource, *group])} "{name}" not found')
            return copy.deepcopy(found)

    def create(self, resource: str, namespace: str, found: Object) -> Object:
        with self.lock:
            group, kind, model = RESOURCES[resource]
            found = {"apiVersion": group.partition("/")[2], "kind": kind, **copy.deepcopy(found)}
            metadata = found.setdefault("metadata", {})
            checked(found, model)
            metadata["name"] = metadata.get("name") or metadata["generateName"] + uuid.uuid4().hex[:5]
            if (resource, namespace, metadata["name"]) in self.objects:
                raise Refused(409, f'{resource} "{metadata["name"]}" already exists')
            metadata.update(namespace=namespace, uid=str(uuid.uuid4()), creationTimestamp=now())
            return self._put("ADDED", resource, found)

    def change(self, resource: str, namespace: str, name: str, patch: Object) -> Object:
        with self.lock:
            before = self.get(resource, namespace, name)
            after = merged(before, patch)
            if resource == "jobs":
                for key in IMMUTABLE:
                    if before["spec"].get(key) != after["spec"].get(key):
                        raise Refused(422, f'Job.batch "{name}" is invalid: spec.{key}: Invalid value: field is immutable')
            checked(after, RESOURCES[resource][2])
            return before if before == after else self._put("MODIFIED", resource, after)

    def remove(self, resource: str, namespace: str, name: str) -> None:
        with self.lock:
            found = self.get(resource, namespace, name)
            self._put("DELETED", resource, found)
            del self.objects[(resource, namespace, name)]

    def _put(self, change: str, resource: str, found: Object) -> Object:
        self.version += 1
        found["metadata"]["resourceVersion"] = str(self.version)
        self.objects[(resource, found["metadata"]["namespace"], found["metadata"]["name"])] = found
        self.log = [*self.log[-self.kept + 1 :], (self.version, change, resource, copy.deepcopy(found))]
        self.lock.notify_all()
        return copy.deepcopy(found)

    def changes(
        self, resource: str, namespace: str, since: int, limit_s: float, selector: Mapping[str, str] | None = None
    ) -> Iterator[Object]:
        """What a watch says; a bookmark at its end."""
        deadline = time.monotonic() + limit_s
        with self.lock:
            if self.log and since and since < self.log[0][0] - 1:
                yield {"type": "ERROR", "object": Refused(410, f"too old resource version: {since} ({self.log[0][0]})").status}
                return
        while True:
            with self.lock:
                found = [
                    row for row in self.log if row[0] > since and row[2] == resource and namespace in ("", row[3]["metadata"]["namespace"])
                ]
                if not found and not self.lock.wait(max(0.0, deadline - time.monotonic())):
                    break
            for version, change, _, item in found:
                since = version
                if (selector or {}).items() <= (item["metadata"].get("labels") or {}).items():
                    yield {"type": change, "object": item}
        group, kind, _ = RESOURCES[resource]
        metadata = {"resourceVersion": str(self.version)}
        yield {"type": "BOOKMARK", "object": {"apiVersion": group.partition("/")[2], "kind": kind, "metadata": metadata}}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        return

    def _do(self) -> None:
        url = urlparse(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            self.server.store.requests.append((self.command, url.path))
            self._failure()
            self._route(url.path, {key: values[-1] for key, values in parse_qs(url.query).items()}, json.loads(body or b"{}"))
        except Refused as refused:
            self._say(refused.code, refused.status)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_DELETE = _do

    def _failure(self) -> None:
        store = self.server.store
        for place, (method, code, times) in enumerate(store.answers):
            if method == self.command and times:
                store.answers[place] = (method, code, times - 1)
                raise Refused(code, "the server is currently unable to handle the request")

    def _route(self, path: str, query: Mapping[str, str], body: Object) -> None:
        store = self.server.store
        if path == "/version":
            return self._say(200, {"major": "1", "minor": "33", "gitVersion": VERSION})
        found = PATH.match(path)
        if found is None or found[3] not in RESOURCES or RESOURCES[found[3]][0] != found[1]:
            raise Refused(404, "the server could not find the requested resource")
        _, namespace, resource, name, sub = found.groups()
        self._authorised(resource, namespace or "", name or "", sub or "", query)
        namespace = namespace or ""
        if sub == "exec":
            return self._exec(namespace, str(name))
        if sub == "eviction":
            self.server.evict(namespace, str(name))
            return self._say(201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})
        if self.command == "POST":
            return self._say(201, store.create(resource, namespace, body))
        if self.command == "PATCH":
            return self._say(200, store.change(resource, namespace, str(name), body))
        if self.command == "DELETE":
            self.server.delete(resource, namespace, str(name))
            return self._say(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})
        if name:
            return self._say(200, store.get(resource, namespace, name))
        selector = dict(part.split("=", 1) for part in query.get("labelSelector", "").split(",") if part)
        if query.get("watch") in ("1", "true"):
            return self._watch(resource, namespace, query, selector)
        group, kind, _ = RESOURCES[resource]
        items = store.list(resource, namespace, selector)
        self._say(
            200,
            {
                "kind": f"{kind}List",
                "apiVersion": group.partition("/")[2],
                "metadata": {"resourceVersion": str(store.version)},
                "items": items,
            },
        )

    def _authorised(self, resource: str, namespace: str, name: str, sub: str, query: Mapping[str, str]) -> None:
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "Unauthorized")
        verb = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}.get(self.command) or (
            "get" if name else "watch" if "watch" in query else "list"
        )
        whole = f"{resource}/{sub}" if sub else resource
        if (verb, whole) in self.server.store.forbidden:
            group = RESOURCES[resource][0].split("/")[1:-1]
            subject = f'{".".join([resource, *group])}{f""" "{name}" """.rstrip() if name else ""} is forbidden'
            where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
            raise Refused(403, f'{subject}: User "{USER}" cannot {verb} resource "{whole}" in API group "{"".join(group)}" {where}')

    def _say(self, code: int, found: Object) -> None:
        data = json.dumps(found).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _watch(self, resource: str, namespace: str, query: Mapping[str, str], selector: Mapping[str, str]) -> None:
        since, limit_s = int(query.get("resourceVersion") or 0), float(query.get("timeoutSeconds") or 60)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for change in self.server.store.changes(resource, namespace, since, limit_s, selector):
            line = json.dumps(change).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _exec(self, namespace: str, name: str) -> None:
        words = parse_qs(urlparse(self.path).query)["command"]
        pod = self.server.store.get("pods", namespace, name)
        if (pod.get("status") or {}).get("phase") != "Running":
            raise Refused(
                400,
                f"cannot exec into a container in a {pod['status'].get('phase', 'Pending')} pod; current phase is {pod['status'].get('phase')}",
            )
        if "v4.channel.k8s.io" not in self.headers.get("Sec-WebSocket-Protocol", ""):
            raise Refused(400, "unable to upgrade: you must specify one of the protocols v4.channel.k8s.io")
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        for header in (
            {"Upgrade": "websocket"},
            {"Connection": "Upgrade"},
            {"Sec-WebSocket-Accept": accept},
            {"Sec-WebSocket-Protocol": "v4.channel.k8s.io"},
        ):
            for pair in header.items():
                self.send_header(*pair)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        self.connection.setblocking(False)
        self.unread, self.tls, self.sending = b"", threading.Lock(), threading.Lock()
        command = self.server.command(pod, words)
        try:
            reader = threading.Thread(target=self._output, args=(command,), daemon=True)
            reader.start()
            self._input(command)
        finally:
            self.server.cut(command)
            reader.join()
            for stream in (command.stdin, command.stdout):
                with suppress(OSError, AttributeError):
                    stream.close()  # type: ignore[union-attr]

    def _input(self, command: subprocess.Popen[bytes]) -> None:
        while frame := self._frame():
            code, data = frame
            if code == 9:
                self._send(10, data)
            elif code == 8:
                return
            elif data[:1] == b"\0" and command.stdin is not None:
                try:
                    command.stdin.write(data[1:])
                    command.stdin.flush()
                except (BrokenPipeError, ValueError):
                    continue

    def _output(self, command: subprocess.Popen[bytes]) -> None:
        assert command.stdout is not None
        try:
            while data := command.stdout.read1(1 << 16):  # type: ignore[attr-defined]
                self._send(2, b"\1" + data)
            code = command.wait()
            status: Object = {"metadata": {}, "status": "Success"}
            if code:
                message = f"command terminated with non-zero exit code: exit status {code}"
                causes = [{"reason": "ExitCode", "message": str(code)}]
                status = {
                    "metadata": {},
                    "status": "Failure",
                    "message": message,
                    "reason": "NonZeroExitCode",
                    "details": {"causes": causes},
                }
            self._send(2, b"\3" + json.dumps(status).encode())
            self._send(8, struct.pack(">H", 1000))
        except (OSError, ValueError):
            return

    def _frame(self) -> tuple[int, bytes] | None:
        try:
            head = self._read(2)
            size = head[1] & 0x7F
            if size > 125:
                size = int.from_bytes(self._read(2 if size == 126 else 8), "big")
            mask = self._read(4)
            data = self._read(size)
            whole = (int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
            return head[0] & 0x0F, whole
        except (OSError, ValueError):
            return None

    def _read(self, size: int) -> bytes:
        """So many bytes. OpenSSL serves one thread of a connection at a time, so each waits outside the lock."""
        while len(self.unread) < size:
            with self.tls, suppress(ssl.SSLWantReadError):
                data = self.connection.recv(1 << 16)
                if not data:
                    raise OSError("closed")
                self.unread += data
                continue
            select.select([self.connection], [], [])
        data, self.unread = self.unread[:size], self.unread[size:]
        return data

    def _send(self, code: int, data: bytes) -> None:
        size = len(data)
        head = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 1 << 16 else b"\x7f" + struct.pack(">Q", size)
        rest = bytes([0x80 | code]) + head + data
        with self.sending:
            while rest:
                with self.tls, suppress(ssl.SSLWantWriteError):
                    rest = rest[self.connection.send(rest) :]
                    continue
                select.select([], [self.connection], [])


class Server(ThreadingHTTPServer):
    """The API server; who acts on pods is given by the cluster."""

    daemon_threads = True
    command: Callable[[Object, list[str]], subprocess.Popen[bytes]]
    cut: Callable[[subprocess.Popen[bytes]], None]
    evict: Callable[[str, str], None]
    delete: Callable[[str, str, str], None]

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.store = Store()
        certificate, key = folder / "ca.crt", folder / "ca.key"
        subject = ["-subj", "/CN=fake", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        subprocess.run([*words, "-keyout", str(key), "-out", str(certificate), *subject], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.certificate = certificate

    def handle_error(self, request: object, client_address: object) -> None:
        return  # a client that was killed

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_address[1]}"
