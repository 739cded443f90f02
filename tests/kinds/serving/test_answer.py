"""The answer of a load fits one screen, says the verdict first, and repeats the numbers of the record."""

from __future__ import annotations

import argparse
import re
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.kinds.serving.answer import _client, answer
from fireassay.kinds.serving.brief import brief
from fireassay.reports.build_view import build
from fireassay.reports.page import Answer, Chart, Line, Number, Table
from fireassay.reports.view import View
from fireassay.spec.flags.load import add_flags, experiment_from
from fireassay.spec.flags.of_verb import Stored
from fireassay.spec.load import to_toml
from fireassay.spec.sections.serving import Objectives
from fireassay.verdict.judge import judge
from tests.builders import estimate
from tests.importers import samples
from tests.importers.reading import one
from tests.metrics.serving.test_objectives import partly_counted
from tests.reports.conftest import judged
from tests.reports.written import written
from tests.rivals_made import rivals
from tests.serving_made import ServingMade, simulated
from tests.tiers import some

pytestmark = pytest.mark.slow

ROWS, WIDTH = 30, 80


def screen(view: View, width: int = WIDTH) -> list[str]:
    return written(view, "terminal", full=False, width=width).splitlines()


def embeddings() -> ServingMade:
    made = ServingMade(rate=(4.0, 8.0), blocks=3, task="embeddings", prices=1.0)
    for block in range(3):
        for name in made.names:
            launch = made.launch(name, block=block)
            for place in range(60):
                done_s = 0.1 + 0.001 * ((7 * place + block) % 13)
                made.request(launch, place / 6, chunks=0, tokens_out=None, done_s=done_s, replica=place % 2)
    return made


def whole_answers() -> ServingMade:
    made = ServingMade(concurrency=(4,), blocks=3, stream=False, objectives={"e2e_s": 0.5})
    for block in range(3):
        launch = made.launch(block=block)
        for place in range(60):
            done_s = 0.1 + 0.001 * ((7 * place + block) % 13)
            made.request(launch, place / 6, ttft_s=None, chunks=0, tokens_out=20, done_s=done_s, replica=place % 2)
    return made


MADE: dict[str, Callable[[], ServingMade]] = {
    "knee": lambda: simulated(concurrency=(1, 4, 16, 32), seconds=8.0, blocks=5, seed=1, canaries=0.05),
    "many loads": lambda: simulated(concurrency=(1, 2, 4, 8, 16, 32), seconds=6.0, seed=1),
    "rates with a fault": lambda: simulated(rate=(6.0, 12.0), outage=(4.0, 7.0), failing=0.02, seconds=12.0, seed=3),
    "no objectives": lambda: simulated(concurrency=(1, 4, 16, 32), seconds=5.0, seed=1, objectives={}),
    "three engines": lambda: simulated(concurrency=(4, 16), engines=("heron", "kite", "c" * 40), seconds=4.0, seed=3),
    "scenarios": lambda: simulated(concurrency=(1, 4, 16), scenarios=("D(100,100)", "N(480,240)/(300,150)"), seconds=4.0, seed=4),
    "one launch": lambda: simulated(concurrency=(4,), blocks=1, seconds=5.0),
    "trace of arrivals": lambda: ServingMade(process="offline", blocks=2),
    "embeddings": embeddings,
    "whole answers": whole_answers,
    "nothing ended": lambda: ServingMade(rate=(2.0,), blocks=2),
}
IMPORTED: dict[str, tuple[str, Callable[[], Any]]] = {
    "guidellm": ("b.json", lambda: samples.guidellm(samples.guidellm_benchmark({"type_": "concurrent", "streams": 8}))),
    "late guidellm": ("b.json", lambda: samples.guidellm(samples.guidellm_benchmark({"type_": "poisson", "rate": 4.0}, lag_s=0.02))),
    "vllm": ("run.json", lambda: samples.vllm(failed={3})),
    "genai-bench": ("run.json", samples.genai_bench),
    "aiperf": ("profile_export.jsonl", samples.aiperf_lines),
}


@cache
def made_of(name: str) -> ServingMade:
    """Made once: it is only read."""
    return MADE[name]()


@cache
def shown(name: str) -> View:
    """Judged once: the answer only reads it."""
    return judged(made_of(name))


@pytest.fixture
def knee() -> View:
    return shown("knee")


FOLDED = {"three engines": 5, "scenarios": 3}  # lines more, as names are folded rather than cut


def fits(lines: list[str], more: int = 0) -> bool:
    return len(lines) <= ROWS + more and all(len(line) <= WIDTH for line in lines)


@pytest.mark.parametrize("name", some(MADE, 2))
def test_every_load_fits_a_screen_and_says_its_status_first(name: str) -> None:
    view = shown(name)
    lines = screen(view)
    assert fits(lines, FOLDED.get(name, 0)), "\n".join(lines)
    assert lines[0].startswith(f"{view.word.upper()}  served: ")
    assert not any("more column" in line for line in screen(view, 120))


@pytest.mark.parametrize("name", IMPORTED)
def test_what_another_program_measured_fits_too_and_says_so(name: str, tmp_path: Path) -> None:
    file, content = IMPORTED[name]
    data = one(tmp_path, file, content())
    view = build(data, judge(data))
    lines = screen(view)
    assert fits(lines), "\n".join(lines)
    assert all(not step.command for step in answer(view).next)  # its load cannot be sent again
    assert view.status == "INVALID" or "not measured by assay" in answer(view).evidence


def test_every_number_is_that_of_the_metric(knee: View) -> None:
    """Cells in their order, with the metrics that the heads name."""
    tables = [block for section in brief(knee) for block in section.blocks if isinstance(block, Table)]
    metrics = {
        "output tokens/s": "output_throughput",
        "goodput, requests/s": "goodput",
        "$ / 1M good tokens": "cost_per_good_token",
        **{f"{stem.upper()} {p}, ms": f"{stem}_{p}" for stem in ("ttft", "tpot") for p in ("p50", "p95", "p99")},
    }
    assert "$ / 1M good tokens" in {head.text for table in tables for head in table.heads}
    seen = 0
    for table in tables:
        for row, column in zip(table.rows, knee.columns, strict=True):
            for head, cell in zip(table.heads[2:], row[2:], strict=True):
                assert isinstance(cell, Number)
                assert cell.value == knee.value(metrics[head.text], column.key)
                seen += isinstance(cell.value, Estimate)
    assert seen > 20


def test_the_plot_crosses_its_edge_where_the_number_does(knee: View) -> None:
    plot = next(block for section in brief(knee) for block in section.blocks if isinstance(block, Chart))
    (edge,) = plot.edges
    assert edge.value == knee.load.attainment == 0.99
    lines = screen(knee)
    begin = next(index for index, line in enumerate(lines) if "met objectives" in line)
    at = lines[begin].index("┊")
    for row, line in zip(plot.rows, lines[begin + 1 :], strict=False):
        value = row.number.value
        assert isinstance(value, Estimate)
        assert (line[at] == "┼") == (value.low < edge.value < value.high)


def test_the_advice_names_the_load_the_limits_and_the_knee(knee: View) -> None:
    said = answer(knee)
    assert said.headline == "up to 16 in flight within TTFT ≤ 500 ms and TPOT ≤ 50 ms"
    capacity = knee.value("capacity", "all")
    assert isinstance(capacity, Estimate)
    low, high = map(float, re.findall(r"[\d.]+", said.evidence.partition("[")[2].partition("]")[0]))
    assert low <= capacity.low <= capacity.high <= high
    assert "At 32, " in said.evidence
    assert said.evidence.endswith("99 % required.")
    assert said.next[0].command == "assay load abc123 --concurrency 20,24,28"


def test_a_percentile_that_the_requests_cannot_carry_is_a_dash_and_says_what_it_takes(knee: View) -> None:
    value = knee.value("ttft_p99", "concurrency=1")
    assert isinstance(value, Absent)
    assert any(line.startswith("?    1 ") and "  -" in line for line in screen(knee))
    requests = knee.estimate("ttft_p50", "concurrency=1")
    assert requests is not None
    line = of(answer(knee), "not measured")
    assert line.text.endswith(f"{requests.n_trials:,} requests, over 1,000 are needed") or " to " in line.text


def of(said: Answer, label: str) -> Line:
    return next(line for line in said.lines if line.label == label)


def test_crossed_answers_are_counted_over_all_loads(knee: View) -> None:
    row = knee.metric("cross_talk")
    assert row is not None
    answers = sum(shown.value.n_trials for shown in row.cells.values() if isinstance(shown.value, Estimate))
    assert of(answer(knee), "correctness").text == f"0 of {answers:,} answers reached the wrong asker"


def test_without_objectives_the_status_stays_and_next_names_the_flag() -> None:
    view = shown("no objectives")
    said = answer(view)
    assert said.mark.word == view.word == "measured"
    assert said.next[0].command == "assay load abc123 --slo ttft=0.5,tpot=0.05"
    assert not any(isinstance(block, Chart) for section in brief(view) for block in section.blocks)


@pytest.mark.parametrize(("without", "word"), [(2, "pass"), (30, "inconclusive"), (100, "inconclusive")])
def test_answers_whose_tokens_nobody_counted_are_told_and_more_launches_are_not_advised(without: int, word: str) -> None:
    said = answer(judged(partly_counted(Objectives(tpot_s=0.02, attainment=0.9), without)))
    assert said.mark.word == word
    assert f"no usage for {3 * without} answers" in of(said, "not measured").text
    assert ("time per token" in said.next[0].reason) == (word == "inconclusive")


def test_an_invalid_load_shows_its_numbers_marked_and_repeats_the_load() -> None:
    made = simulated(rate=(6.0,), seconds=4.0, lag_s=0.2, seed=2)
    view = judged(made)
    assert view.status == "INVALID"
    assert next(block.title for section in brief(view) for block in section.blocks) == "all invalid: the client was measured"
    said = answer(view)
    assert said.evidence == "The numbers are shown as they are; do not quote them."
    assert said.next[0].command == "assay load abc123"
    for name in ("markdown", "html"):
        assert "All invalid: the client was measured." in written(view, name)


def test_faults_have_a_line_only_where_there_was_one(knee: View) -> None:
    struck = answer(shown("rates with a fault"))
    assert of(struck, "reliability").text
    assert not any(line.label == "reliability" for line in answer(knee).lines)


def test_more_loads_than_fit_keep_the_first_the_recommended_its_neighbour_and_the_last() -> None:
    view = shown("many loads")
    table = next(block for section in brief(view) for block in section.blocks if isinstance(block, Table))
    loads = [row[1] for row in table.rows]
    recommended = next(column.load for column in view.columns if column.key == view.recommended)
    assert len(loads) == 4
    assert {1, 32, recommended} <= set(loads)


def test_a_hostile_name_cannot_control_the_terminal(knee: View) -> None:
    evil = "\x1b[31mred\x1b[0m\nPASS"
    lines = screen(replace(knee, name=evil))
    assert not any("\x1b" in line for line in lines)
    assert sum(line.startswith("PASS") for line in lines) == 1


def test_a_tile_is_about_the_recommended_load_and_marks_every_load(knee: View) -> None:
    tile = next(tile for tile in answer(knee).tiles if tile.title == "Performance")
    assert tile.mark.word == "pass"  # though 32 in flight fails
    assert [mark.word for mark in tile.marks] == [f"{column.load:g}" for column in knee.columns]
    assert tile.marks[-1].tone == "bad"
    goodput = knee.metric("goodput")
    assert goodput is not None
    assert tile.big == goodput.cells["concurrency=16"].text


def test_the_number_and_the_words_of_a_tile_are_of_one_load(knee: View) -> None:
    """Without a recommended load the goodput was of the largest, and the words of the one that failed."""
    (row,) = [row for row in knee.vector if row.column.key == "concurrency=16"]
    doubtful = replace(row, cells={**row.cells, "performance": replace(row.cells["performance"], status="INCONCLUSIVE", sentence="unsure")})
    vector = tuple(doubtful if other is row else other for other in knee.vector)
    tile = next(tile for tile in answer(replace(knee, vector=vector, recommendations=())).tiles if tile.title == "Performance")
    assert (tile.mark.word, tile.text) == ("inconclusive", "unsure")  # as the headline, though 32 in flight fails
    assert "16 in flight" in tile.small


@pytest.mark.parametrize("name", some(["knee", "many loads", "rates with a fault", "no objectives", "whole answers", "one launch"]))
def test_every_command_that_is_printed_can_be_run(name: str) -> None:
    made = made_of(name)
    commands = [step.command for step in answer(shown(name)).next if step.command]
    assert commands
    for command in commands:
        assay, verb, record, *flags = shlex.split(command)
        assert (assay, verb, record) == ("assay", "load", "abc123")
        parser = argparse.ArgumentParser()
        add_flags(parser)
        data = tomllib.loads(to_toml(made.experiment))
        again = experiment_from(parser.parse_args([record, *flags]), recorded=Stored(data=data, folder=Path(), record=Path()))
        assert again != made.experiment
        assert again.serving is not None
        assert again.serving.model == "tiny"


def test_a_percentile_of_the_client_s_uncertainty_is_not_called_its_largest() -> None:
    column = SimpleNamespace(key="rate=8")
    values = {"ttft_uncertainty_p99": 0.00012, "e2e_uncertainty_p99": 0.0001, "achieved_rate": 8.0, "offered_rate": 8.0}
    view = SimpleNamespace(columns=(column,), load_word="rate", estimate=lambda name, _: estimate(values[name], 0.0, "s"))
    assert list(_client(cast("View", view))) == ["client kept 100 % of the load", "99 % of its times are known to 120 µs"]


def test_where_no_request_missed_next_sends_as_many_as_decide() -> None:
    """0.025^(1/n) reaches 0.99 at n = 368, and not at 367."""
    view = judged(rivals({"a": {1: 0.01}}))
    (step,) = answer(view).next
    assert view.status == "INCONCLUSIVE"
    assert step.reason == "368 requests decide if again none misses"
    share = view.estimate("slo_attainment", "concurrency=1")
    assert share is not None
    found = re.fullmatch(r"assay load abc123 --concurrency 1 --launches (\d+)", step.command)
    assert found is not None, step.command
    requests = share.n_trials * int(found[1]) / 5
    assert 0.025 ** (1 / requests) >= 0.99 > 0.025 ** (5 / (share.n_trials * (int(found[1]) - 1)))


def test_where_a_few_missed_next_counts_by_the_observed_share() -> None:
    """One of each launch missed. The half-width h falls with the root of the requests; with power 0.8 the gap is (1.960 + 0.842) / 1.960 h."""
    made = rivals({"a": {8: 0.01}})
    for launch in range(5):
        made.request(launch, 1.0, ttft_s=0.7, gap_s=0.01, tokens_out=20)
    view = judged(made)
    share = view.estimate("slo_attainment", "concurrency=8")
    assert share is not None
    (step,) = answer(view).next
    more = share.n_trials * ((1.959964 + 0.841621) / 1.959964 * (share.value - share.low) / (share.value - 0.99)) ** 2
    assert step.reason == f"about {round(more):,} requests decide with 80 % at this share, on a quiet machine"


@pytest.mark.parametrize("objectives", [Objectives(), Objectives(ttft_s=0.5)])
def test_a_launch_shorter_than_its_requests_is_followed_by_one_that_holds_ten(objectives: Objectives) -> None:
    """One request in flight, of 10 s, sent within the warm-up: no objective can be learned from it."""
    made = ServingMade(concurrency=(1,), blocks=1, warm_up_s=1.0, seconds=5.0, objectives=objectives)
    made.request(made.launch(), 0.0, phase="warm_up", stream=0, at_s=[1.0, 10.0], tokens_out=2)
    lines = screen(judged(made))
    assert "  assay load abc123 --duration 100s" in lines, "\n".join(lines)
