"""From which step does a restarted script resume?

Derived from the state it restored, never from its output. Whenever a checkpoint is saved, and where an incarnation begins, each rank
notes its progress: steps finished, a mark of the parameters, and the optimizers' own counters. A restarted worker compares its first
state with those notes:
* the parameters match one noted step: it resumes there;
* they match none (saved in lower precision, or in a way that no hook covers), but the optimizer counts its updates as Adam does: it
  resumes at the step with that count;
* they match step 0: it started afresh.
Otherwise the step is reported as unknown, never guessed.

The mark is a hash of up to `ELEMENTS` elements of up to `TENSORS` parameters: an update changes nearly all of them.
Cannot tell apart: states that no update has changed (a learning rate of 0), unless the optimizer counts.
The notes are stored next to the progress files and are not part of the record; the result is (event `resumed`).
"""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.instruments.fingerprints import model_hash

ELEMENTS: Final = 256
TENSORS: Final = 128
NO_MATCH: Final = "its first parameters match neither the start nor any observed checkpoint"
SEVERAL: Final = "its first parameters match several steps ({steps}), and no optimizer counts its updates"


@dataclass(frozen=True, kw_only=True)
class State:
    """A rank's progress when it was noted."""

    incarnation: int
    step: int | None  # steps finished; None: unknown, after a restart
    mark: str  # hash of the parameters
    updates: int | None = None  # as counted by the optimizers
    epoch: int = 0  # of the ledger
    whole: bool = False  # whether the epoch had been read to its end
    saved: bool = False  # the script saved a checkpoint at this point


@dataclass(frozen=True, kw_only=True)
class Restored:
    """Where a restarted worker resumes."""

    step: int | None
    by: str = ""  # parameters or updates
    why: str = ""  # reason if the step is unknown
    state: State | None = None  # the matching note


class States:
    """The notes of one rank and of its earlier incarnations."""

    def __init__(self, folder: Path, rank: int, incarnation: int) -> None:
        """`folder`: the launch's, for the notes of all ranks."""
        self.incarnation = incarnation
        self.optimizers: Iterable[Any] = ()  # the live ones
        self.epoch: Callable[[], tuple[int, bool]] = _no_epoch  # of the ledger, and whether it was read to its end
        self._folder, self._rank = folder / "progress", rank

    def note(self, model: Any, step: int | None, *, saved: bool = False) -> None:
        """Note this rank's progress for its successors after a restart.

        Raises:
            OSError: the disk is full or not writable.
        """
        epoch, whole = self.epoch()
        state = State(
            incarnation=self.incarnation,
            step=step,
            mark=mark_of(model),
            updates=updates_of(self.optimizers),
            epoch=epoch,
            whole=whole,
            saved=saved,
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._file(self._rank).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(state)) + "\n")

    def restored(self, model: Any) -> Restored:
        """Match this first state with the notes of earlier incarnations.

        This rank's own notes come first, then those of any rank: replicas are equal, and often one of them saves alone.
        """
        mark, updates = mark_of(model), updates_of(self.optimizers)
        earlier = [state for state in self._all() if state.incarnation < self.incarnation and state.step is not None]
        rank_states = [state for state in _of(self._file(self._rank)) if state in earlier]
        by_own = recognise(rank_states, mark, updates)
        return by_own if by_own.by == "parameters" else recognise(earlier, mark, updates)

    def _all(self) -> Iterator[State]:
        with suppress(OSError):
            for path in sorted(self._folder.glob("rank=*.states")):
                yield from _of(path)

    def _file(self, rank: int) -> Path:
        return self._folder / f"rank={rank}.states"


def _no_epoch() -> tuple[int, bool]:
    return 0, False


def recognise(notes: Iterable[State], mark: str, updates: int | None) -> Restored:
    """The one step that this state belongs to."""
    known = [state for state in notes if state.step is not None]
    matches = [state for state in known if state.mark == mark]
    exact_matches = [state for state in matches if updates is not None and state.updates == updates]
    steps = {state.step for state in matches}
    if len(steps) > 1:  # no update changed the parameters in between
        steps = {state.step for state in exact_matches}
    if len(steps) == 1:
        return Restored(step=steps.pop(), by="parameters", state=(exact_matches or matches)[-1])
    if matches:
        return Restored(step=None, why=SEVERAL.format(steps=", ".join(str(step) for step in sorted({s.step or 0 for s in matches}))))
    return _by_updates(known, updates)


def _by_updates(known: list[State], updates: int | None) -> Restored:
    """Match by the optimizers' counters: all notes that have one must agree on its offset from the step."""
    ahead = {state.step - state.updates for state in known if state.step is not None and state.updates is not None}
    if not updates or len(ahead) != 1:
        return Restored(step=None, why=NO_MATCH)
    step = updates + ahead.pop()
    exact = [state for state in known if state.step == step]
    return Restored(step=step, by="updates", state=exact[-1] if exact else None)


def mark_of(model: Any) -> str:
    """Hash the parameters; of a sharded model, this rank's part. Changes nothing and draws no random numbers."""
    parameters = list(model_hash.unwrap(model).parameters())
    chosen = parameters[:: max(1, -(-len(parameters) // TENSORS))]
    digest = hashlib.blake2b(digest_size=16)
    for parameter in chosen:
        plain = parameter.detach()
        if hasattr(plain, "to_local"):
            plain = plain.to_local()
        digest.update(f"{tuple(plain.shape)}|{plain.dtype}\n".encode())
        _feed(digest, plain)
    return digest.hexdigest()


def _feed(digest: Any, plain: Any) -> None:
    count = plain.numel()
    if not count:
        return
    flat = plain.reshape(-1)[:: max(1, -(-count // ELEMENTS))].cpu().contiguous()
    digest.update((ctypes.c_char * (flat.numel() * flat.element_size())).from_address(flat.data_ptr()))


def updates_of(optimizers: Iterable[Any]) -> int | None:
    """The largest update count in the optimizers' state; None if none counts."""
    counts = [count for optimizer in optimizers for count in _counts(optimizer)]
    return max(counts, default=None)


def _counts(optimizer: Any) -> Iterator[int]:
    """The counters of an optimizer's first parameters that have one: those frozen later fall behind."""
    for state in list(optimizer.state.values())[:TENSORS]:
        step = state.get("step") if isinstance(state, dict) else None
        if step is not None:
            with suppress(TypeError, ValueError, RuntimeError):
                yield int(step)


def _of(path: Path) -> Iterator[State]:
    """Parse the notes of a file; skip a line that a kill cut short."""
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, TypeError):
                yield State(**json.loads(line))
