"""Which engines served a load, with which settings, and what do they report about themselves?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.serving import Serving, Target
from fireassay.verdict.conditions.condition import Read
from fireassay.verdict.conditions.sources.environment import seen
from fireassay.verdict.conditions.sources.experiment import NOT_ASKED


def of(read: Callable[[RecordData, Target, Serving], Mapping[str, Any]]) -> Read:
    """Facts about every engine: "fact", or "name.fact" if a record has several."""

    def facts(measured: RecordData, _: Results) -> Any:
        serving = measured.experiment.serving
        if serving is None:
            return None
        targets = targets_of(serving)
        return {
            fact if len(targets) == 1 else f"{target.name}.{fact}": value
            for target in targets
            for fact, value in read(measured, target, serving).items()
        }

    return facts


def requested(measured: RecordData, target: Target, serving: Serving) -> Mapping[str, Any]:
    """The requested settings of an engine, without addresses and credentials."""
    return {
        "backend": target.backend,
        "model": target.model or serving.model or NOT_ASKED,
        "command": list(target.command),
        "router": list(target.router),
        "environment": dict(target.environment),
        "options": dict(target.options),
        "replicas": len(target.urls) or target.replicas,
        "balance": target.balance,
        "headers": sorted(target.headers),
        "restart": target.restart if target.command else NOT_ASKED,
    }


def version(measured: RecordData, target: Target, _: Serving) -> Mapping[str, Any]:
    """The version that the engine reports, if any (environment.before.engines)."""
    reported = seen(measured, "engines", target.name, "said")
    try:
        answer = json.loads(reported) if isinstance(reported, str) else reported
    except ValueError:  # truncated
        answer = None
    version = answer.get("version") if isinstance(answer, Mapping) else None
    return {"version": version} if isinstance(version, str | int | float) else {}


def address(_: RecordData, target: Target, __: Serving) -> Mapping[str, Any]:
    return {"name": target.name, "urls": list(target.urls) or NOT_ASKED}
