"""What do ten requests reveal about a serving engine, before it is loaded?

`assay load URL --check` sends the requests of the load with the same client, texts and flags: one alone, and nine with up to three
in flight.  The record is read and deleted: ten requests show how an engine answers, not how fast.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from fireassay import catalog
from fireassay.api.experiment_run import run
from fireassay.errors import Interrupted, WorkloadError
from fireassay.estimates.format import count, number, reading
from fireassay.frames.serving.requests import TEXT
from fireassay.record.lookup import record_folders
from fireassay.record.reader import open_record
from fireassay.record.scratch import scratch
from fireassay.reports.pages.serving_check import Line
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.serving import Arrivals, Correctness, Serving
from fireassay.traffic.client.refusals import CURES, NO_PATH, elsewhere
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.serving.answers import a_form_of, came_whole, impossible
from fireassay.verdict.audits.serving.engine import LIMITS

ALONE: Final = 1
TOGETHER: Final = 9
AT_ONCE: Final = 3
MAX_S: Final = 120.0  # until the last request is sent
TIMEOUT_S: Final = 60.0  # of a request, unless --request-timeout is given
PAUSE_S: Final = 2.0  # longest pause after 429 or 503: the check reports the limit and need not get past it
MERGED: Final = 1.05  # tokens per event above which an event is not a token
COLD: Final = 2.0  # first latency over the median of the others
COLD_S: Final = 0.02  # least difference between them


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The ten requests: their rows, the load they belong to, and what the answers reported."""

    serving: Serving
    requests: pl.DataFrame  # with `asked_out`, the requested output tokens
    model: str  # requested
    models: Mapping[str, int]  # answers by reported model
    limits: Mapping[str, str]  # headers

    @property
    def answered(self) -> pl.DataFrame:
        """The successful ones."""
        return self.requests.filter(pl.col("status") == "ok")

    @property
    def streamed(self) -> bool:
        """True if streams were requested."""
        return self.serving.stream and catalog.load("traffic.tasks", self.serving.task).streams


# ---- making the requests -----------------------------------------------------------------------------------------


def check(small: Experiment) -> Seen:
    """Run `of_ten` and read its record, which is deleted.

    Raises:
        SpecError, EnvironmentLacks: it cannot be started.
        Interrupted: stopped by a signal.
    """
    with scratch() as root:
        try:
            run(small, folder=Path(), root=root)
        except WorkloadError:
            if not record_folders(root):
                raise
        except Interrupted:
            raise Interrupted("stopped while the server was tried out, of which nothing is kept") from None
        return _seen(small, record_folders(root)[0])


def of_ten(experiment: Experiment) -> Experiment:
    """The experiment with nine requests, plus one alone per replica, and without anything else that takes time."""
    serving = experiment.serving
    assert serving is not None
    timeout_s = serving.client.timeout_s if "timeout_s" in serving.client.model_fields_set else TIMEOUT_S
    pause_s = min(PAUSE_S, serving.client.most_pause_s)
    client = {"timeout_s": timeout_s, "most_pause_s": pause_s, "first_pause_s": min(pause_s, serving.client.first_pause_s), "processes": 1}
    arrivals = Arrivals(duration_s=MAX_S, requests=TOGETHER, warm_up_s=0.0, cold=ALONE, drain_s=timeout_s)
    small = serving.model_copy(
        update={
            "arrivals": arrivals,
            "concurrency": (AT_ONCE,),
            "rate": (),
            "search": False,
            "scenarios": serving.scenarios[:1],
            "correctness": Correctness(),
            "client": serving.client.model_copy(update=client),
            "prompts": serving.prompts.model_copy(update={"turns": 1, "answer_field": ""}),
        }
    )
    launches = experiment.launches.model_copy(update={"per_configuration": 1, "precision": None})
    noise = experiment.noise.model_copy(update={"sentinel_s": 0.0, "repeat": 0})
    return experiment.model_copy(update={"serving": small, "launches": launches, "noise": noise, "quality": None})


def announcement(small: Experiment) -> str:
    """How many requests are about to be sent, and how long each may take."""
    assert small.serving is not None
    requests = TOGETHER + ALONE * max(1, len(small.serving.targets[0].urls))
    return f"sending {requests} requests, at most {AT_ONCE} at a time, each with a timeout of {reading(small.serving.client.timeout_s, SECONDS)}"


def _seen(experiment: Experiment, path: Path) -> Seen:
    record = open_record(path)
    serving = experiment.serving
    assert serving is not None
    requested = record.table("arrivals").select("launch", "request", asked_out="tokens_out")
    requests = record.table("requests").join(requested, on=["launch", "request"], how="left")
    notes: dict[str, Any] = {}
    for kind, detail in record.table("events").select("kind", "detail").iter_rows():
        if kind in ("answer_models", "answer_limits"):
            notes[kind] = json.loads(detail)
    model = serving.targets[0].model or serving.model
    models = notes.get("answer_models", {}).get("answered", {})
    return Seen(serving=serving, requests=requests, model=model, models=models, limits=notes.get("answer_limits", {}))


# ---- findings -----------------------------------------------------------------------------------------------------


def lines(seen: Seen) -> tuple[Line, ...]:
    """One line per question."""
    result = [_answers(seen)]
    if seen.answered.height:
        result += [_streams(seen), _model(seen), _usage(seen)]
        result += [_tokens_per_event(seen), _lengths(seen)] if seen.streamed else []
    limit = _rate_limit(seen)
    result += [limit] if seen.answered.height or limit.warning or seen.limits else []  # without answers no limit shows
    result += _compression(seen)
    if seen.answered.height:
        result += [_connections(seen), _cold(seen)]
    return tuple(result)


def _answers(seen: Seen) -> Line:
    well, all_of = seen.answered.height, seen.requests.height
    data = {"answered": well, "requests": all_of}
    failed = seen.requests.filter(pl.col("status") != "ok")
    if failed.height == 0:
        return Line(name="answers", text=f"{well} of {count(all_of, 'requests')} were answered", data=data)
    kinds = ", ".join(f"{n} {status}" for status, n in failed["status"].value_counts(sort=True).iter_rows())
    text = f"{well} of {count(all_of, 'requests')} were answered: {kinds} failed"
    errors = failed["error"].drop_nulls()
    text += f"; the last error: {errors[-1]}" if errors.len() else ""
    hints = [_address(seen), *(CURES[status] for status in failed["http_status"].drop_nulls().unique().sort() if status in CURES)]
    text = "; ".join([text, *dict.fromkeys(hint for hint in hints if hint)])
    return Line(name="answers", text=text, warning=True, failed=well == 0, data=data)


def _address(seen: Seen) -> str:
    """The address to write where no path was found below the one given."""
    refused = set(seen.requests["http_status"].drop_nulls())
    if seen.answered.height or not refused or refused - set(NO_PATH):
        return ""
    return next(filter(None, (elsewhere(url) for target in targets_of(seen.serving) for url in target.urls)), "")


def _streams(seen: Seen) -> Line:
    if not seen.streamed:
        return Line(name="streams", text="not requested, so there is no time to first token", data={"streams": None})
    answered = seen.answered
    single = (pl.col("chunk_kind").list.len() == 1) & (pl.col("asked_out") > 1)
    gathered = answered.filter((came_whole() | single).fill_null(False)).height
    if gathered:
        text = f"no: {gathered} of {count(answered.height, 'answers')} came as a single JSON document, so there is no time to first token"
        return Line(name="streams", text=text, warning=True, data={"streams": False})
    times = answered.select(
        chunks=pl.col("chunk_kind").list.eval(pl.element().is_in(TEXT)).list.sum(),
        instants=pl.col("chunk_ns").list.n_unique(),
        spread=(pl.col("last_token_ns") - pl.col("first_token_ns")) / NS_PER_S,
    )
    several = times.filter(pl.col("chunks") > 1)
    at_once = several.filter(pl.col("instants") == 1).height
    if several.height and 2 * at_once >= several.height:
        text = f"in form only: all events arrived in one read in {at_once} of {several.height} answers; a proxy may be buffering"
        return Line(name="streams", text=text, warning=True, data={"streams": False})
    if not times["chunks"].sum():
        return Line(name="streams", text="yes, but no answer holds any text", warning=True, data={"streams": True, "events": 0})
    text = f"yes: {number(_median(times['chunks']), 0)} events with text per answer, over {reading(_median(times['spread']), SECONDS)} (medians)"
    return Line(name="streams", text=text, data={"streams": True, "events": _median(times["chunks"])})


def _model(seen: Seen) -> Line:
    data = {"asked": seen.model, "answered": dict(seen.models)}
    if not seen.models:
        return Line(name="model", text="not reported", data=data)
    shown = ", ".join(f'"{name}"' for name in seen.models)
    if not seen.model:
        return Line(name="model", text=f"{shown} answered; none was requested (--model)", data=data)
    if set(seen.models) == {seen.model}:
        return Line(name="model", text=f"{shown} answered, as requested", data=data)
    is_other_model = not all(a_form_of(name, seen.model) for name in seen.models)
    text = f'"{seen.model}" was requested, {shown} answered{"" if is_other_model else ", a variant of the same name"}'
    return Line(name="model", text=text, warning=is_other_model, data=data)


def _usage(seen: Seen) -> Line:
    answered = seen.answered
    reported = answered.filter(pl.col("tokens_out").is_not_null() | pl.col("tokens_in").is_not_null())
    if reported.height == 0:
        text = "not reported: counting tokens needs the model's tokenizer (--tokenizer PATH)"
        return Line(name="usage", text=text, warning=True, data={"usage": None})
    counts = {"in": _median(reported["tokens_in"]), "out": _median(reported["tokens_out"])}
    known = " and ".join(f"{number(n, 0)} tokens {way}" for way, n in counts.items() if not math.isnan(n))
    wrong = reported.filter(impossible(padded=seen.serving.ignore_eos).fill_null(False)).height if seen.streamed else 0
    data = {"usage": not wrong, "reported": reported.height, "impossible": wrong}
    if wrong:
        text = f"implausible: {wrong} of {count(reported.height, 'answers')} cannot hold the reported tokens ({known} at the median)"
    elif reported.height < answered.height:
        text = f"reported by only {reported.height} of {count(answered.height, 'answers')}: {known} at the median"
    else:
        text = f"plausible: {known} at the median"
    return Line(name="usage", text=text, warning=bool(wrong) or reported.height < answered.height, data=data)


def _tokens_per_event(seen: Seen) -> Line:
    counted = seen.answered.drop_nulls("tokens_out")
    events = int(counted["chunk_kind"].list.eval(pl.element().is_in(TEXT)).list.sum().sum())
    tokens = int(counted["tokens_out"].sum())
    if not events or not tokens:
        return Line(name="tokens per event", text="unknown without usage", data={"tokens_per_event": None})
    tokens_per_event = tokens / events
    text = f"{number(tokens_per_event, 2)}: {count(tokens, 'tokens')} in {count(events, 'events')} with text"
    if tokens_per_event >= MERGED:
        text += "; the gap between two events is not the time per token"
    return Line(name="tokens per event", text=text, data={"tokens_per_event": tokens_per_event, "tokens": tokens, "events": events})


def _lengths(seen: Seen) -> Line:
    counted = seen.answered.drop_nulls(["tokens_out", "asked_out"])
    if counted.height == 0:
        return Line(name="lengths", text="unknown: no length requested, or no usage reported")
    short = counted.filter(pl.col("tokens_out") != pl.col("asked_out")).height
    requested, received = int(counted["asked_out"].sum()), int(counted["tokens_out"].sum())
    data = {"requested": requested, "received": received}
    if not short:
        return Line(name="lengths", text=f"as requested: {count(received, 'tokens')} in total", data=data)
    text = f"{short} of {count(counted.height, 'answers')} differ from the requested length: {received:,} tokens received, {requested:,} requested"
    return Line(name="lengths", text=text, warning=True, data=data)


def _rate_limit(seen: Seen) -> Line:
    met = seen.requests.filter(pl.col("http_status").is_in(LIMITS)).height
    headers = ", ".join(f"{name}: {text}" for name, text in seen.limits.items())
    header_clause = f"; headers: {headers}" if headers else ""
    data = {"limited": met, "headers": dict(seen.limits)}
    if met:
        text = f"reached: {met} of {count(seen.requests.height, 'requests')} were rejected with 429 or 503{header_clause}"
        return Line(name="rate limit", text=text, warning=True, data=data)
    text = f"not reached by {count(seen.requests.height, 'requests')}, {AT_ONCE} at a time{header_clause}"
    return Line(name="rate limit", text=text, data=data)


def _compression(seen: Seen) -> tuple[Line, ...]:
    """No line without answers: compression is then unknown."""
    errors = seen.requests["error"].fill_null("")
    packed = int(errors.str.starts_with("the server compressed").sum())
    if packed:
        text = f"{packed} of {count(errors.len(), 'answers')} are compressed although the request forbids it, which hides when each token arrived"
        return (Line(name="compression", text=text, warning=True, data={"compressed": packed}),)
    if not seen.answered.height:
        return ()
    return (Line(name="compression", text="none", data={"compressed": 0}),)


def _connections(seen: Seen) -> Line:
    sent = seen.requests.filter(pl.col("sent_ns").is_not_null())
    fresh = sent["connect_ns"].drop_nulls()
    replicas = max(1, sent["replica"].n_unique())
    data = {"opened": fresh.len(), "requests": sent.height}
    cost = reading(_median(fresh) / NS_PER_S, SECONDS) if fresh.len() else ""
    if fresh.len() > replicas * AT_ONCE and 2 * fresh.len() > sent.height:
        text = f"not kept alive: {count(fresh.len(), 'connections')} for {count(sent.height, 'requests')}, {cost} each, included in every latency"
        return Line(name="connections", text=text, warning=True, data=data)
    return Line(name="connections", text=f"kept alive: {count(fresh.len(), 'connections')} for {count(sent.height, 'requests')}", data=data)


def _cold(seen: Seen) -> Line:
    timed = seen.answered.with_columns(first=(pl.coalesce("first_token_ns", "done_ns") - pl.col("sent_ns")) / NS_PER_S).drop_nulls("first")
    alone = timed.filter(pl.col("phase") == "cold")["first"]
    warm = timed.filter(pl.col("phase") == "main")["first"]
    subject = "first token" if seen.streamed else "answer"
    if not alone.len() or not warm.len():
        return Line(name="cold or warm", text="unknown: the first request or all others failed")
    begin, later = float(alone.max()), _median(warm)  # type: ignore[arg-type]
    text = f"{subject} after {reading(begin, SECONDS)} for the first request, {reading(later, SECONDS)} for the others (median of {warm.len()})"
    cold = begin > COLD * later and begin > later + COLD_S
    advice = "; raise --warm-up or --cold" if cold else ""
    return Line(
        name="cold or warm", text=f"{'cold' if cold else 'warm'}: {text}{advice}", warning=cold, data={"first_s": begin, "others_s": later}
    )


def _median(values: pl.Series) -> float:
    median = values.median()
    return float(median) if isinstance(median, int | float) else float("nan")


def exit_code(seen: Seen) -> int:
    """0 if anything was answered, else that of a failed load."""
    return 0 if seen.answered.height else WorkloadError.exit_code
