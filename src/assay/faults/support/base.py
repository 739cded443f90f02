"""When does a planned fault strike, and what does a kind of fault have to do?

In a training the decision is pure and looks only at what the workers last said about themselves: a fault strikes
`delay_steps` steps after the job's `after_checkpoints`-th checkpoint, or while the next one is being saved, once in each of the
first `times` incarnations of the workers; what can be undone is undone `for_s` later.  Under a load it strikes at a moment, and is undone
at another (`assay.faults.support.under_load`).  What a kind does is its act alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from assay.errors import Problem
from assay.launchers.support import supervisor
from assay.record.progress import Progress
from assay.spec.plan import PlannedFault
from assay.spec.sections.faults import Fault as Asked
from assay.spec.sections.faults import own_keys
from assay.spec.sections.serving import Target

if TYPE_CHECKING:
    from assay.launchers.support.servers import Replicas

Undo = Callable[[], None]


class Front(Protocol):
    """What stands between the load and the replicas."""

    def before(self, url: str) -> str:
        """An address that leads through it to `url`. Raises ValueError or RuntimeError if there can be none."""
        ...

    def close(self) -> None:
        """Take it away."""
        ...


@dataclass(frozen=True, kw_only=True)
class Struck:
    """What a fault under load may touch."""

    replica: int
    url: str  # the replica's own
    target: Target
    replicas: Replicas | None = None  # None: the servers are not assay's own
    front: Any = None  # what the fault's own `front` made
    front_url: str = ""  # the replica's address through it
    log: Path | None = None  # for what a command prints
    mark: str = ""  # begins the value of ASSAY_MARK of what the act starts (mark + "act."): at the end it is killed

    @property
    def own(self) -> Replicas:
        """The replicas.

        Raises:
            OSError: they are not assay's own.
        """
        if self.replicas is None:
            raise OSError(f"assay did not start {self.target.name} and cannot reach its processes")
        return self.replicas


@dataclass(frozen=True, kw_only=True)
class Victim:
    """The worker of a training that a fault hits."""

    pid: int
    rank: int
    log: Path | None = None  # for what a command prints
    mark: str = ""  # begins the value of ASSAY_MARK of what the act starts, as in `Struck`

    def family(self) -> list[int]:
        """Its processes: the worker, and whatever it started to load data.

        Raises:
            ProcessLookupError: it is gone already.
        """
        if not Path(f"/proc/{self.pid}").exists() and Path("/proc/self").exists():
            raise ProcessLookupError(f"process {self.pid} of rank {self.rank} is gone")
        return [self.pid, *supervisor.descendants(self.pid)]


AskedOfKind = TypeVar("AskedOfKind", bound=Asked)


def of_kind(keys: type[AskedOfKind], fault: PlannedFault) -> AskedOfKind:
    """What was asked for of a training, with the kind's own keys: whatever was read has those of all kinds."""
    assert fault.training is not None
    return cast("AskedOfKind", fault.training)


def _nothing_to_add(asked: Mapping[str, Any]) -> Iterable[Problem]:
    return ()


def _everywhere(asked: Asked, target: Target) -> None:
    return


def _on_any_training(asked: Asked) -> None:
    return


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A kind of fault."""

    name: str
    # In a training: acts, and gives back what undoes it. Either raises OSError if it cannot.
    strike: Callable[[Victim, PlannedFault], Undo | None] | None = None
    # In a training, before anything is started. Raises SpecError or EnvironmentLacks.
    check_training: Callable[[Any], None] = _on_any_training
    # Under a load: acts, and gives back what undoes it. Either raises OSError or RuntimeError if it cannot.
    on_load: Callable[[Struck, Any], Undo | None] | None = None
    needs: Literal["pids", "proxy", ""] = ""  # pids: replicas that assay started
    keys: type[Asked] = Asked  # the model of what may be asked for, with the kind's own keys
    # What is wrong with the keys as they were written, perhaps of the wrong types; `where` is the key's name.
    rule: Callable[[Mapping[str, Any]], Iterable[Problem]] = _nothing_to_add
    ends_worker: bool | None = None  # in a training, whether the worker ends by it and is started again; None: it depends
    further: tuple[str, ...] = ()  # keys of every fault that say how this kind acts
    undone_at_end: bool = True  # whether it must be undone although the load is over
    # Before anything is started. Raises SpecError or EnvironmentLacks.
    check: Callable[[Any, Target], None] = _everywhere
    # What has to stand before the replicas: (asked, target, mark, seed). Raises EnvironmentLacks.
    front: Callable[[Any, Target, str, int], Front] | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The keys that say how it acts; they stand in its event."""
        return (*own_keys(self.keys), *self.further)


NEVER = -1  # no incarnation was struck yet


def aim(progress: Mapping[int, Progress], fault: PlannedFault, struck: int = NEVER) -> int | None:
    """The step from which the fault may strike, as far as it can be told now; None while too few checkpoints are saved.

    `struck`: the last incarnation that it has struck; its checkpoints do not count again.
    The caller keeps the first answer: later checkpoints must not push the fault away.
    """
    if fault.after_checkpoints == 0:
        return fault.delay_steps
    saved = [
        rank.checkpoint_step for rank in progress.values() if rank.checkpoints >= fault.after_checkpoints and rank.incarnation > struck
    ]
    return max(saved) + fault.delay_steps if saved else None


def victim_now(progress: Mapping[int, Progress], fault: PlannedFault, aimed_at: int | None, struck: int = NEVER) -> int | None:
    """The rank that is to be struck now; None: not yet. In an incarnation that is to be struck and was not, once the step aimed at is
    reached; of a fault during a checkpoint the rank that is saving one, for often that is one rank alone."""

    def due(seen: Progress) -> bool:
        return struck < seen.incarnation < fault.times

    if fault.during_checkpoint:
        chosen = fault.training.rank if fault.training is not None else None
        for rank, seen in sorted(progress.items()):
            if seen.saving and due(seen) and seen.checkpoints >= fault.after_checkpoints and chosen in (None, rank):
                return rank
        return None
    victim = progress.get(fault.rank)
    if aimed_at is None or victim is None or not due(victim) or victim.steps < aimed_at:
        return None
    return fault.rank
