"""When does a planned fault strike, and what must each kind of fault implement?

In training the decision is a pure function of the workers' last reported progress: a fault strikes `delay_steps` steps after the
job's `after_checkpoints`-th checkpoint, or while the next one is being saved, once in each of the first `times` incarnations of the
workers; a reversible fault is undone `for_s` later.  Under load it strikes and is undone at given times
(`fireassay.faults.support.under_load`).  A kind of fault implements only the act.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from fireassay.errors import Problem
from fireassay.launchers.support import supervisor
from fireassay.record.live.progress import Progress
from fireassay.spec.plan import PlannedFault
from fireassay.spec.sections.faults import Fault as FaultSpec
from fireassay.spec.sections.faults import own_keys
from fireassay.spec.sections.serving import Target

if TYPE_CHECKING:
    from fireassay.launchers.support.servers import Replicas

Undo = Callable[[], None]


class Front(Protocol):
    """A proxy between the load and the replicas."""

    def before(self, url: str) -> str:
        """An address that leads through the proxy to `url`. Raises ValueError or RuntimeError if there can be none."""
        ...

    def close(self) -> None:
        """Remove the proxy."""
        ...


@dataclass(frozen=True, kw_only=True)
class Struck:
    """The objects a fault under load may act on."""

    replica: int
    url: str  # the replica's own
    target: Target
    replicas: Replicas | None = None  # None: assay does not own the servers
    front: Any = None  # returned by the fault's own `front`
    front_url: str = ""  # the replica's address through the front
    log: Path | None = None  # for a command's output
    mark: str = ""  # prefix of FIREASSAY_MARK for processes the act starts (mark + "act."); they are killed at the end

    @property
    def own(self) -> Replicas:
        """The replicas. Raises OSError: assay does not own them."""
        if self.replicas is None:
            raise OSError(f"assay did not start {self.target.name} and cannot reach its processes")
        return self.replicas


@dataclass(frozen=True, kw_only=True)
class Victim:
    """The training worker that a fault hits."""

    pid: int
    rank: int
    log: Path | None = None  # for a command's output
    mark: str = ""  # prefix of FIREASSAY_MARK for processes the act starts, as in `Struck`

    def family(self) -> list[int]:
        """Its processes: the worker and its children, such as data loaders. Raises ProcessLookupError: the worker has already exited."""
        if not Path(f"/proc/{self.pid}").exists() and Path("/proc/self").exists():
            raise ProcessLookupError(f"process {self.pid} of rank {self.rank} is gone")
        return [self.pid, *supervisor.descendants(self.pid)]


AskedOfKind = TypeVar("AskedOfKind", bound=FaultSpec)


def of_kind(keys: type[AskedOfKind], fault: PlannedFault) -> AskedOfKind:
    """The planned training fault, validated with its kind's own keys; the parsed fault holds the keys of all kinds."""
    assert fault.training is not None
    return cast("AskedOfKind", fault.training)


def _nothing_to_add(asked: FaultSpec) -> Iterable[Problem]:
    return ()


def _everywhere(asked: FaultSpec, target: Target) -> None:
    return


def _on_any_training(asked: FaultSpec) -> None:
    return


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A kind of fault."""

    name: str
    # In training: act and return the undo. Either raises OSError on failure.
    strike: Callable[[Victim, PlannedFault], Undo | None] | None = None
    # In training, before launch. Raises SpecError or EnvironmentLacks.
    check_training: Callable[[Any], None] = _on_any_training
    # Under load: act and return the undo. Either raises OSError or RuntimeError on failure.
    on_load: Callable[[Struck, Any], Undo | None] | None = None
    needs: Literal["pids", "proxy", ""] = ""  # pids: needs replicas that assay started
    keys: type[FaultSpec] = FaultSpec  # model of the fault's keys, the kind's own included
    # Contradictions between the keys; `where` is the key's name.
    rule: Callable[[Any], Iterable[Problem]] = _nothing_to_add
    ends_worker: bool | None = None  # in training, whether the worker exits and is restarted; None: it depends
    further: tuple[str, ...] = ()  # keys common to all faults that parameterise this kind
    undone_at_end: bool = True  # whether it must be undone even after the load has ended
    # Before launch. Raises SpecError or EnvironmentLacks.
    check: Callable[[Any, Target], None] = _everywhere
    # Creates the proxy before the replicas: (asked, target, mark, seed). Raises EnvironmentLacks.
    front: Callable[[Any, Target, str, int], Front] | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The keys that parameterise the act; they are part of its event."""
        return (*own_keys(self.keys), *self.further)


NEVER = -1  # no incarnation struck yet


def aim(progress: Mapping[int, Progress], fault: PlannedFault, struck: int = NEVER) -> int | None:
    """First step at which the fault may strike, from current progress; None while too few checkpoints are saved.

    `struck`: the last incarnation struck; its checkpoints do not count again.
    The caller keeps the first result: later checkpoints must not postpone the fault.
    """
    if fault.after_checkpoints == 0:
        return fault.delay_steps
    saved = [
        rank.checkpoint_step for rank in progress.values() if rank.checkpoints >= fault.after_checkpoints and rank.incarnation > struck
    ]
    return max(saved) + fault.delay_steps if saved else None


def victim_now(progress: Mapping[int, Progress], fault: PlannedFault, aimed_at: int | None, struck: int = NEVER) -> int | None:
    """The rank to strike now; None: not yet.

    At most once per incarnation.  By default: the fault's rank, once it reaches the step `aimed_at`.  For a fault during a checkpoint:
    a rank that is saving one, since often only one rank saves.
    """

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
