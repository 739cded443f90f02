"""cross_talk: answers with another's nonce."""

from __future__ import annotations

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.cross_talk import METRIC
from tests.serving_made import ServingMade


def asked(texts: list[str]) -> ServingMade:
    """Canaries nonce-01, nonce-011 and nonce-02, and then requests without a nonce."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    nonces = ["nonce-01", "nonce-011", "nonce-02"]
    for second, text in enumerate(texts):
        canary = second < len(nonces)
        made.request(number, float(second), kind="canary" if canary else "normal", expected=nonces[second] if canary else None, text=text)
    return made


def test_an_answer_with_a_stranger_s_nonce_counts_once() -> None:
    """The third answer holds two strangers' nonces, the fourth one; "nonce-01" inside of "nonce-011" is no stranger's."""
    value = METRIC.compute(asked(["nonce-01", "nonce-011", "nonce-01 nonce-011", "is nonce-02", "-"]).measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (2.0, 5)


def test_a_clean_record_counts_none_and_one_without_canaries_says_so() -> None:
    clean = METRIC.compute(asked(["nonce-01", "no", "nonce-02"]).measured(), {})["rate=1"]
    assert isinstance(clean, Estimate)
    assert (clean.value, clean.low, clean.high) == (0.0, 0.0, 0.0)
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), 0.0, text="hello")
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
