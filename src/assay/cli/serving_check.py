"""What can be said of a serving engine after ten requests, before a load is put on it?  (`assay load URL --check`)

The requests are those that the load would send: the same client, texts and flags, one request alone and nine with up to three in
flight.  Their record is read and thrown away: ten requests say how an engine answers, not how fast.  Each line is a sentence with
what was seen, and a sign where it would spoil a load.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from assay import catalog
from assay.cli.running import run
from assay.errors import Interrupted, WorkloadError
from assay.metrics.format import count, number, reading
from assay.printable import columns, json_text
from assay.record.reader import open_record, record_folders
from assay.units import NS_PER_S, SECONDS
from assay.verdict.audits.answer_model import a_form_of
from assay.verdict.audits.answers_as_asked import impossible, whole

if TYPE_CHECKING:
    from assay.spec.experiment import Experiment
    from assay.spec.serving import Serving

ALONE: Final = 1
TOGETHER: Final = 9
AT_ONCE: Final = 3
LONGEST_S: Final = 120.0  # of the whole check
PATIENCE_S: Final = 60.0  # for one answer, where --request-timeout does not say otherwise
PAUSE_S: Final = 2.0  # longest wait behind 429 or 503: the check tells of them, it need not get past them
LIMITS: Final = (429, 503)
TEXT: Final = (1, 2, 3)  # kinds of chunks that bear tokens
MERGED: Final = 1.05  # tokens per event from which on events are not tokens
COLD: Final = 2.0  # times the others' first token
COLD_S: Final = 0.02  # and so much later
HINTS: Final[Mapping[int, str]] = {
    401: "name the variable that holds the key: --api-key-env VAR",
    403: "name the variable that holds the key: --api-key-env VAR",
    404: "look at the URL's path and at --model",
    405: "look at the URL's path and at --task",
    400: "look at --model, --task and the lengths (--scenario)",
    422: "look at --model, --task and the lengths (--scenario)",
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that the requests showed; `mind`: it would spoil a load, or what is read from it."""

    name: str
    text: str
    mind: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The ten requests: their rows, what was asked for, and what the answers told."""

    serving: Serving
    requests: pl.DataFrame  # joined with `asked_out`, the output tokens that were asked for
    model: str
    models: Mapping[str, int]  # answers by the model that they name
    limits: Mapping[str, str]  # headers

    @property
    def answered(self) -> pl.DataFrame:
        """Those that were answered well."""
        return self.requests.filter(pl.col("status") == "ok")

    @property
    def streamed(self) -> bool:
        """Whether streams were asked for."""
        return self.serving.stream and catalog.load("traffic.tasks", self.serving.task).streams


# ---- making the requests -----------------------------------------------------------------------------------------


def check(experiment: Experiment, *, patience_s: float | None) -> Seen:
    """Send ten requests and read what came of them; nothing is kept.

    Raises:
        SpecError, EnvironmentLacks: they cannot be sent.
        Interrupted: stopped by a signal.
    """
    small = of_ten(experiment, patience_s)
    with tempfile.TemporaryDirectory(prefix="assay-check-") as folder:
        root = Path(folder)
        try:
            run(small, folder=Path(), root=root)
        except WorkloadError:
            if not record_folders(root):
                raise
        except Interrupted:
            raise Interrupted("stopped; a check keeps nothing") from None
        return _seen(small, record_folders(root)[0])


def of_ten(experiment: Experiment, patience_s: float | None) -> Experiment:
    """The same experiment with nine requests, one more for each replica alone, and nothing that takes time besides."""
    serving = experiment.serving
    assert serving is not None
    arrivals = type(serving.arrivals)(
        duration_s=LONGEST_S, requests=TOGETHER, warm_up_s=0.0, cold=ALONE, drain_s=PATIENCE_S
    )
    client = {
        "timeout_s": patience_s or PATIENCE_S,
        "most_pause_s": min(PAUSE_S, serving.client.most_pause_s),
        "processes": 1,
    }
    small = serving.model_copy(update={
        "arrivals": arrivals, "concurrency": (AT_ONCE,), "rate": (), "search": False, "scenarios": serving.scenarios[:1],
        "correctness": type(serving.correctness)(), "client": serving.client.model_copy(update=client),
        "prompts": serving.prompts.model_copy(update={"turns": 1, "answer_field": ""}),
    })  # fmt: skip
    launches = experiment.launches.model_copy(update={"per_configuration": 1, "precision": None})
    noise = experiment.noise.model_copy(update={"sentinel_s": 0.0, "repeat": 0})
    return experiment.model_copy(update={"serving": small, "launches": launches, "noise": noise, "quality": None})


def _seen(experiment: Experiment, path: Path) -> Seen:
    record = open_record(path)
    serving = experiment.serving
    assert serving is not None
    asked = record.table("arrivals").select("launch", "request", asked_out="tokens_out")
    requests = record.table("requests").join(asked, on=["launch", "request"], how="left")
    told: dict[str, Any] = {}
    for kind, detail in record.table("events").select("kind", "detail").iter_rows():
        if kind in ("answer_models", "answer_limits"):
            told[kind] = json.loads(detail)
    model = serving.targets[0].model or serving.model
    models = told.get("answer_models", {}).get("answered", {})
    return Seen(serving=serving, requests=requests, model=model, models=models, limits=told.get("answer_limits", {}))


# ---- what they showed --------------------------------------------------------------------------------------------


def lines(seen: Seen) -> tuple[Line, ...]:
    """What the requests showed, one line for each question."""
    found = [_answers(seen)]
    if seen.answered.height:
        found += [_streams(seen), _model(seen), _usage(seen)]
        found += [_tokens_per_event(seen), _lengths(seen)] if seen.streamed else []
    found += [_rate_limit(seen), *_compression(seen)]
    if seen.answered.height:
        found += [_connections(seen), _cold(seen)]
    return tuple(found)


def _answers(seen: Seen) -> Line:
    well, all_of = seen.answered.height, seen.requests.height
    data = {"answered": well, "requests": all_of}
    failed = seen.requests.filter(pl.col("status") != "ok")
    if failed.height == 0:
        return Line(name="answers", text=f"{well} of {count(all_of, 'requests')} were answered", data=data)
    kinds = ", ".join(f"{n} {status}" for status, n in failed["status"].value_counts(sort=True).iter_rows())
    text = f"{well} of {count(all_of, 'requests')} were answered; {kinds}"
    errors = failed["error"].drop_nulls()
    text += f"; the last error: {errors[-1]}" if errors.len() else ""
    hints = [HINTS[status] for status in failed["http_status"].drop_nulls().unique().sort() if status in HINTS]
    return Line(name="answers", text="; ".join([text, *dict.fromkeys(hints)]), mind=True, data=data)


def _streams(seen: Seen) -> Line:
    if not seen.streamed:
        return Line(name="streams", text="not asked for: there is no time to first token", data={"streams": None})
    answered = seen.answered
    gathered = answered.filter(whole()).height
    if gathered:
        text = f"no: {gathered} of {count(answered.height, 'answers')} came as one JSON though a stream was asked for, so that there is no time to first token"
        return Line(name="streams", text=text, mind=True, data={"streams": False})
    times = answered.select(
        chunks=pl.col("chunk_kind").list.eval(pl.element().is_in(TEXT)).list.sum(),
        instants=pl.col("chunk_ns").list.n_unique(),
        spread=(pl.col("last_token_ns") - pl.col("first_token_ns")) / NS_PER_S,
    )
    several = times.filter(pl.col("chunks") > 1)
    at_once = several.filter(pl.col("instants") == 1).height
    if several.height and 2 * at_once >= several.height:
        text = f"in form only: all events of an answer came in one read in {at_once} of {several.height} answers, as from a proxy that gathers them"
        return Line(name="streams", text=text, mind=True, data={"streams": False})
    text = f"yes: {number(_median(times['chunks']), 0)} events with text in an answer, over {reading(_median(times['spread']), SECONDS)} (medians)"
    return Line(name="streams", text=text, data={"streams": True, "events": _median(times["chunks"])})


def _model(seen: Seen) -> Line:
    data = {"asked": seen.model, "answered": dict(seen.models)}
    if not seen.models:
        return Line(name="model", text="the answers name none", data=data)
    shown = ", ".join(f'"{name}"' for name in seen.models)
    if not seen.model:
        return Line(name="model", text=f"{shown} answered; none was asked for (--model)", data=data)
    if set(seen.models) == {seen.model}:
        return Line(name="model", text=f"{shown} answered, as asked", data=data)
    alien = not all(a_form_of(name, seen.model) for name in seen.models)
    text = f'"{seen.model}" was asked for, {shown} answered{"" if alien else ", a form of the same name"}'
    return Line(name="model", text=text, mind=alien, data=data)


def _usage(seen: Seen) -> Line:
    answered = seen.answered
    told = answered.filter(pl.col("tokens_out").is_not_null() | pl.col("tokens_in").is_not_null())
    if told.height == 0:
        text = "none is told: tokens are known with the model's own tokenizer only (--tokenizer PATH)"
        return Line(name="usage", text=text, mind=True, data={"usage": None})
    spent = f"{number(_median(told['tokens_in']), 0)} tokens in and {number(_median(told['tokens_out']), 0)} out at the median"
    wrong = told.filter(impossible(padded=seen.serving.ignore_eos).fill_null(False)).height if seen.streamed else 0
    data = {"usage": not wrong, "told": told.height, "impossible": wrong}
    if wrong:
        text = f"not plausible: in {wrong} of {count(told.height, 'answers')} the text cannot have as many tokens as are told ({spent})"
        return Line(name="usage", text=text, mind=True, data=data)
    if told.height < answered.height:
        text = f"told by {told.height} of {count(answered.height, 'answers')} only: {spent}"
        return Line(name="usage", text=text, mind=True, data=data)
    return Line(name="usage", text=f"plausible: {spent}", data=data)


def _tokens_per_event(seen: Seen) -> Line:
    told = seen.answered.drop_nulls("tokens_out")
    events = int(told["chunk_kind"].list.eval(pl.element().is_in(TEXT)).list.sum().sum())
    tokens = int(told["tokens_out"].sum())
    if not events or not tokens:
        return Line(name="tokens per event", text="not known without usage", data={"tokens_per_event": None})
    each = tokens / events
    text = f"{number(each, 2)}: {count(tokens, 'tokens')} in {count(events, 'events')} with text"
    if each >= MERGED:
        text += ", so that a gap between two events is not the time of a token"
    return Line(name="tokens per event", text=text, data={"tokens_per_event": each, "tokens": tokens, "events": events})


def _lengths(seen: Seen) -> Line:
    told = seen.answered.drop_nulls(["tokens_out", "asked_out"])
    if told.height == 0:
        return Line(name="lengths", text="not known: no length was asked for, or no usage is told")
    short = told.filter(pl.col("tokens_out") != pl.col("asked_out")).height
    asked, came = int(told["asked_out"].sum()), int(told["tokens_out"].sum())
    data = {"asked": asked, "came": came}
    if not short:
        return Line(name="lengths", text=f"as asked: {count(came, 'tokens')} in all", data=data)
    text = f"{short} of {count(told.height, 'answers')} are longer or shorter than asked: {came:,} tokens came, {asked:,} were asked for"
    return Line(name="lengths", text=text, mind=True, data=data)


def _rate_limit(seen: Seen) -> Line:
    met = seen.requests.filter(pl.col("http_status").is_in(LIMITS)).height
    headers = ", ".join(f"{name}: {text}" for name, text in seen.limits.items())
    told = f"; its headers say {headers}" if headers else ""
    data = {"limited": met, "headers": dict(seen.limits)}
    if met:
        text = f"met: {met} of {count(seen.requests.height, 'requests')} were told to come later (429 or 503){told}"
        return Line(name="rate limit", text=text, mind=True, data=data)
    text = f"none met by {count(seen.requests.height, 'requests')}, {AT_ONCE} at a time{told}"
    return Line(name="rate limit", text=text, data=data)


def _compression(seen: Seen) -> tuple[Line, ...]:
    """Nothing is known of it where nothing was answered."""
    errors = seen.requests["error"].fill_null("")
    packed = int(errors.str.starts_with("the server compressed").sum())
    if packed:
        text = f"{packed} of {count(errors.len(), 'answers')} are compressed though no compression was asked for: tokens have no times of their own then"
        return (Line(name="compression", text=text, mind=True, data={"compressed": packed}),)
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
        text = f"not kept alive: {count(fresh.len(), 'connections')} for {count(sent.height, 'requests')}, {cost} each, which every latency holds"
        return Line(name="connections", text=text, mind=True, data=data)
    return Line(
        name="connections",
        text=f"kept alive: {count(fresh.len(), 'connections')} for {count(sent.height, 'requests')}",
        data=data,
    )


def _cold(seen: Seen) -> Line:
    timed = seen.answered.with_columns(
        first=(pl.coalesce("first_token_ns", "done_ns") - pl.col("sent_ns")) / NS_PER_S
    ).drop_nulls("first")
    alone = timed.filter(pl.col("phase") == "cold")["first"]
    others = timed.filter(pl.col("phase") == "main")["first"]
    what = "first token" if seen.streamed else "answer"
    if not alone.len() or not others.len():
        return Line(name="cold or warm", text="not known: the first request or all others failed")
    begin, later = float(alone.max()), _median(others)  # type: ignore[arg-type]
    text = f"the first request had its {what} after {reading(begin, SECONDS)}, the others after {reading(later, SECONDS)} (median of {others.len()})"
    cold = begin > COLD * later and begin > later + COLD_S
    mend = ": let it warm up (--warm-up, --cold)" if cold else ""
    return Line(
        name="cold or warm",
        text=f"{'cold' if cold else 'warm'}: {text}{mend}",
        mind=cold,
        data={"first_s": begin, "others_s": later},
    )


def _median(values: pl.Series) -> float:
    found = values.median()
    return float(found) if isinstance(found, int | float) else float("nan")


# ---- showing it --------------------------------------------------------------------------------------------------


def page(urls: tuple[str, ...], found: tuple[Line, ...]) -> str:
    """A sentence, and a line for each thing; a sign before what should be minded."""
    minded = [line for line in found if line.mind]
    head = f"{' '.join(urls)}: " + (
        f"mind {count(len(minded), 'things')} before a load" if minded else "nothing stands against a load"
    )
    return "\n".join([head, "", *columns(("!" if line.mind else " ", line.name, line.text) for line in found)])


def document(urls: tuple[str, ...], found: tuple[Line, ...]) -> str:
    """The same for programs."""
    told = {"urls": urls, "fit": not any(line.mind for line in found), "lines": [asdict(line) for line in found]}
    return json_text(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))


def exit_code(seen: Seen) -> int:
    """0: it answers; else as for a load of which nothing was answered."""
    return 0 if seen.answered.height else WorkloadError.exit_code
