"""How fast is the link between two nodes, or a ring of all?  The program that `assay fleet` starts on every node of a pair or a ring.

    python -I link_tests.py RANK WORLD ADDRESS TRANSPORT bandwidth latency     the first prints {"port": 41234}, then its results

Orders come as a line of JSON on standard input: a token, and for all but the first its address and port. ADDRESS is the node's own.

    bandwidth   bytes received per second, in each direction, after a tenth of a second: [there, back], there is from the first node
    latency     seconds of a round trip of one byte: the median
    training    steps per second of a small network on both nodes, gradients averaged (needs torch)
    ring        all nodes at once: bytes per second that each sends to the next, as shifts (tcp) or in an all-reduce (gloo, nccl; its busbw)

tcp needs nothing but Python and measures the path of ADDRESS; nccl measures what the GPUs use.  Every process ends after LIMIT_S by itself.
Cannot tell: what more than one connection, or one process, would carry.
"""

from __future__ import annotations

import hmac
import json
import os
import signal
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

SECONDS: Final = 0.4  # of a transfer, and of other tests
WARM_S: Final = 0.1
LIMIT_S: Final = 100  # importing torch from a shared folder takes a while
CHUNK: Final = 1 << 20
BLOCK: Final = 4 << 20  # of a shift, and of what torch sends
PINGS: Final = (20, 2_000)
Orders = dict[str, Any]


# ---- meeting ---------------------------------------------------------------------------------------------------------


def send_line(connection: socket.socket, message: Any) -> None:
    """A line of JSON."""
    connection.sendall(json.dumps(message).encode() + b"\n")


def read_line(connection: socket.socket) -> Any:
    """The next line, and no byte after it. Raises OSError: it ended."""
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte or len(line) > 10_000:
            raise ConnectionError("the other node ended the connection")
        line += byte
    return json.loads(line)


def dial(orders: Orders, rank: int, role: str) -> socket.socket:
    """A connection to the first node."""
    connection = socket.create_connection((orders["address"], orders["port"]), timeout=LIMIT_S / 4)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    send_line(connection, {"token": orders["token"], "rank": rank, "role": role})
    return connection


class Meeting:
    """Where the first node accepts the others."""

    def __init__(self, address: str, token: str) -> None:
        family = socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][0]
        self.listener = socket.create_server((address, 0), family=family, backlog=1024)
        self.listener.settimeout(LIMIT_S / 4)
        self.port = int(self.listener.getsockname()[1])
        self.token, self._met = token, dict[tuple[int, str], socket.socket]()

    def accept(self, rank: int, role: str) -> socket.socket:
        """The connection of that rank and role; strangers are turned away."""
        while (rank, role) not in self._met:
            connection, _ = self.listener.accept()
            connection.settimeout(LIMIT_S / 4)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                said = read_line(connection)
                known = hmac.compare_digest(str(said["token"]), self.token)
                key = (int(said["rank"]), str(said["role"]))
            except (OSError, ValueError, LookupError, TypeError):
                known = False
            if known:
                self._met[key] = connection
            else:
                connection.close()
        return self._met[rank, role]


# ---- tcp -------------------------------------------------------------------------------------------------------------


def receive(connection: socket.socket, now: Callable[[], float] = time.perf_counter) -> float:
    """Bytes per second that arrive; then the connection is closed, which ends the sender."""
    buffer, total = bytearray(CHUNK), 0
    first = begin = end = None
    while begin is None or end is None or end - begin < SECONDS:
        count = connection.recv_into(buffer)
        if not count:
            raise ConnectionError("the other node ended the transfer")
        at = now()
        first = at if first is None else first
        if begin is not None:
            total, end = total + count, at
        elif at - first >= WARM_S:
            begin = at
    connection.close()
    return total / (end - begin)


def send(connection: socket.socket) -> None:
    """Send until the receiver has had enough."""
    block = os.urandom(CHUNK)  # compressing tunnels exist
    with suppress(OSError):
        while True:
            connection.sendall(block)


def ping(control: socket.socket, now: Callable[[], float] = time.perf_counter) -> float:
    """Median round trip of a byte."""
    times: list[float] = []
    begin = now()
    while len(times) < PINGS[0] or (len(times) < PINGS[1] and now() - begin < SECONDS):
        sent = now()
        control.sendall(b"p")
        control.recv(1)
        times.append(now() - sent)
    control.sendall(b"e")
    return statistics.median(times[PINGS[0] // 2 :])


def pong(control: socket.socket) -> None:
    """Answer pings until the last."""
    while control.recv(1) == b"p":
        control.sendall(b"p")


def shifts(right: socket.socket, left: socket.socket, count: int) -> float:
    """Seconds in which so many blocks went to the right while as many came from the left."""
    block, buffer = bytes(BLOCK), bytearray(CHUNK)

    def send_all() -> None:
        for _ in range(count):
            right.sendall(block)

    sender, begin, left_over = threading.Thread(target=send_all, daemon=True), time.perf_counter(), count * BLOCK
    sender.start()
    while left_over:
        received = left.recv_into(buffer, min(CHUNK, left_over))
        if not received:
            raise ConnectionError("the node before it ended")
        left_over -= received
    sender.join()
    return time.perf_counter() - begin


class FirstByTcp:
    """The tests of the first node."""

    def __init__(self, meeting: Meeting, world: int) -> None:
        self.meeting, self.world = meeting, world
        self.controls = [meeting.accept(rank, "control") for rank in range(1, world)]

    def run(self, test: str) -> Any:
        """The result of one test."""
        for control in self.controls:
            send_line(control, test)
        if test == "ring":
            return self._ring()
        if test == "latency":
            return ping(self.controls[0])
        with self.meeting.accept(1, "there") as there:
            send(there)
        with self.meeting.accept(1, "back") as back:
            return [read_line(self.controls[0]), receive(back)]

    def _ring(self) -> float:
        places = [read_line(control) for control in self.controls]
        own = self.meeting
        for place, control in enumerate(self.controls, start=1):
            send_line(control, places[place] if place < len(places) else None)
        right = dial({**places[0], "token": own.token}, 0, "left")
        left = own.accept(self.world - 1, "left")
        count, seconds = 1, 0.0
        for _ in range(3):  # one that warms up, one that tells how many fit
            for control in self.controls:
                send_line(control, count)
            seconds = shifts(right, left, count)
            rate, count = count * BLOCK / seconds, max(1, round(SECONDS * count / seconds))
        for control in self.controls:
            send_line(control, 0)
        return rate


class OtherByTcp:
    """The tests of another node."""

    def __init__(self, orders: Orders, rank: int, address: str) -> None:
        self.orders, self.rank, self.address = orders, rank, address
        self.control = dial(orders, rank, "control")

    def serve(self) -> None:
        """Do what the first node says, until it ends."""
        while (test := self._next()) is not None:
            if test == "ring":
                self._ring()
            elif test == "latency":
                pong(self.control)
            else:
                rate = receive(dial(self.orders, self.rank, "there"))
                send_line(self.control, rate)
                with dial(self.orders, self.rank, "back") as back:
                    send(back)

    def _next(self) -> Any:
        with suppress(ConnectionError):
            return read_line(self.control)
        return None

    def _ring(self) -> None:
        meeting = Meeting(self.address, self.orders["token"])
        send_line(self.control, {"address": self.address, "port": meeting.port})
        following = read_line(self.control)
        right = dial({**(following or self.orders), "token": self.orders["token"]}, self.rank, "left")
        left = meeting.accept(self.rank - 1, "left")
        while count := read_line(self.control):
            shifts(right, left, count)


# ---- torch -----------------------------------------------------------------------------------------------------------


def interface_of(address: str) -> str:
    """The interface with that address; "" if none is found."""
    import psutil

    wanted = socket.gethostbyname(address)
    return next((name for name, found in psutil.net_if_addrs().items() if any(one.address == wanted for one in found)), "")


class ByTorch:
    """The tests of every node, all at once, through torch.distributed."""

    def __init__(self, rank: int, world: int, backend: str, store: Any) -> None:
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.rank, self.world = torch, dist, rank, world
        if backend == "nccl" and not torch.cuda.is_available():
            raise RuntimeError("torch finds no GPU for nccl")
        self.device = "cuda" if backend == "nccl" else "cpu"
        torch.set_num_threads(1)  # small tests: threads would wait for each other
        dist.init_process_group(backend, store=store, rank=rank, world_size=world)

    def run(self, test: str) -> Any:
        """The result of one test, on every node."""
        return {"bandwidth": self._bandwidth, "latency": self._latency, "ring": self._ring, "training": self._training}[test]()

    def _timed(self, repeat: Callable[[], object]) -> float:
        """Seconds of one repetition; every node makes as many."""
        for _ in range(3):
            repeat()
        seconds = self._seconds(repeat, 5)
        count = self.torch.tensor([max(1.0, min(2_000.0, SECONDS / seconds))], device=self.device)
        self.dist.broadcast(count, 0)
        return self._seconds(repeat, int(count.item()))

    def _wait(self) -> None:
        """For what is queued on the GPU."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def _seconds(self, repeat: Callable[[], object], count: int) -> float:
        self.dist.barrier()
        self._wait()
        begin = time.perf_counter()
        for _ in range(count):
            repeat()
        self._wait()
        return (time.perf_counter() - begin) / count

    def _bandwidth(self) -> list[float]:
        block, rates = self.torch.ones(BLOCK, dtype=self.torch.uint8, device=self.device), []
        for sender in (0, 1):
            seconds = self._timed(lambda s=sender: self.dist.send(block, 1 - s) if self.rank == s else self.dist.recv(block, s))  # type: ignore[misc]
            mine = self.torch.tensor([seconds], device=self.device)
            self.dist.broadcast(mine, 1 - sender)  # the receiver's: a send may return early
            rates.append(BLOCK / float(mine.item()))
        return rates

    def _latency(self) -> float:
        byte = self.torch.ones(1, dtype=self.torch.uint8, device=self.device)

        def there_and_back() -> None:
            for sender in (0, 1):
                self.dist.send(byte, 1 - sender) if self.rank == sender else self.dist.recv(byte, sender)

        return self._timed(there_and_back)

    def _ring(self) -> float:
        block = self.torch.ones(BLOCK, device=self.device)  # of four bytes each
        return 2.0 * (self.world - 1) / self.world * 4 * BLOCK / self._timed(lambda: self.dist.all_reduce(block))

    def _training(self) -> float:
        torch = self.torch
        torch.manual_seed(7)
        model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(self.device)
        spread = torch.nn.parallel.DistributedDataParallel(model)
        optimizer, loss = torch.optim.SGD(model.parameters(), lr=0.01), torch.nn.CrossEntropyLoss()
        inputs, targets = torch.randn(64, 256, device=self.device), torch.randint(10, (64,), device=self.device)

        def step() -> None:
            optimizer.zero_grad()
            loss(spread(inputs), targets).backward()
            optimizer.step()

        return 1.0 / self._timed(step)


# ---- the program -----------------------------------------------------------------------------------------------------


def results_of(tests: list[str], run: Callable[[str], Any]) -> dict[str, Any]:
    """Each test's result, or why there is none; after a failure the nodes no longer agree, so that no other follows."""
    results: dict[str, Any] = {}
    for place, test in enumerate(tests):
        try:
            results[test] = {"value": run(test)}
        except (OSError, RuntimeError, ImportError, MemoryError, ValueError) as error:
            why = (getattr(error, "strerror", None) or str(error) or type(error).__name__).partition("\n")[0]
            return {**results, **{left: {"lack": why} for left in tests[place:]}}
    return results


def by_torch(rank: int, world: int, address: str, orders: Orders, backend: str, tests: list[str]) -> dict[str, Any]:
    """The results of tests that need torch. The first node's line with the port is printed here."""
    if interface := interface_of(address):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    from datetime import timedelta

    import torch.distributed as dist

    first = address if rank == 0 else orders["address"]
    patience = timedelta(seconds=LIMIT_S / 2)
    store = dist.TCPStore(  # type: ignore[attr-defined]
        first, 0 if rank == 0 else orders["port"], world, rank == 0, patience, wait_for_workers=False
    )
    if rank == 0:
        print(json.dumps({"port": store.port}), flush=True)
    nodes = ByTorch(rank, world, backend, store)
    return results_of(tests, nodes.run)


def _end_with_input() -> None:
    """Who started this process has ended."""
    sys.stdin.read()
    os._exit(1)


def main(rank: int, world: int, address: str, transport: str, tests: list[str]) -> None:
    """Meet and test. The first node prints the port, then the results."""
    signal.alarm(LIMIT_S)
    orders = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    results: dict[str, Any] = {}
    try:
        if transport != "tcp":
            results = by_torch(rank, world, address, orders, transport, tests)
        elif rank == 0:
            meeting = Meeting(address, orders["token"])
            print(json.dumps({"port": meeting.port}), flush=True)
            results = results_of(tests, FirstByTcp(meeting, world).run)
        else:
            OtherByTcp(orders, rank, address).serve()
    except (OSError, RuntimeError, ImportError, ValueError) as error:
        why = (str(error) or type(error).__name__).partition("\n")[0]
        results = {test: {"lack": why} for test in tests}
        if rank:
            print(why, file=sys.stderr)
    if rank == 0:
        print(json.dumps(results), flush=True)
    os._exit(0)  # threads and process groups may still wait


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:])
