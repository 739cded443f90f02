"""Two engines: the deciding number is that of their best loads, equal loads are paired, and the choice follows the intervals."""

from __future__ import annotations

import re

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.kinds.serving.a_or_b import _share, brief, sections
from fireassay.kinds.serving.show import answer
from fireassay.reports.page import Chart, Table
from fireassay.reports.view import View
from tests.kinds.serving.test_answer import fits, screen
from tests.reports.conftest import judged
from tests.reports.written import written
from tests.rivals_made import rivals

pytestmark = pytest.mark.slow

A = {4: 0.01, 8: 0.012, 16: 0.03, 32: 0.06}  # seconds per token by load; the limit is 0.04
B = {4: 0.013, 8: 0.0125, 16: 0.02, 32: 0.03}


@pytest.fixture(scope="module")
def decided() -> View:
    return judged(rivals({"a": A, "b": B}, prices=2.0))


def test_the_best_loads_within_the_objectives_decide(decided: View) -> None:
    """a carries 16 in flight at 29 x 0.03 s an answer, b 32 at the same time for each: twice the tokens."""
    said = answer(decided)
    assert said.mark.word == "faster"
    found = re.match(r"b over a: ([\d.]+) % \[([\d.]+), ([\d.]+)\] more tokens/s per replica at your objectives", said.evidence)
    assert found is not None
    assert float(found[2]) <= 100.0 <= float(found[3])
    assert said.evidence.partition("objectives. ")[2] == "TTFT ≤ 400 ms and TPOT ≤ 40 ms for 99 %: a to 16, b to 32 in flight."


def test_the_choice_by_load_follows_the_intervals_and_the_objectives(decided: View) -> None:
    said = answer(decided)
    assert said.headline == "b from 32 in flight on: there a meets 0 % of its requests, b 100 %; more tokens/s: a at 4 and 8, b at 16"
    assert not any(line.label == "choose" for line in said.lines), "the headline says it"
    assert decided.load.rivals is not None
    for same in decided.load.rivals.loads[:3]:
        low, high = same.change.low, same.change.high
        assert low is not None
        assert high is not None
        assert (high < 1.0) == (same.load in (4, 8))
        assert (low > 1.0) == (same.load == 16)


def test_it_fits_a_screen_and_shows_both_at_every_load(decided: View) -> None:
    lines = screen(decided)
    assert fits(lines), "\n".join(lines)
    assert lines[0].startswith("FASTER  served: b from 32 in flight on: ")
    table = next(block for section in brief(decided, decided.load.rivals) for block in section.blocks if isinstance(block, Table))  # type: ignore[arg-type]
    assert [row[0] for row in table.rows] == [4, 8, 16, 32]
    gap = decided.estimate("tpot_p50", "engine=b concurrency=16")
    assert gap is not None
    user = table.rows[2][9]
    assert user.value.value == pytest.approx(1.0 / gap.value)  # type: ignore[union-attr]


def test_the_bound_holds_for_every_number_of_the_table(decided: View) -> None:
    rivals_ = decided.load.rivals
    assert rivals_ is not None
    table = next(block for section in brief(decided, rivals_) for block in section.blocks if isinstance(block, Table))
    bounds = re.search(r"speeds ±([\d.]+) % of each, SLO ±([\d.]+) points, prices ±([\d.]+) %", table.notes[0])
    assert bounds is not None
    speed, points, price = (float(bound) / 100 for bound in bounds.groups())
    with_change = [place for place, head in enumerate(table.heads) if head.above == "b / a"]
    cells = [cell for row in table.rows for place, cell in enumerate(row) if place and [place] != with_change]
    values = [cell.value for cell in cells if hasattr(cell, "value")]  # type: ignore[union-attr]
    assert len(values) == 31, "8 of each but a price: no request of a is good at 32"
    for value in values:
        assert isinstance(value, Estimate)
        half = max(value.high - value.value, value.value - value.low)
        bound = points if value.unit == "fraction" else (price if value.unit == "USD/token" else speed) * value.value
        assert half <= bound + 1e-12


def test_the_price_of_a_good_token_stands_beside_every_load_of_both_engines(decided: View) -> None:
    lines = screen(decided)
    at = next(number for number, line in enumerate(lines) if "$ / 1M good tokens" in line)
    begin = lines[at].index("$ / 1M")
    for line, load in zip(lines[at + 2 :], (4, 8, 16, 32), strict=False):
        shown = line[begin:].split()[:2]
        costs = [decided.estimate("cost_per_good_token", f"engine={engine} concurrency={load}") for engine in "ab"]
        assert shown == ["-" if cost is None else f"{1e6 * cost.value:.2f}" for cost in costs]
    assert not any("$ / 1M" in line for line in screen(decided, 40)), "a pair that does not fit is left out whole"
    assert "  (5 more columns in a wider window)" in screen(decided, 40)


def test_the_table_has_b_over_a_at_every_load_with_its_interval(decided: View) -> None:
    lines = screen(decided)
    begin = next(index for index, line in enumerate(lines) if "b / a" in line)
    assert not any("│" in line or "┊" in line for line in lines), "the table says it; no plot repeats it"
    assert decided.load.rivals is not None
    for line, same in zip(lines[begin + 2 :], decided.load.rivals.loads, strict=False):
        found = re.search(r"([-+]?[\d.]+) % \[([-\d.]+), ([-\d.]+)\]", line)
        assert found is not None, line
        assert found[1][0] == ("+" if same.change.ratio > 1.0 else "-"), "else 51 % reads as half"  # type: ignore[operator]
        value, low, high = (float(number) / 100.0 + 1.0 for number in found.groups())
        assert same.change.ratio == pytest.approx(value, abs=0.01)
        assert low <= same.change.low <= same.change.high <= high  # type: ignore[operator]


def test_the_plot_of_a_page_crosses_the_line_of_no_change_as_its_numbers_do() -> None:
    view = judged(rivals({"a": {4: 0.01, 8: 0.02}, "b": {4: 0.01, 8: 0.03}}, blocks=3))
    plots = [block for section in sections(view, view.load.rivals) for block in section.blocks if isinstance(block, Chart)]  # type: ignore[arg-type]
    plot = next(block for block in plots if block.name == "equal-loads")
    assert [edge.value for edge in plot.edges] == [0.0]
    assert [row.number.value.low < 0.0 < row.number.value.high for row in plot.rows] == [True, False]  # type: ignore[union-attr]


def test_an_invalid_record_shows_the_same_table_marked_invalid() -> None:
    made = rivals({"a": A, "b": B}, blocks=2)
    made.rows["requests"] = made.rows["requests"][1:]  # a request without an end: the record is inadmissible
    view = judged(made)
    said, lines = answer(view), screen(view)
    assert (view.status, said.mark.word) == ("INVALID", "invalid")
    assert not re.search(r"faster|more tokens/s|over a", " ".join((said.headline, said.evidence))), "nothing is chosen by it"
    at = next(index for index, line in enumerate(lines) if line.startswith("invalid at a: 4 in flight: "))
    assert "b / a" in lines[at + 1]
    assert [line.split()[0] for line in lines[at + 3 : at + 7]] == ["4", "8", "16", "32"]
    assert "over a" not in written(view, "html").partition("Which one at my objectives?")[2][:600]


def test_a_record_of_which_some_loads_are_void_says_which_and_shows_every_row() -> None:
    made = rivals({"a": {4: 0.01, 8: 0.06}, "b": {4: 0.013, 8: 0.0125}}, blocks=2)
    requests = made.rows["requests"]
    for place, row in enumerate(requests):
        if row[0] % 4 == 1:  # the launches of a at 8
            requests[place] = (*row[:-1], [50_000_000 for _ in row[-1]])
    view = judged(made)
    lines = screen(view)
    assert view.status == "INVALID"
    at = next(index for index, line in enumerate(lines) if line.startswith("invalid at a: 8 in flight: times are not known well"))
    assert lines[at].endswith("; the others provisional")
    assert [line.split()[0] for line in lines[at + 3 : at + 5]] == ["4", "8"]
    assert "b / a" in lines[at + 1]


def test_long_names_of_engines_are_not_cut_but_explained() -> None:
    view = judged(rivals({"vllm-0.9.1": {4: 0.01}, "sglang-0.4.2": {4: 0.02}}, blocks=2))
    lines = screen(view)
    assert not any("…" in line for line in lines)
    assert "  a is vllm-0.9.1, b is sglang-0.4.2." in lines


def test_equal_engines_are_not_called_faster() -> None:
    view = judged(rivals({"a": {4: 0.01, 8: 0.012}, "b": {4: 0.01, 8: 0.012}}))
    said = answer(view)
    assert said.mark.word in ("pass", "equivalent")
    assert "a and b " in said.headline
    assert not any(line.label == "choose" for line in said.lines)


def test_an_engine_alone_within_the_objectives_is_named() -> None:
    view = judged(rivals({"a": {4: 0.05, 8: 0.06}, "b": {4: 0.013, 8: 0.0125}}, blocks=4))
    said = answer(view)
    assert (said.mark.word, said.headline) == ("pass", "only b is within TTFT ≤ 400 ms and TPOT ≤ 40 ms: up to 8 in flight")


def test_a_record_that_fails_keeps_its_status_and_gives_no_choice() -> None:
    view = judged(rivals({"a": {4: 0.05, 8: 0.06}, "b": {4: 0.05, 8: 0.07}}, blocks=3))
    said = answer(view)
    assert (view.status, said.mark.word) == ("FAIL", "fail")
    assert not any(line.label == "choose" for line in said.lines)
    assert fits(screen(view))


def test_an_open_verdict_still_says_what_each_does_at_each_load() -> None:
    view = judged(rivals({"a": A, "b": B}, blocks=2))
    said = answer(view)
    assert (view.status, said.mark.word) == ("INCONCLUSIVE", "inconclusive")
    assert said.headline == "a at 32 meets 0 % of its requests; a at 4, 8 and 16: undecided; b at 4, 8, 16 and 32: undecided"
    assert fits(screen(view))


def test_a_missed_share_is_that_of_the_table_and_never_the_required_one(decided: View) -> None:
    assert decided.load.attainment == 0.99
    assert _share(decided, 0.0526) == "5.3 %"
    assert _share(decided, 0.9899) == "98.99 %"


def test_a_load_that_is_undecided_is_said_as_undecided_and_as_what_decides_it() -> None:
    """Engine a at 8: one launch of five misses three; the required 99 % lie inside its interval."""
    made = rivals({"a": {8: 0.01, 32: 0.06}, "b": {8: 0.012, 32: 0.03}}, blocks=3)
    for place in range(3):
        made.request(0, 1.0 + place, ttft_s=0.7, gap_s=0.01, tokens_out=20)
    view = judged(made)
    said = answer(view)
    share = view.estimate("slo_attainment", "engine=a concurrency=8")
    assert share is not None
    assert share.low < 0.99 < share.high
    assert view.status == "PASS"
    assert "only b" not in f"{said.headline} {said.evidence}"
    assert re.search(r"a at 8: undecided, 9[\d.]+ % \[", said.headline)
    assert "a undecided at 8" in said.evidence
    assert "at no load" not in said.evidence
    assert not any(line.label == "choose" for line in said.lines)
    assert said.next[0].command.startswith("assay load abc123 --concurrency 8 --launches ")
    assert fits(screen(view))


def test_without_objectives_the_largest_common_load_decides() -> None:
    view = judged(rivals({"a": {4: 0.01, 8: 0.06}, "b": {4: 0.013, 8: 0.0125}}, blocks=3, objectives={}))
    said = answer(view)
    assert said.headline == "more tokens/s: a at 4, b at 8"
    assert re.match(r"b over a: 4\.\d+ \[.*\] times the tokens/s per replica at 8 in flight. No objective was asked for", said.evidence)


def test_the_page_has_the_frontier_and_every_equal_load(decided: View) -> None:
    page = written(decided, "html")
    assert "Throughput against the speed for one user" in page
    assert "How far apart are they at equal load?" in page


def test_one_launch_is_said_in_words_and_decides_nothing() -> None:
    view = judged(rivals({"a": {4: 0.01}, "b": {4: 0.02}}, blocks=1))
    lines = screen(view)
    assert view.status == "INCONCLUSIVE"
    assert lines[0].startswith("INCONCLUSIVE  served: ")
    assert any("(1 launch)" in line for line in lines)
    assert any("Some numbers have no interval." in line for line in lines)


def test_engines_of_the_same_long_beginning_are_told_apart() -> None:
    view = judged(rivals({"llama-3-8b-fp8-vllm": {4: 0.01}, "llama-3-8b-fp16-vllm": {4: 0.02}}, blocks=3))
    lines = screen(view)
    assert fits(lines), "\n".join(lines)
    head = next(line for line in lines if line.startswith("load "))
    names = head.split()[1:]
    assert names[0] != names[1]


def memory_of(counters: dict[str, dict[str, float]]) -> list[str]:
    """The lines about memory of two engines at one load: engine -> counter -> GB."""
    made = rivals({"a": {8: 0.012}, "b": {8: 0.013}})
    for number, *_, configuration in [(row[0], row[3]) for row in made.rows["launches"]]:
        for counter, gigabytes in counters[configuration.partition("engine=")[2][0]].items():
            made.reading(number, "replica-0", counter, gigabytes * 1e9, at_s=3.0, unit="B")
    return [line.text for line in answer(judged(made)).lines if line.label == "memory"]


def test_memory_of_both_is_by_one_source_which_is_named() -> None:
    """a's own GPU memory is known, b's is not: the host's memory is known of both."""
    (said,) = memory_of({"a": {"device_memory": 22.0, "memory_proportional": 3.0}, "b": {"memory_proportional": 4.0}})
    assert said == "a 3 GB, b 4 GB: host, own processes, at 8 in flight"


def test_memory_of_different_sources_is_not_compared() -> None:
    assert memory_of({"a": {"device_memory": 22.0}, "b": {"memory_reported": 1.0}}) == []
