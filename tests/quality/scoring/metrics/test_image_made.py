"""Is an answer an image of the requested size?"""

from __future__ import annotations

import pytest

from fireassay.errors import SpecError
from fireassay.quality.scoring.metrics.image_made import METRIC

IMAGE = f"png 64x32 1000 sha256:{'0' * 64}"


def scores(*answers: str, size: str = "") -> list[float]:
    prepared = METRIC.prepare({"size": size})
    return [float(row[0]) for row in prepared.statistics(answers, [()] * len(answers))]


def test_an_image_scores_one_and_anything_else_nothing() -> None:
    assert scores(IMAGE, "link", "", "a cat", f"{IMAGE} and more") == [1.0, 0.0, 0.0, 0.0, 0.0]


def test_with_a_size_every_image_has_to_have_it() -> None:
    other = IMAGE.replace("64x32", "32x64")
    assert scores(IMAGE, other, f"{IMAGE}\n{other}", size="64x32") == [1.0, 0.0, 0.0]


def test_the_signature_states_the_size_and_a_wrong_one_is_refused() -> None:
    assert METRIC.prepare({"size": "64x32"}).signature == "metric:image_made|size:64x32|v:1"
    with pytest.raises(SpecError, match="WIDTHxHEIGHT"):
        METRIC.prepare({"size": "large"})
