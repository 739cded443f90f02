"""replica_imbalance: shares of the load, and times of the replicas."""

from __future__ import annotations

from tests.serving_made import ServingMade
from tests.verdict.served import blind, clean, found


def shared(first: int, *, of: int = 100, slow_s: float = 0.1, replicas: int = 2) -> ServingMade:
    """Replica 0 gets the first so many of the requests, the last replica the rest; it takes `slow_s` to its first text."""
    made = ServingMade(rate=(10.0,), blocks=3, replicas=replicas)
    for block in range(3):
        launch = made.launch(block=block)
        for place in range(of):
            mine = place < first
            made.request(launch, 0.1 * place, replica=0 if mine else replicas - 1, ttft_s=0.1 if mine else slow_s)
    return made


def test_even_shares_and_equal_times_are_fine() -> None:
    assert found("replica_imbalance", shared(50).measured()) == ()
    assert found("replica_imbalance", clean()) == ()


def test_more_than_a_quarter_above_the_even_share_is_named() -> None:
    assert found("replica_imbalance", shared(62).measured()) == ()
    (finding,) = found("replica_imbalance", shared(70).measured())
    assert (finding.rule, finding.severity) == ("replicas_uneven", "warning")
    assert finding.evidence == "replica 0 was sent 1.4 times its even share (70 of 100 requests; 3 of 3 launches, launches 0, 1, 2)"


def test_a_replica_that_got_nothing_counts() -> None:
    (finding,) = found("replica_imbalance", shared(100).measured())
    assert finding.evidence.startswith("replica 0 was sent 2 times its even share")


def test_what_a_router_shares_out_is_not_seen() -> None:
    """It is one address, so that every request seems to go to the first replica."""
    made = shared(100)
    serving = made.experiment.serving
    assert serving is not None
    (target,) = serving.targets
    behind = target.model_copy(update={"urls": (), "command": ("serve", "{port}"), "replicas": 2, "router": ("proxy", "{port}", "{ports}")})
    made.experiment = made.experiment.model_copy(update={"serving": serving.model_copy(update={"targets": (behind,)})})
    assert found("replica_imbalance", made.measured()) == ()
    assert blind("replica_imbalance", made.measured()) is not None


def test_a_replica_that_is_half_as_fast_is_named() -> None:
    (finding,) = found("replica_imbalance", shared(50, slow_s=0.2).measured())
    assert finding.rule == "replicas_unequal"
    assert finding.evidence.startswith("replica 1 takes 2 times as long to its first text as the fastest one")


def test_few_requests_and_one_replica_show_nothing() -> None:
    assert found("replica_imbalance", shared(30, of=39).measured()) == ()
    assert blind("replica_imbalance", shared(30, of=39).measured()) is not None
    assert found("replica_imbalance", shared(100, replicas=1).measured()) == ()
