"""How fast are images and speech made?

Images per second are answers per second times the images of each.  The real-time factor of speech is the time of the whole answer by the
time that its audio plays: below 1 the audio arrives faster than it is heard.  The playing time is the bytes of the answer by the bytes
of a second, which the target's option `audio_bytes_per_s` states (the 44 bytes of a WAV's header count as audio: a millisecond).
The time to the first audio is that of the first chunk: ttft_p50 and its kin.
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
from fireassay.metrics.serving.pooled import in_series, nothing, per_second, quotients, tally, within
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.scenario import parse
from fireassay.units import BYTES, PER_SECOND, RATIO

IMAGES: Final = "text_to_image"
SPEECH: Final = "text_to_speech"
OPTION: Final = "audio_bytes_per_s"
NO_RATE: Final = Absent(
    "not_measured", f"how long the audio plays is unknown: set the target's option {OPTION} (48000 for WAV of 24 kHz, 16 bit, mono)"
)


def _is_of(measured: RecordData, *tasks: str) -> bool:
    return measured.experiment.serving is not None and measured.experiment.serving.task in tasks


MEDIA = partial(Metric, dimension="performance", about=("serving",))


def _images(measured: RecordData, _: Results) -> Mapping[str, Value]:
    many = {one.name: (parse(one.scenario).images[2] if one.scenario else 0) or 1 for one in measured.varied}
    each = pl.col("configuration").replace_strict(list(many), list(many.values()), return_dtype=pl.Int64, default=1)
    launches = measured.timed.select("launch", each.alias("images"))
    answers = within(measured, ENDED, pl.col("ok")).join(launches, on="launch")
    return per_second(
        measured,
        answers.select("launch", pl.col("above") * pl.col("images")),
        unit=PER_SECOND,
        name="image_throughput",
        aggregate="images of the answers that ended in the window",
        missing="no request was answered",
    )


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


METRICS = (
    MEDIA(
        name="image_throughput",
        title="Images per second",
        unit=PER_SECOND,
        kind="rate",
        better="higher",
        formula="images of the answers that ended in the window / window",
        question="How many images are made per second?",
        caveat="Images of one size and one number of steps only are comparable; the scenario states the size, the engine sets the steps.",
        compute=_images,
        requested=lambda measured: _is_of(measured, IMAGES),
        needs=frozenset({"window"}),
        primary=True,
        rank=313,
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
