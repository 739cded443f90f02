"""How is a fault injected into a load, when does it strike, and how is the outage observed?

Only fault launches have proxies and probes: in a timed launch assay adds nothing between client and server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fireassay import catalog
from fireassay.errors import WorkloadError
from fireassay.faults.support.base import Fault, Front, Struck
from fireassay.faults.support.under_load import Strike, check
from fireassay.instruments.engines.prober import Prober
from fireassay.runners.load.engines import Engine
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import PlannedLaunch, targets_of
from fireassay.units import NS_PER_S

EmitAt = Callable[[str, int, int | None, Mapping[str, Any]], None]  # kind, ns, replica, detail


def check_faults(experiment: Experiment) -> None:
    """Check that every requested fault can strike its engines.

    Raises:
        SpecError, EnvironmentLacks: one cannot.
    """
    assert experiment.serving is not None
    for spec in experiment.faults:
        fault: Fault = catalog.load("faults", spec.kind)
        for target in targets_of(experiment.serving):
            if spec.target in ("", target.name):
                check(fault, spec, target)


class FaultInjection:
    """The fault of one launch, if any. A context manager that undoes a lasting fault at its end."""

    def __init__(self, planned: PlannedLaunch, engine: Engine, emit: EmitAt, log: Path, mark: str) -> None:
        """`log`: for commands' output; `mark`: FIREASSAY_MARK of started processes."""
        self._planned, self._engine, self._emit, self._log, self._mark = planned, engine, emit, log, mark
        self._stack = ExitStack()
        self._strike: Strike | None = None
        self.urls: dict[int, str] = {}  # replica -> URL of assay's proxy in front of it

    def __enter__(self) -> Self:
        try:
            self._set_up()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _set_up(self) -> None:
        planned = self._planned.fault
        if planned is None or planned.serving is None:
            return
        fault: Fault = catalog.load("faults", planned.kind)
        spec, engine = planned.serving, self._engine
        front: Front | None = None
        if fault.front is not None:
            front = fault.front(spec, engine.target, self._mark, self._planned.seed)
            self._stack.callback(front.close)
            try:
                self.urls = {number: front.before(url) for number, url in enumerate(engine.urls)}
            except (ValueError, RuntimeError) as error:
                raise WorkloadError(f"no proxy could be put in front of {engine.target.name}: {error}") from None
        urls = engine.replicas.replica_urls if engine.replicas is not None else engine.urls
        struck = Struck(
            replica=planned.rank,
            url=urls[planned.rank],
            target=engine.target,
            replicas=engine.replicas,
            front=front,
            # In front of a router all replicas share one proxy.
            front_url=self.urls.get(planned.rank, self.urls.get(0, "")),
            log=self._log,
            mark=self._mark,
        )
        seen = {number: self.urls.get(number, url) if urls == engine.urls else url for number, url in enumerate(urls)}
        self._stack.enter_context(Prober(tuple(seen.values()), engine.target, self._emit))
        self._strike = self._stack.enter_context(Strike(fault, struck, spec, self._emit))

    def begin(self, measured_ns: int) -> None:
        """Schedule the fault; the load's measured part begins at this monotonic time."""
        planned = self._planned.fault
        if self._strike is not None and planned is not None and planned.serving is not None:
            self._strike.at(measured_ns + round(planned.serving.at_s * NS_PER_S))

    def end(self) -> None:
        """End of the load: no more strikes, and lasting faults are undone."""
        if self._strike is not None:
            self._strike.close()

    @property
    def missed(self) -> str:
        """Why the fault did not strike; "" if it did, or if there is none."""
        return self._strike.missed if self._strike is not None else ""
