"""Is pass@1 refused for texts, which have no tests?"""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.errors import SpecError
from fireassay.quality.scoring.metrics.words import PASS_AT_1
from fireassay.stats.intervals.item_means import Solved, pass_at_k


def test_a_text_has_no_tests() -> None:
    with pytest.raises(SpecError, match="assay evaluate --task humaneval"):
        PASS_AT_1.prepare({})


@pytest.mark.parametrize(("samples", "right"), [(1, 0), (1, 1), (10, 3), (200, 7)])
def test_the_share_that_passes_is_the_unbiased_estimate(samples: int, right: int) -> None:
    rows = np.array([[right / samples]])
    assert PASS_AT_1.score(rows) == pytest.approx(pass_at_k(Solved(samples=samples, right=right), 1))
