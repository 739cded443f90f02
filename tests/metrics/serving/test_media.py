"""Images per second, bytes per answer, and the real-time factor of speech."""

from __future__ import annotations

import pytest

from fireassay.metrics.results import LazyResults
from fireassay.metrics.serving.media import METRICS
from fireassay.spec.sections.serving import Target
from tests.metrics.serving.values import absent, estimate
from tests.serving_made import ServingMade

BY_NAME = {metric.name: metric for metric in METRICS}


def loaded(blocks: int = 3, rate: int | None = 400, previews: int = 0, **serving: object) -> ServingMade:
    """An answer every second from 2 to 9 s; five chunks, which are 200 bytes, the last of them 0.6 s after it was due."""
    made = ServingMade(rate=(1.0,), blocks=blocks, warm_up_s=2.0, **serving)  # type: ignore[arg-type]
    for block in range(blocks):
        number = made.launch(block=block)
        for second in range(10):
            phase = "warm_up" if second < 2 else "main"
            made.request(number, float(second), ttft_s=0.2, gap_s=0.1, chunks=5, tokens_out=None, tokens_in=None, phase=phase)
    options: dict[str, str | int | float | bool] = {} if rate is None else {"audio_bytes_per_s": rate}
    options |= {"partial_images": previews} if previews else {}
    assert made.experiment.serving is not None
    targets = (Target(name="server", urls=("http://127.0.0.1:8000",), options=options),)
    section = made.experiment.serving.model_copy(update={"targets": targets})
    made.experiment = made.experiment.model_copy(update={"serving": section})
    return made


def test_the_real_time_factor_is_the_latency_by_the_playing_time() -> None:
    """200 bytes of 400 a second play for 0.5 s, and the last came after 0.6 s: 1.2."""
    value = estimate(BY_NAME["real_time_factor_p50"], loaded(task="text_to_speech", scenarios=("A(50)",)))
    assert (value.value, value.unit) == (pytest.approx(1.2), "ratio")


def test_without_the_bytes_of_a_second_there_is_no_factor() -> None:
    value = absent(BY_NAME["real_time_factor_p50"], loaded(rate=None, task="text_to_speech", scenarios=("A(50)",)))
    assert (value.reason, "audio_bytes_per_s" in value.detail) == ("not_measured", True)


def test_images_are_answers_times_their_number() -> None:
    """7 answers of 3 images end in the window of 7 s."""
    made = loaded(task="text_to_image", scenarios=("I(64,64,3)",))
    assert estimate(BY_NAME["image_throughput"], made).value == pytest.approx(3.0)
    assert estimate(BY_NAME["image_throughput"], loaded(task="text_to_image")).value == pytest.approx(1.0)
    assert estimate(BY_NAME["answer_bytes_mean"], made).value == pytest.approx(200.0)


def test_the_time_to_an_image_is_that_of_the_answer_by_its_images() -> None:
    """The last byte comes 0.6 s after the request was due, with three images: 0.2 s."""
    value = estimate(BY_NAME["image_time_p50"], loaded(task="text_to_image", scenarios=("I(64,64,3)",)))
    assert (value.value, value.unit) == (pytest.approx(0.2), "s")


def test_an_image_costs_the_window_by_the_images_made_in_it() -> None:
    """A replica at 3600 dollars an hour is a dollar a second, for an answer of three images."""
    made = loaded(task="text_to_image", scenarios=("I(64,64,3)",), prices=3600.0)
    value = estimate(BY_NAME["cost_per_image"], made)
    assert (value.value, value.unit) == (pytest.approx(1.0 / 3.0), "USD/image")
    assert absent(BY_NAME["energy_per_image"], made).reason == "not_measured"


def test_the_first_preview_is_the_first_chunk() -> None:
    made = loaded(task="text_to_image", previews=4)
    assert estimate(BY_NAME["preview_time_p50"], made).value == pytest.approx(0.2)
    assert absent(BY_NAME["preview_time_p50"], loaded(task="text_to_image")).reason == "not_applicable"


def test_images_have_no_tokens_to_time() -> None:
    results = LazyResults(loaded(task="text_to_image").measured())
    for name in ("ttft_p50", "tpot_p50", "itl_p99", "output_throughput"):
        value = results[name]["rate=1"]
        assert (getattr(value, "reason", ""), "images have no tokens" in getattr(value, "detail", "")) == ("not_applicable", True), name


def test_a_load_of_text_has_none_of_them_and_speech_has_no_tokens() -> None:
    assert not set(BY_NAME) & set(LazyResults(loaded().measured()))
    speech = LazyResults(loaded(task="text_to_speech", scenarios=("A(50)",)).measured())
    for name in ("output_throughput", "tpot_p50", "itl_p99"):
        value = speech[name]["rate=1"]
        assert getattr(value, "reason", "") == "not_applicable", name
    assert "image_throughput" not in speech
