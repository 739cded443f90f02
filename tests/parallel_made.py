"""What ranks tell of their parallelism, written down by hand: `told(made, launch, workers, group=2)`, and what their steps communicate."""

from __future__ import annotations

from typing import Any

from tests.handmade import Handmade, S

NOTHING: dict[str, Any] = {
    "group": 2,
    "engine": [],
    "sharing": 0,
    "p2p_steps": 0,
    "libraries": [],
    "ddp": [],
    "ddp_ignored": 0,
    "ddp_hooks": [],
    "stage": False,
    "bytes": 100,
    "shapes": "a",
    "fsdp": 0,
    "dtensor": 0,
    "layers": [],
    "optimizer": "SGD",
}


def told(made: Handmade, number: int, workers: int = 2, **said: Any) -> None:
    """Every rank's event."""
    for rank in range(workers):
        made.event(number, "parallelism", 1.0, rank=rank, incarnation=0, detail={**NOTHING, **said})


def call(made: Handmade, number: int, *, rank: int, step: int | None, op: str = "all_reduce", nbytes: int = 100, size: int = 2) -> None:
    """A collective of a step."""
    begin = made.begin[number] + (step or 0) * S
    made.rows["collectives"].append(
        (
            number,
            rank,
            0,
            "0",
            len(made.rows["collectives"]),
            step,
            op,
            size,
            nbytes,
            "float32",
            "",
            None,
            begin,
            begin + 1,
            None,
            None,
            None,
            "host",
        )
    )


def calls(made: Handmade, number: int, steps: list[int], *, workers: int = 2, **words: Any) -> None:
    """The same on every rank in each of these steps."""
    for step in steps:
        for rank in range(workers):
            call(made, number, rank=rank, step=step, **words)


def forward(made: Handmade, number: int, steps: list[int], *, workers: int = 2) -> None:
    """Something is asked for in the forward pass of these steps."""
    made.rows["waits"] += [(number, rank, 0, step, "forward", 10, 10) for step in steps for rank in range(workers)]


def hashed(made: Handmade, number: int, looks: dict[int, str], *, workers: int = 2) -> None:
    """The parameters after so many steps: one letter for each rank."""
    for step, letters in looks.items():
        for rank in range(workers):
            made.fingerprint(number, "parameter_hash", letters[rank], rank=rank, step=step)
