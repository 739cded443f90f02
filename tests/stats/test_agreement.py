"""Is the agreement of two answers graded as quality.md section 5 says, on cases worked out by hand?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.agreement import GRADES, Told, first_divergence, grade, kl_lower_bound, odd_ones


def logs(**probabilities: float) -> dict[str, float]:
    return {token: math.log(p) for token, p in probabilities.items()}


@pytest.mark.parametrize(
    ("a", "b", "at"),
    [("", "", None), ("abc", "abc", None), ("abc", "abd", 2), ("abc", "xbc", 0), ("abc", "ab", 2), ("", "a", 0)],
)
def test_the_first_divergence(a: str, b: str, at: int | None) -> None:
    assert first_divergence(a, b) == at
    assert first_divergence(b, a) == at


def test_kl_of_whole_distributions_is_exact() -> None:
    # 1/2 ln(1/2 / 1/4) + 1/2 ln(1/2 / 3/4) = 0.5 ln 2 - 0.5 ln 1.5
    assert kl_lower_bound(logs(a=0.5, b=0.5), logs(a=0.25, b=0.75)) == pytest.approx(0.5 * math.log(2 / 1.5))
    assert kl_lower_bound(logs(a=0.5, b=0.5), logs(a=0.5, b=0.5)) == 0.0


def test_kl_of_the_most_likely_tokens_puts_the_others_together() -> None:
    # {a, rest}: 0.6 ln(0.6 / 0.5) + 0.4 ln(0.4 / 0.5)
    expected = 0.6 * math.log(1.2) + 0.4 * math.log(0.8)
    assert kl_lower_bound(logs(a=0.6, b=0.3), logs(a=0.5, c=0.3)) == pytest.approx(expected)
    assert kl_lower_bound(logs(a=0.6), logs(b=0.5)) == 0.0


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=2, max_size=8), st.data())
def test_the_bound_is_never_above_the_whole(weights: list[tuple[float, float]], data: st.DataObject) -> None:
    p = {k: math.log(a / sum(x for x, _ in weights)) for k, (a, _) in enumerate(weights)}
    q = {k: math.log(b / sum(y for _, y in weights)) for k, (_, b) in enumerate(weights)}
    whole = sum(math.exp(p[k]) * (p[k] - q[k]) for k in p)
    kept = data.draw(st.sets(st.sampled_from(sorted(p))))
    part = kl_lower_bound({k: p[k] for k in kept}, {k: q[k] for k in kept})
    assert 0.0 <= part <= whole + 1e-9


SAME = logs(x=0.9, y=0.05)


def test_equal_answers_are_bitwise_or_token_identical() -> None:
    one = Told(tokens="xx", top=[SAME, SAME])
    assert grade(one, Told(tokens="xx", top=[dict(SAME), dict(SAME)])).shown == "bitwise"
    found = grade(one, Told(tokens="xx", top=[SAME, logs(x=0.9 + 1e-12, y=0.05)]))
    assert (found.shown, found.possible, found.at) == ("token_identical", "token_identical", None)


def test_without_log_probabilities_only_bounds_are_known() -> None:
    equal = grade(Told(tokens="xx"), Told(tokens="xx"))
    assert (equal.shown, equal.possible) == ("token_identical", "bitwise")
    other = grade(Told(tokens="xx"), Told(tokens="xy"))
    assert (other.shown, other.possible, other.at) == ("fail", "near_tie", 1)


def test_a_gap_within_twice_the_noise_is_a_near_tie() -> None:
    # Before: |ln 0.9 - ln 0.89| = 0.01117. At the divergence: ln 0.48 - ln 0.472 = 0.01681, at most 2 x 0.01117.
    reference = Told(tokens="ab", top=[logs(a=0.9), logs(b=0.48, c=0.472)])
    other = Told(tokens="ac", top=[logs(a=0.89), logs(b=0.474, c=0.478)])
    found = grade(reference, other)
    assert (found.shown, found.possible, found.at) == ("near_tie", "near_tie", 1)
    assert found.noise == pytest.approx(math.log(0.9 / 0.89))
    assert found.gap == pytest.approx(math.log(0.48 / 0.472))


def test_a_wider_gap_is_only_close() -> None:
    # The same, but before it the distributions differ by 0.001 only: 2 x 0.00111 is less than 0.01681.
    reference = Told(tokens="ab", top=[logs(a=0.9), logs(b=0.48, c=0.472)])
    other = Told(tokens="ac", top=[logs(a=0.899), logs(b=0.474, c=0.478)])
    assert grade(reference, other).shown == grade(reference, other).possible == "distribution_close"


def test_distributions_far_apart_fail_however_small_the_gap() -> None:
    # 0.9 ln(0.9 / 0.6) + 0.1 ln(0.1 / 0.4) = 0.226 nats
    reference = Told(tokens="ab", top=[logs(a=0.9), logs(b=0.48, c=0.47)])
    other = Told(tokens="ac", top=[logs(a=0.6), logs(b=0.47, c=0.48)])
    found = grade(reference, other)
    assert (found.shown, found.possible) == ("fail", "fail")
    assert found.kl == pytest.approx(0.9 * math.log(1.5) + 0.1 * math.log(0.25))
    assert grade(reference, other, close=1.0).shown == "near_tie"


def test_a_divergence_at_the_first_token_has_no_noise_to_be_held_against() -> None:
    found = grade(Told(tokens="b", top=[logs(b=0.48, c=0.472)]), Told(tokens="c", top=[logs(b=0.474, c=0.478)]))
    assert (found.shown, found.possible, found.noise) == ("distribution_close", "near_tie", None)


def test_own_log_probabilities_alone_leave_the_gap_unknown() -> None:
    reference, other = Told.of("ab", [-0.105, -0.73]), Told.of("ac", [-0.106, -0.74])
    found = grade(reference, other)
    assert (found.shown, found.possible, found.gap) == ("distribution_close", "near_tie", None)


def test_an_answer_that_ends_earlier_diverges_there() -> None:
    found = grade(Told.of("ab", [-0.1, -0.2]), Told.of("a", [-0.1]))
    assert (found.at, found.shown, found.possible) == (1, "distribution_close", "near_tie")


def test_a_first_token_of_which_nothing_in_common_is_told_shows_nothing() -> None:
    found = grade(Told.of("a", [-0.1]), Told.of("b", [-0.1]))
    assert (found.shown, found.possible, found.kl) == ("fail", "near_tie", None)


def test_the_odd_one_out_is_told_by_the_majority() -> None:
    assert odd_ones(["a", "a", "b"]) == (2,)
    assert odd_ones(["b", "a", "a", "c", "a"]) == (0, 3)
    assert odd_ones(["a", "b"]) == ()
    assert odd_ones(["a", "a"]) == ()
    assert odd_ones([]) == ()


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=6), st.lists(st.sampled_from("ab"), min_size=1, max_size=6))
def test_what_is_shown_is_never_above_what_is_possible(a: list[str], b: list[str]) -> None:
    told = [Told.of(tokens, [-0.1 * (1 + k) for k in range(len(tokens))]) for tokens in (a, b)]
    for pair in (told, [Told(tokens=a), Told(tokens=b)]):
        found = grade(*pair)
        assert GRADES.index(found.shown) <= GRADES.index(found.possible)
        assert (found.at is None) == (a == b)
