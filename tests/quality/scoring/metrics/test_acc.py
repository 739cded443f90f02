"""Is the choice with the largest sum chosen, and the first of equal ones?"""

from __future__ import annotations

import json

from fireassay.quality.scoring.metrics.acc import METRIC, statistics


def answer(*choices: tuple[float, int, int]) -> str:
    return json.dumps(
        [{"logprob": value, "tokens": 3, "characters": chars, "bytes": size, "scored_bytes": size + 1} for value, chars, size in choices]
    )


def test_its_own_normalisation_chooses() -> None:
    # sums: the first; per character -3/1, -4/2, -6/4: the third; per byte -3/1, -4/8, -6/4: the second
    answers = [answer((-3.0, 1, 1), (-4.0, 2, 8), (-6.0, 4, 4))] * 3
    assert statistics(answers, [("0",), ("1",), ("2",)])[:, 0].tolist() == [float(key == "0") for key in "012"]
    assert METRIC.score(statistics(answers, [("0",), ("0", "1", "2"), ("3",)])) == 2 / 3


def test_the_first_of_equal_choices_is_chosen() -> None:
    assert statistics([answer((-1.0, 1, 1), (-1.0, 1, 1))], [("1",)])[0, 0] == 0.0


def test_it_says_what_it_reads_and_how_it_normalises() -> None:
    assert METRIC.reads == "likelihoods"
    assert METRIC.prepare({}).signature.startswith("metric:acc|")
