"""How fast are images and speech made, and what do they cost?

Images per second are answers per second times the images of each.  The time to an image is that of the whole answer, by the images in it;
with previews (option `partial_images`) the first of them is timed too.  Images have no tokens.

The real-time factor of speech is the time of the whole answer by the time that its audio plays: below 1 the audio arrives faster than it is
heard.  The playing time is the bytes of the answer by the bytes of a second, which the target's option `audio_bytes_per_s` states (the 44
bytes of a WAV's header count as audio: a millisecond).  The time to the first audio is that of the first chunk: ttft_p50 and its kin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import tail_value
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import ENDED, WINDOW
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.serving.cost import dollars_per, joules_per
from fireassay.metrics.serving.pooled import in_series, nothing, per_second, quotients, tally, within
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.scenario import parse
from fireassay.units import BYTES, JOULES_PER_IMAGE, NS_PER_S, PER_SECOND, RATIO, SECONDS, USD_PER_IMAGE

IMAGES: Final = "text_to_image"
SPEECH: Final = "text_to_speech"
OPTION: Final = "audio_bytes_per_s"
NO_RATE: Final = Absent(
    "not_measured", f"how long the audio plays is unknown: set the target's option {OPTION} (48000 for WAV of 24 kHz, 16 bit, mono)"
)


def _is_of(measured: RecordData, *tasks: str) -> bool:
    return measured.experiment.serving is not None and measured.experiment.serving.task in tasks


MEDIA = partial(Metric, dimension="performance", about=("serving",))


UNANSWERED: Final = "no request was answered"
PARTIAL: Final = "partial_images"  # of a target
NO_PREVIEW: Final = Absent("not_applicable", f"no preview was requested: set the target's option {PARTIAL} = 1")


def _each(measured: RecordData) -> pl.Expr:
    """Images of an answer, by its configuration: those that the scenario asks for."""
    many = {one.name: (parse(one.scenario).images[2] if one.scenario else 0) or 1 for one in measured.varied}
    return pl.col("configuration").replace_strict(list(many), list(many.values()), return_dtype=pl.Int64, default=1)


def _made(measured: RecordData) -> pl.DataFrame:
    """(launch, above): images of the answers that ended in the window."""
    launches = measured.timed.select("launch", _each(measured).alias("images"))
    answers = within(measured, ENDED, pl.col("ok")).join(launches, on="launch")
    return answers.select("launch", pl.col("above") * pl.col("images"))


def _images(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return per_second(
        measured,
        _made(measured),
        unit=PER_SECOND,
        name="image_throughput",
        aggregate="images of the answers that ended in the window",
        missing=UNANSWERED,
    )


def _dollars(measured: RecordData, _: Results) -> Mapping[str, Value]:
    how = "cost of the window / images of the answers that ended in it"
    return dollars_per(measured, _made(measured), unit=USD_PER_IMAGE, name="cost_per_image", aggregate=how, missing=UNANSWERED)


def _joules(measured: RecordData, _: Results) -> Mapping[str, Value]:
    how = "joules in the window / images of the answers that ended in it"
    missing = f"no energy reading before and after the window, or {UNANSWERED}"
    return joules_per(measured, _made(measured), unit=JOULES_PER_IMAGE, name="energy_per_image", aggregate=how, missing=missing)


def _percentile(name: str, p: int, measured: RecordData, rows: pl.DataFrame) -> Mapping[str, Value]:
    """The p-th percentile of column `value`, seconds, of a frame (launch, configuration, value)."""
    series = in_series(measured, rows)

    def value(configuration: str) -> Value:
        if not series[configuration]:
            return nothing(measured, configuration, "no request in the measured window was answered")
        found = tail_value(series[configuration], p / 100, name, measured.confidence, "requests", few=True)
        return replace(found, method=f"{found.method}; {WINDOW}") if isinstance(found, Estimate) else found

    return {configuration: value(configuration) for configuration in measured.configurations}


def _image_time(p: int, measured: RecordData, _: Results) -> Mapping[str, Value]:
    answered = measured.counted_requests.filter(pl.col("ok"))
    rows = answered.select("launch", "configuration", (pl.col("e2e_s") / _each(measured)).alias("value"))
    return _percentile(f"image_time_p{p}", p, measured, rows)


def _preview_time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """The first chunk of a stream that has several is a preview."""
    serving = measured.experiment.serving
    if serving is None or not any(target.options.get(PARTIAL) for target in targets_of(serving)):
        return dict.fromkeys(measured.configurations, NO_PREVIEW)
    several = measured.table("requests").filter(pl.col("chunk_ns").list.len() > 1)
    firsts = several.select("launch", "request", pl.col("chunk_ns").list.first().alias("first_ns"))
    answered = measured.counted_requests.filter(pl.col("ok")).join(firsts, on=["launch", "request"], maintain_order="left")
    late_s = (pl.col("sent_ns") - pl.col("start_ns")) / NS_PER_S  # chunks are timed from the sending on
    rows = answered.select("launch", "configuration", (pl.col("first_ns") / NS_PER_S + late_s).alias("value"))
    return _percentile("preview_time_p50", 50, measured, rows)


def _bytes(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return quotients(
        measured,
        tally(measured.counted_requests.filter(pl.col("ok")), pl.col("bytes_in")),
        unit=BYTES,
        name="answer_bytes_mean",
        aggregate="bytes of answers / answers",
        missing="no request was answered",
        trials="below",
    )


def _factor(p: int, measured: RecordData, _: Results) -> Mapping[str, Value]:
    """The p-th percentile of latency / playing time."""
    serving = measured.experiment.serving
    rates = {} if serving is None else {target.name: target.options.get(OPTION, 0) for target in targets_of(serving)}
    per_s = {one.name: float(rates.get(one.target) or (next(iter(rates.values()), 0) if not one.target else 0)) for one in measured.varied}
    rate = pl.col("configuration").replace_strict(list(per_s), list(per_s.values()), return_dtype=pl.Float64, default=0.0)
    played = measured.counted_requests.filter(pl.col("ok") & (pl.col("bytes_in") > 0) & (rate > 0))
    series = in_series(measured, played.select("launch", "configuration", (pl.col("e2e_s") * rate / pl.col("bytes_in")).alias("value")))

    def value(name: str) -> Value:
        if not per_s[name]:
            return NO_RATE
        if not series[name]:
            return nothing(measured, name, "no request in the measured window was answered")
        found = tail_value(series[name], p / 100, f"real_time_factor_p{p}", measured.confidence, "requests", few=True)
        return replace(found, unit=RATIO, method=f"{found.method}; {WINDOW}") if isinstance(found, Estimate) else found

    return {name: value(name) for name in measured.configurations}


OF_IMAGES = partial(MEDIA, requested=lambda measured: _is_of(measured, IMAGES))
METRICS = (
    OF_IMAGES(
        name="image_throughput",
        title="Images per second",
        unit=PER_SECOND,
        kind="rate",
        better="higher",
        formula="images of the answers that ended in the window / window",
        question="How many images are made per second?",
        caveat="Images of one size and one number of steps only are comparable; the scenario states the size, the engine sets the steps.",
        compute=_images,
        needs=frozenset({"window"}),
        primary=True,
        rank=313,
    ),
    *(
        OF_IMAGES(
            name=f"image_time_p{p}",
            title=f"Time to an image, p{p}",
            unit=SECONDS,
            kind="level",
            better="lower",
            formula=f"{p / 100:g}-quantile of (last byte - start) / images of the answer",
            question="How long does an image take?",
            caveat="Of an answer with several images it is an equal share: nothing tells when each of them was ready. The whole answer is "
            "e2e. Images of one size and one number of steps only are comparable.",
            compute=partial(_image_time, p),
            primary=p == 50,
            rank=rank,
        )
        for p, rank in ((50, 316), (95, 317))
    ),
    OF_IMAGES(
        name="preview_time_p50",
        title="Time to the first preview, p50",
        unit=SECONDS,
        kind="level",
        better="lower",
        formula="0.5-quantile of first partial image - start",
        question="How soon is something of the image seen?",
        caveat="A preview may be made of very few steps; it is no image.",
        compute=_preview_time,
        rank=318,
    ),
    OF_IMAGES(
        name="cost_per_image",
        title="Cost per image",
        unit=USD_PER_IMAGE,
        kind="rate",
        better="lower",
        dimension="cost",
        formula="cost of the window / images of the answers that ended in it",
        question="What does an image cost?",
        caveat="Failed answers are paid for and made no image.",
        compute=_dollars,
        needs=frozenset({"window"}),
        primary=True,
        rank=609,
    ),
    OF_IMAGES(
        name="energy_per_image",
        title="Energy per image",
        unit=JOULES_PER_IMAGE,
        kind="rate",
        better="lower",
        dimension="cost",
        formula="joules in the window / images of the answers that ended in it",
        question="How many joules does an image use?",
        caveat="If the engine runs on another machine whose counters are not read, the joules are the client's: see the devices in telemetry.",
        compute=_joules,
        needs=frozenset({"window", "energy"}),
        rank=610,
    ),
    MEDIA(
        name="answer_bytes_mean",
        title="Bytes per answer",
        unit=BYTES,
        kind="rate",
        better="neither",
        formula="bytes of answers / answers",
        question="How large are the answers?",
        caveat="Of the answer's body: an image is a third larger in base64, and an answer with a link to it holds no image.",
        compute=_bytes,
        requested=lambda measured: _is_of(measured, IMAGES, SPEECH),
        rank=373,
    ),
    *(
        MEDIA(
            name=f"real_time_factor_p{p}",
            title=f"Real-time factor, p{p}",
            unit=RATIO,
            kind="ratio",
            better="lower",
            formula=f"{p / 100:g}-quantile of (last audio - start) / playing time",
            question="Does the audio arrive faster than it is heard?",
            caveat="The playing time is the bytes of the answer by the bytes of a second that the experiment states. It is that of the whole "
            "answer: the time to the first audio is in it, and a pause between two pieces does not show.",
            compute=partial(_factor, p),
            requested=lambda measured: _is_of(measured, SPEECH),
            primary=p == 50,
            rank=rank,
        )
        for p, rank in ((50, 314), (95, 315))
    ),
)
