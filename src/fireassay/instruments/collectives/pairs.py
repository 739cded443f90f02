"""How long does a message take from every rank to every other, and how fast is the link?

Ordered pairs, one exchange at a time: the sender sends S bytes, the receiver answers with eight. The time runs from before the send
to the answer's arrival, on the sender's clock alone, so no two clocks are compared. Exchanges of three sizes give

    latency    half of the time of eight bytes there and eight back: the mean of both directions, which one clock cannot separate
    bandwidth  (S2 - S1) / (T(S2) - T(S1)) of the two large sizes, in the sending direction: a shaper's burst allowance, protocol
               start-up and latency are in both times and cancel

The pairs of a round share no rank (round-robin tournament, circle method), so there is no deadlock, whether or not the engine's send
blocks. Within a round pairs run one after the other, undisturbed; with `together` they run at once, faster by a factor of half the
ranks, but contend for shared links. The receiver checks the data after answering and reports in a separate, untimed message.
Cannot tell: the link's share of a time from the engine's (copies, threads); the latency of one direction alone.

    torchrun --nproc-per-node 4 -m fireassay.instruments.collectives.pairs      writes tables collectives and events of the launch
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.instruments.recorder.sink import Identity, LaunchSink, MemorySink, Sink, identity_from

ANSWER: Final = 8  # bytes of an answer, and of the smallest message
LARGE: Final = 4 << 20  # the larger of the two large messages; the other is half of it
REPEATS: Final = 10
MORE: Final = 5  # the smallest message is repeated this many times as often
WARM_UP: Final = 2
MAX_ALONE: Final = 32  # ranks up to which pairs run one by one: 992 ordered pairs at most
OP: Final = "send_recv"
PLACED: Final = "placed"  # kind of the event that records where a rank runs
LATE_S: Final = 300.0  # a slower pair counts as lost, and the launch with it

Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The sizes and repeats of the exchanges."""

    sizes: tuple[int, ...] = (ANSWER, LARGE // 2, LARGE)
    repeats: int = REPEATS
    warm_up: int = WARM_UP
    together: bool = False

    def turns(self, size: int) -> int:
        """Repeats of a size: small messages are cheap and each is noisy, so they get more."""
        return self.warm_up + self.repeats * (MORE if size == ANSWER else 1)


def rounds(n: int) -> list[list[Pair]]:
    """Every pair of n ranks once, in rounds of disjoint pairs: n - 1 rounds, or n if n is odd.

    Circle method: the first position stays, the others rotate. With an odd n, one rank pauses per round.
    """
    positions: list[int | None] = [*range(n), *([None] if n % 2 else [])]
    schedule = []
    for _ in range(max(len(positions) - 1, 0)):
        half = len(positions) // 2
        sides = zip(positions[:half], reversed(positions[half:]), strict=True)
        schedule.append([(min(a, b), max(a, b)) for a, b in sides if a is not None and b is not None])
        positions = [positions[0], positions[-1], *positions[1:-1]]
    return schedule


def turns(n: int, *, together: bool) -> Iterator[list[Pair]]:
    """Ordered pairs that run at the same time, turn by turn; each pair in both directions."""
    for pairs in rounds(n):
        for group in [pairs] if together else [[pair] for pair in pairs]:
            yield group
            yield [(b, a) for a, b in group]


class Wire:
    """The engine calls between two ranks: blocking send and recv of tensors, and a synchronise."""

    def __init__(self, torch: Any, device: Any = "cpu") -> None:
        self.torch, self.device = torch, device
        self.distributed = torch.distributed
        self.on_cuda = str(device).startswith("cuda")

    def settle(self) -> None:
        """Wait for the device: on CUDA a returned receive is only enqueued."""
        if self.on_cuda:
            self.torch.cuda.synchronize(self.device)

    def send(self, tensor: Any, to: int) -> None:
        """Send, blocking."""
        self.distributed.send(tensor, to)

    def recv(self, tensor: Any, source: int) -> None:
        """Receive, blocking."""
        self.distributed.recv(tensor, source)

    def whole(self, value: int) -> Any:
        """One eight-byte integer."""
        return self.torch.full((1,), value, dtype=self.torch.int64, device=self.device)

    def pattern(self, size: int, pair: Pair) -> Any:
        """Bytes that differ by position, sender and receiver."""
        positions = self.torch.arange(size, dtype=self.torch.int32, device=self.device)
        return ((positions * 31 + pair[0] * 13 + pair[1] * 7) % 251).to(self.torch.uint8)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One exchange, on the sender's side."""

    size: int
    begin_ns: int
    end_ns: int
    wrong: int  # bytes that arrived corrupted
    counted: bool


def sender(wire: Wire, pair: Pair, plan: Plan, now: Callable[[], int] = time.monotonic_ns) -> Iterator[Exchange]:
    """All exchanges of an ordered pair, on the sending rank."""
    answer, ready, to = wire.whole(0), wire.whole(0), pair[1]
    for size in plan.sizes:
        pattern = wire.pattern(size, pair)
        for turn in range(plan.turns(size)):
            message = pattern + turn
            wire.settle()
            begin = now()
            wire.send(message, to)
            wire.recv(answer, to)
            wire.settle()
            end = now()
            wire.recv(ready, to)
            wrong = int(ready.item())
            yield Exchange(size=size, begin_ns=begin, end_ns=end, wrong=wrong, counted=turn >= plan.warm_up)


def receiver(wire: Wire, pair: Pair, plan: Plan) -> None:
    """The receiving side of an ordered pair."""
    answer, source = wire.whole(1), pair[0]
    for size in plan.sizes:
        pattern = wire.pattern(size, pair)
        message = wire.torch.zeros_like(pattern)
        for turn in range(plan.turns(size)):
            message.zero_()
            wire.settle()
            wire.recv(message, source)
            wire.send(answer, source)
            wire.settle()
            wire.send(wire.whole(int((message != pattern + turn).sum().item())), source)
            wire.settle()


def measure(wire: Wire, rank: int, size: int, plan: Plan, take: Callable[[Pair, Exchange], None]) -> None:
    """Measure every ordered pair of ranks; `take` gets this rank's exchanges as sender."""
    for group in turns(size, together=plan.together):
        wire.distributed.barrier()
        for pair in group:
            if rank == pair[0]:
                for exchange in sender(wire, pair, plan):
                    take(pair, exchange)
            elif rank == pair[1]:
                receiver(wire, pair, plan)
    wire.distributed.barrier()


# ---- rows


def row(identity: Identity, pair: Pair, call: int, exchange: Exchange, method: str = "host") -> tuple[Any, ...]:
    """A row of the table collectives: the group is the ordered pair, the amount is the payload."""
    return (
        identity.launch,
        identity.rank,
        identity.incarnation,
        group_name(pair),
        call,
        None,
        OP,
        2,
        exchange.size,
        "uint8",
        "timed" if exchange.counted else "warm_up",
        None,
        exchange.begin_ns,
        exchange.end_ns,
        None,
        exchange.wrong,
        "payload" if exchange.wrong else None,
        method,
    )


def group_name(pair: Pair) -> str:
    """The group name of an ordered pair: the sender first."""
    return f"pair {pair[0]}-{pair[1]}"


def where(environ: dict[str, str], identity: Identity) -> dict[str, Any]:
    """Where this rank runs: names of host, machine and network namespace, as far as known."""
    location: dict[str, Any] = {"host": identity.host, "local_rank": int(environ.get("LOCAL_RANK") or 0)}
    try:
        location["boot"] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        location["network"] = os.readlink("/proc/self/ns/net")
    except OSError:  # not Linux, or hidden
        pass
    return location


def write(sink: Sink, identity: Identity, wire: Wire, plan: Plan, environ: dict[str, str] | None = None) -> None:
    """Measure the pairs of an existing process group and write the launch's tables."""
    placed = json.dumps(where(dict(os.environ) if environ is None else environ, identity) | {"together": plan.together})
    sink.append(
        "events",
        (identity.launch, time.monotonic_ns(), None, identity.host, identity.rank, identity.incarnation, PLACED, None, None, placed),
    )
    calls: dict[Pair, int] = {}

    def take(pair: Pair, exchange: Exchange) -> None:
        number = calls.get(pair, 0)
        calls[pair] = number + 1
        sink.append("collectives", row(identity, pair, number, exchange))

    measure(wire, identity.rank, identity.workers, plan, take)


def plan_for(ranks: int, *, large: int = LARGE, repeats: int = REPEATS, together: bool | None = None) -> Plan:
    """The exchanges for so many ranks; pairs run one by one where that stays affordable.

    Raises:
        ValueError: the two large sizes differ too little from the small one.
    """
    if large < 64 * ANSWER:
        raise ValueError(f"the large message must have at least {64 * ANSWER} bytes, not {large}: shorter ones do not show the bandwidth")
    alone = ranks <= MAX_ALONE if together is None else not together
    return Plan(sizes=(ANSWER, large // 2, large), repeats=repeats, together=not alone)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fireassay.instruments.collectives.pairs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", type=int, default=LARGE, help="bytes of the larger message")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="counted exchanges of each size")
    parser.add_argument("--backend", default="", help="gloo, nccl ...; default: nccl with CUDA, else gloo")
    parser.add_argument("--together", action="store_true", help="run pairs without a common rank at the same time")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Run as a worker under torchrun."""
    from datetime import timedelta

    import torch

    options, identity = _options(words), identity_from(os.environ)
    backend = options.backend or ("nccl" if torch.cuda.is_available() else "gloo")
    device = f"cuda:{int(os.environ.get('LOCAL_RANK') or 0)}" if backend == "nccl" else "cpu"
    if backend == "nccl":
        torch.cuda.set_device(device)
    torch.distributed.init_process_group(backend, timeout=timedelta(seconds=LATE_S))
    folder = os.environ.get("FIREASSAY_LAUNCH_DIR")
    sink: Any = LaunchSink(Path(folder), identity, flush_s=0.25) if folder else MemorySink()
    plan = plan_for(identity.workers, large=options.large, repeats=options.repeats, together=options.together or None)
    write(sink, identity, Wire(torch, device), plan)
    sink.close()
    torch.distributed.destroy_process_group()
    if not folder:
        print(f"rank {identity.rank} on {socket.gethostname()}: {len(sink.of('collectives'))} exchanges, not recorded")


if __name__ == "__main__":
    main()
