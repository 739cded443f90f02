"""Claims: statistics."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.spec.experiment import Quality
from fireassay.verdict.claims.audits.statistics import claim_quality_unmeasured
from fireassay.verdict.types import QUALITY_AT_FLOOR
from tests.verdict.claiming import LATENCY, NOTHING, NUMBER, QUALITY, claim, found, the_finding
from tests.verdict.making import change, good, judged, wrong


@pytest.mark.slow
def test_a_claim_with_five_launches_and_an_interval_is_clear() -> None:
    assert found(claim()) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"launches": NOTHING, "trials": NOTHING}, "no number of launches is given"),
        ({"launches": NOTHING}, "500 trials inside a launch say nothing about the next launch"),
        ({"launches": 3, "planned_launches": 3}, "3 launches; a reliable interval needs 5"),
        ({"interval": NOTHING}, "no interval is given"),
        ({"interval": {"low": 5.8, "high": 6.2, "kind": "standard_deviation"}}, "a standard deviation is given, which is not an interval"),
        ({"interval": {"low": 5.8, "high": 6.2}}, "the kind of interval is not stated"),
    ],
)
def test_a_claim_without_launches_or_interval_has_too_little_evidence(change: dict[str, object], words: str) -> None:
    assert found(claim(change)) == {"evidence_insufficient": "warning"}
    assert words in the_finding(claim(change), "evidence_insufficient").evidence


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["best", "max"])
def test_the_best_of_several_is_inadmissible(statistic: str) -> None:
    finding = the_finding(claim({"statistic": statistic}), "best_of_n")
    assert (finding.severity, finding.needs) == ("invalid", ("launch_values",))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "unit", "flattering", "plain"),
    [
        ("step time", "s", "min", "max"),
        ("latency", "ms", "min", "max"),
        ("cost", "USD", "min", "max"),
        ("peak memory", "GB", "min", "max"),
        ("throughput", "tokens/s", "max", "min"),
        ("speedup", "ratio", "max", "min"),
    ],
)
def test_the_worst_of_several_is_no_best(metric: str, unit: str, flattering: str, plain: str) -> None:
    def picked(statistic: str) -> bool:
        number = {"metric": metric, "unit": unit, "statistic": statistic, "baseline": NOTHING}
        return "best_of_n" in found(claim(number))

    assert (picked(flattering), picked(plain)) == (True, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("up to 24x the throughput", True),
        ("up to 2.3 times faster", True),
        ("as much as 40 % faster", True),
        ("best of 10 runs", True),
        ("up to 10,000 tokens/s", True),
        ("busbw as high as 161 Gbps", True),
        ("loads of up to 30 requests/s", False),
        ("twice as fast as A", False),
        ("on up to 64 GPUs", False),
        ("up to 4 times as many workers", False),
        ("6 times as fast", False),
        ("latency of up to 30 ms", False),
    ],
)
def test_a_best_case_in_words_is_one(text: str, picked: bool) -> None:
    said = claim(claim={"text": text, "source": "s", "exclusive": True})
    assert ("best_case_in_words" in found(said)) is picked


@pytest.mark.slow
def test_one_launch_and_launches_left_out_are_named() -> None:
    assert found(claim({"launches": 1, "planned_launches": 1}))["one_launch"] == "warning"
    finding = the_finding(claim({"planned_launches": 12}), "launches_left_out")
    assert finding.severity == "invalid"
    assert finding.evidence == "7 of 12 launches were left out of it"


@pytest.mark.slow
def test_a_number_that_does_not_say_which_statistic_it_is_is_left_open() -> None:
    assert found(claim({"statistic": NOTHING})) == {"statistic_unsaid": "note"}
    assert found(claim()) == {}


@pytest.mark.slow
def test_an_extreme_beside_the_middle_of_the_same_is_not_picked() -> None:
    least, middle = (
        LATENCY | {"statistic": "min", "value": 0.1, "interval": None},
        LATENCY | {"statistic": "median", "value": 0.15, "interval": None},
    )
    numbers = [{key: value for key, value in number.items() if value is not None} for number in (least, middle)]
    assert "best_of_n" in found(claim(numbers=numbers[:1]))
    assert "best_of_n" not in found(claim(numbers=numbers))


@pytest.mark.parametrize("statistic", ["mean", "median", "p50"])
def test_a_latency_with_nothing_but_its_middle_is_named(statistic: str) -> None:
    said = claim(numbers=[LATENCY | {"statistic": statistic}])
    assert found(said) == {"tail_not_reported": "warning"}


def test_a_percentile_of_the_tail_beside_it_clears_it() -> None:
    middle = LATENCY | {"statistic": "median", "value": 0.1, "interval": {"low": 0.09, "high": 0.11, "kind": "confidence"}}
    assert found(claim(numbers=[middle, LATENCY])) == {}


def test_a_speedup_has_no_tail_to_report() -> None:
    assert found(claim()) == {}


@pytest.mark.parametrize(
    "metric",
    [
        "ttft",
        "TPOT",
        "itl",
        "e2e",
        "e2el",
        "inter-token latency",
        "time to first token",
        "time per output token",
        "queue time",
        "waiting time",
        "TBT",
        "response time",
        "end-to-end latency",
        "1st token latency",
        "round-trip time",
        "decode time",
        "queueing delay",
        "latency_ms",
    ],
)
def test_a_wait_has_many_names(metric: str) -> None:
    wait = LATENCY | {"metric": metric, "statistic": "mean"}
    assert "tail_not_reported" in found(claim(numbers=[wait]))
    assert "tail_not_reported" not in found(claim(numbers=[wait, wait | {"statistic": "p99", "value": 0.21}]))


@pytest.mark.parametrize(
    "metric",
    ["step time", "epoch time", "training time", "end-to-end training time", "end-to-end speedup", "data wait", "all-reduce latency"],
)
def test_nobody_waits_for_a_training(metric: str) -> None:
    assert "tail_not_reported" not in found(claim(numbers=[LATENCY | {"metric": metric, "statistic": "mean"}]))


def test_the_statistic_may_stand_in_the_name_and_a_tail_belongs_to_one_system() -> None:
    plain = {key: value for key, value in LATENCY.items() if key != "statistic"}
    assert "tail_not_reported" in found(claim(numbers=[plain | {"metric": "mean TTFT (ms)"}]))
    assert "tail_not_reported" not in found(claim(numbers=[plain | {"metric": "p99 TTFT (ms)"}]))
    two = [
        LATENCY | {"of": "A"},
        LATENCY | {"of": "A", "statistic": "mean", "value": 0.19},
        LATENCY | {"of": "B", "statistic": "mean", "value": 0.19},
    ]
    assert the_finding(claim(numbers=two), "tail_not_reported").configuration == "latency (mean) of B"


def latency(**changes: object) -> dict[str, object]:
    return {key: value for key, value in {**LATENCY, **changes}.items() if value is not NOTHING}


@pytest.mark.parametrize(("statistic", "least"), [("p90", 36), ("p95", 72), ("p99", 368), ("p999", 3688)])
def test_one_trial_less_than_the_least_is_inadmissible(statistic: str, least: int) -> None:
    few, enough = (claim(numbers=[latency(statistic=statistic, trials=n)]) for n in (least - 1, least))
    assert found(few) == {"too_few_trials": "invalid"}
    assert found(enough) == {}


def test_a_percentile_without_its_trials_is_left_open() -> None:
    assert found(claim(numbers=[latency(trials=NOTHING)])) == {"trials_unsaid": "note"}


def test_a_speed_beside_which_nothing_is_said_about_quality_is_named() -> None:
    finding = the_finding(claim(quality=None), "quality_not_measured")
    assert (finding.severity, finding.needs) == ("warning", ("quality",))
    assert found(claim()) == {}


def test_quality_of_other_launches_is_inadmissible() -> None:
    assert found(claim(quality={"same_launches": False})) == {"quality_of_other_runs": "invalid"}


@pytest.mark.parametrize(("candidate", "named"), [(0.89, False), (0.889, True), (0.95, False)])
def test_a_loss_beyond_the_margin_is_inadmissible(candidate: float, named: bool) -> None:
    """Baseline 0.90, margin 0.01."""
    assert found(claim(quality={"candidate": candidate})) == ({"quality_lost": "invalid"} if named else {})


def test_of_a_perplexity_the_lower_is_better() -> None:
    worse = {"metric": "perplexity", "direction": "lower", "baseline": 10.0, "candidate": 10.5, "margin": 0.1}
    assert found(claim(quality=worse)) == {"quality_lost": "invalid"}
    assert found(claim(quality=worse | {"candidate": 9.0})) == {}


@pytest.mark.parametrize(("items", "named"), [(298, True), (299, False)])
def test_so_few_items_that_no_such_margin_can_be_shown_are_named(items: int, named: bool) -> None:
    """Without a single change n items bound one by 1 - 0.05^(1/n): 299 are needed for one point (quality.md 3.2)."""
    assert found(claim(quality={"items": items})) == ({"quality_items_too_few": "warning"} if named else {})


@pytest.mark.parametrize("key", ["same_launches", "margin", "baseline", "candidate"])
def test_quality_of_which_something_is_not_said_is_left_open(key: str) -> None:
    assert found(claim(quality=QUALITY | {key: NOTHING})) == {"quality_unsaid": "note"}


def test_scores_among_the_numbers_do_not_say_where_they_are_from() -> None:
    numbers = [{"metric": "accuracy", "value": 0.9, "run": "r1"}, {"metric": "accuracy", "value": 0.9, "run": "r1"}]
    assert found(claim(numbers=numbers, quality=None)) == {}, "without a speed there is nothing to hold quality against"


def quality(**changes: Any) -> dict[str, str]:
    return found(claim(quality=changes))


def test_a_loss_needs_a_margin() -> None:
    assert quality(candidate=0.89, margin=NOTHING)["quality_lost_without_margin"] == "warning"
    assert "quality_lost_without_margin" not in quality(candidate=0.91, margin=NOTHING)
    assert quality(candidate=0.895) == {}


@pytest.mark.parametrize(
    ("metric", "base", "candidate", "said"),
    [
        ("accuracy", 0.763, 0.741, "worse by 2.2 points"),
        ("accuracy", 76.3, 74.1, "worse by 2.2 points"),
        ("loss", 2.45, 2.5, "worse by 0.05"),
    ],
)
def test_a_loss_is_told_first_and_by_how_much(metric: str, base: float, candidate: float, said: str) -> None:
    made = claim(quality={"metric": metric, "baseline": base, "candidate": candidate, "margin": NOTHING, "same_launches": NOTHING})
    first, *_ = claim_quality_unmeasured(made)
    assert first.rule == "quality_lost_without_margin"
    assert first.evidence.partition(", and no")[0].endswith(said)


def test_the_direction_follows_from_the_score_where_it_is_not_said() -> None:
    worse = {"metric": "perplexity", "baseline": 12.1, "candidate": 13.5, "margin": 0.1}
    assert quality(**worse)["quality_lost"] == "invalid"
    assert quality(**worse, direction="higher")["direction_contradicts_metric"] == "warning"
    assert quality(**worse | {"candidate": 11.0}) == {}


def test_points_and_fractions_are_bounded_alike_by_their_items() -> None:
    """95 %: 300 items bound a change by 1 - 0.05^(1/300) = 0.994 points."""
    points = {"baseline": 90.2, "candidate": 90.2, "margin": 0.5}
    assert quality(**points, items=300)["quality_items_too_few"] == "warning"
    assert quality(**points, items=20_000) == {}
    assert quality(margin=0.005, items=300)["quality_items_too_few"] == "warning"


def test_a_score_that_is_given_as_a_number_with_its_base_is_compared() -> None:
    score = {"metric": "accuracy", "value": 0.88, "run": "r1", "baseline": {"value": 0.92}}
    assert found(claim(numbers=[NUMBER, score], quality=None))["quality_lost_without_margin"] == "warning"


def test_a_collective_has_no_score_and_a_cheaper_answer_has_one() -> None:
    busbw = {key: value for key, value in NUMBER.items() if key != "baseline"} | {
        "metric": "bus bandwidth",
        "unit": "GB/s",
        "statistic": "median",
    }
    assert found(claim(numbers=[busbw], quality=None)) == {}
    cost = NUMBER | {"metric": "cost", "unit": "USD", "baseline": {"kind": "other_system", "value": 9.0, "unit": "USD"}}
    assert found(claim(numbers=[cost], quality=None))["quality_not_measured"] == "warning"


@pytest.mark.slow
@pytest.mark.parametrize(("right", "found"), [(10, True), (14, True), (15, False)])
def test_chance_is_a_floor_where_it_is_declared(right: int, found: bool) -> None:
    """One of four answers: 10 of 40 guess; 14 of 40 lead by .10, which is the margin; 15 lead by more."""
    quality = Quality(metric="accuracy", margin=0.10, chance=0.25)
    judgement = judged(good(right={1: right, 2: right}, quality=quality))
    assert (QUALITY_AT_FLOOR in wrong(judgement)) == found


@pytest.mark.slow
def test_of_errors_the_floor_is_all_wrong() -> None:
    """Lower is better: every error 1.  Losses that are no errors have no floor that anybody knows."""
    quality = Quality(metric="accuracy", direction="lower", margin=0.05)
    assert QUALITY_AT_FLOOR in wrong(judged(good(right={1: 40, 2: 40}, quality=quality)))
    made = good(right={1: 40, 2: 40}, quality=quality)
    change(made, "examples", 7, lambda row: 0.9 + 0.002 * int(row[4]))
    assert QUALITY_AT_FLOOR not in wrong(judged(made))


# ---- difference of scores ----

OTHER = {"kind": "other_system", "value": 85.44, "unit": "%"}
SCORE = {"metric": "accuracy", "value": 85.9, "unit": "%", "run": "r", "trials": 1319}


@pytest.mark.parametrize(
    ("text", "numbers", "within"),
    [
        # .859 .141 / 1319: one score to 0.96 points, a difference to 1.36; 0.46 is a third of that
        ("A beats B", [SCORE | {"baseline": OTHER}], True),
        (
            "A leads on GSM8K",
            [{k: v for k, v in SCORE.items() if k != "trials"} | {"of": of, "value": v} for of, v in (("A", 85.9), ("B", 85.4))],
            True,
        ),
        ("A gains", [SCORE | {"metric": "accuracy gain", "value": 0.46, "unit": "points"}], True),
        ("A beats B", [SCORE | {"value": 90.9, "baseline": OTHER}], False),  # 5.5 points
        ("A beats B", [SCORE | {"baseline": OTHER, "trials": 100_000}], False),  # 0.16
        ("A beats B", [SCORE | {"baseline": OTHER, "interval": {"low": 85.6, "high": 86.2, "kind": "confidence"}}], False),
        ("A is on par with B", [SCORE | {"baseline": OTHER}], False),
        ("6 times as fast", [NUMBER, SCORE | {"baseline": OTHER, "run": "r1"}], False),  # a score that was held
    ],
)
def test_a_difference_of_scores_is_held_against_its_standard_error(text: str, numbers: list[dict[str, Any]], within: bool) -> None:
    said = claim(numbers=numbers, claim={"text": text}, quality=None)
    assert ("scores_within_chance" in found(said)) is within
