"""Which load was sent, and who counted its tokens?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions.condition import Read, equal, overlap
from fireassay.verdict.conditions.sources.environment import seen
from fireassay.verdict.conditions.sources.experiment import NOT_ASKED

ITEMS = "the items of the evaluation"


def of(*path: str) -> Read:
    """A key below [serving]; NOT_ASKED if it is unset."""

    def read(measured: RecordData, _: Results) -> Any:
        setting: Any = measured.experiment.serving
        if setting is None:
            return None
        for key in path:
            setting = getattr(setting, key, None)
            if setting is None or setting == "":
                return NOT_ASKED
        return list(setting) if isinstance(setting, tuple) else setting

    return read


def path(measured: RecordData, _: Results) -> Any:
    """The paths that the requests took; None if nothing was sent."""
    transports = measured.table("requests").filter(pl.col("sent_ns").is_not_null())["transport"].unique().sort().to_list()
    return (transports[0] if len(transports) == 1 else transports) if transports else None


def stages(measured: RecordData, _: Results) -> Any:
    serving = measured.experiment.serving
    if serving is None:
        return None
    return NOT_ASKED if not serving.arrivals.stages else [stage.model_dump(mode="json") for stage in serving.arrivals.stages]


def scenarios_fit(a: Any, b: Any) -> bool:
    """At least one in common if both sides name their scenarios in their configurations; else equality."""
    if isinstance(a, list) and isinstance(b, list) and len(a) > 1 and len(b) > 1:
        return overlap(a, b)
    return equal(a, b)


def kinds(measured: RecordData, _: Results) -> Any:
    """Whether loads are numbers in flight or rates, which are not comparable."""
    serving = measured.experiment.serving
    if serving is None:
        return None
    return "concurrency" if serving.concurrency else "rate" if serving.rate else "as the arrivals say"


def objectives(measured: RecordData, _: Results) -> Any:
    serving = measured.experiment.serving
    if serving is None:
        return None
    limits = serving.objectives.model_dump()
    return {name: NOT_ASKED if value is None else value for name, value in limits.items()}


def source(measured: RecordData, results: Results) -> Any:
    """Where the prompts are; for an evaluation its items, whose content has its own conditions."""
    return ITEMS if measured.experiment.evaluation else of("prompts", "source")(measured, results)


def prompts(measured: RecordData, _: Results) -> Any:
    serving = measured.experiment.serving
    return None if serving is None else serving.prompts.model_dump(exclude={"source"})


def checks_sent(measured: RecordData, _: Results) -> Any:
    """Requests sent for checks are part of the load."""
    serving = measured.experiment.serving
    return None if serving is None else serving.correctness.model_dump(exclude={"grade"})


def schedules(measured: RecordData, _: Results) -> Any:
    """Schedule key -> digest of all requests to send; None: nothing was digested.

    None for an evaluation: it sends every item, whatever the order, and its items and settings have conditions of their own.
    The key holds configuration, seed and all settings that determine a schedule: their differences are separate conditions.
    """
    digests, serving = measured.manifest.get("schedules"), measured.experiment.serving
    if serving is None or measured.experiment.evaluation or not isinstance(digests, Mapping):
        return None
    settings = serving.model_dump_json(include={"task", "scenarios", "tokenizer", "arrivals", "prompts", "correctness"})
    replicas = {configured.name: configured.workers for configured in measured.varied}
    by_schedule: dict[str, set[str]] = {}
    for launch, configuration, seed in measured.timed.select("launch", "configuration", "seed").iter_rows():
        entry = digests.get(str(launch))
        if isinstance(entry, Mapping) and entry.get("sha256"):
            fixed = hashlib.sha256(f"{settings} {replicas.get(configuration)}".encode()).hexdigest()[:8]
            by_schedule.setdefault(f"{configuration} seed={seed} settings={fixed}", set()).add(str(entry["sha256"])[:16])
    return {key: sorted(digests) for key, digests in by_schedule.items()} or None


def files(measured: RecordData, _: Results) -> Any:
    """Key of the experiment -> digest of the file that it names: prompts, tokenizer, trace.

    Without the data of an evaluation: its items have digests of their own, which another order of keys leaves as they are.
    """
    digests = seen(measured, "files")
    if not measured.experiment.evaluation or not isinstance(digests, Mapping):
        return digests
    return {key: digest for key, digest in digests.items() if key != "serving.prompts.source"}


def tokens_from(measured: RecordData, _: Results) -> Any:
    """The source of the counts of output tokens; None: there are none. For imports, foreign.tokens states it."""
    if not measured.kind.sends_requests or measured.foreign is not None:
        return None
    answered = measured.table("requests").filter((pl.col("status") == "ok") & (pl.col("phase") == "main"))
    if answered.height == 0:
        return None
    if answered["tokens_out"].is_not_null().mean() == 1.0:
        return "the server's usage"
    counted = measured.table("token_counts").select("launch", "request", pl.col("tokens_out").alias("counted"))
    joined = answered.select("launch", "request", "tokens_out").join(counted, on=["launch", "request"], how="left")
    if joined["tokens_out"].is_not_null().any():
        return "the server's usage in part"
    return "the tokenizer" if joined["counted"].is_not_null().any() else None
