"""`verdict.only`: what was not asked about is neither required nor listed as not measured; what is wrong counts all the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.reports.build_view import build
from fireassay.reports.documents import record as as_json
from fireassay.reports.view import View
from fireassay.spec.experiment import Experiment, Gates, Verdict
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.experiment import notes
from fireassay.verdict.judge import Judgement, judge
from tests.handmade import Handmade
from tests.reports.written import written
from tests.verdict.making import good, judged, wrong

pytestmark = pytest.mark.slow


UNASKED = ("quality", "cost", "reliability", "energy")


def asked(*only: str, quality: Any = None, leave_out: tuple[str, ...] = ("scores",), **rest: Any) -> Handmade:
    made = good(quality=quality, leave_out=leave_out, **rest)
    made.experiment = made.experiment.model_copy(update={"verdict": Verdict(only=only)})  # type: ignore[arg-type]
    return made


def shown(made: Handmade) -> tuple[View, Judgement]:
    judgement = judged(made)
    return build(made.measured(), judgement), judgement


def test_by_default_all_four_dimensions_are_asked_about() -> None:
    assert Verdict().wanted == ("correctness", "performance", "cost", "reliability")
    view, judgement = shown(asked())
    assert view.dimensions == Verdict().wanted
    assert judgement.verdict.status == "GAIN"


def test_performance_alone_needs_no_quality_for_its_verdict() -> None:
    judgement = judged(asked("performance"))
    assert judgement.verdict.status == "GAIN"
    sentence = judgement.verdict.sentence
    assert sentence.startswith("handmade: 2 workers are the largest admissible worker count; speedup 1.8")
    assert sentence.endswith(" Requested: performance only.")
    assert not any(word in sentence for word in UNASKED)
    assert [pick.goal for pick in judgement.verdict.recommendations] == ["recommended", "fastest"]
    assert judgement.verdict.recommendations[0].sentence == "the largest worker count with every gate passed"


def test_an_efficiency_below_the_gate_is_a_reason_to_recommend_fewer_workers() -> None:
    judgement = judged(asked("performance", efficiency={2: 0.5}))
    assert judgement.verdict.recommendations[0].configuration == "workers=1"


def test_reports_start_with_what_was_asked_about() -> None:
    view, _ = shown(asked("performance"))
    assert view.dimensions == ("performance",)
    assert view.shown_layers == ()
    assert {row.dimension for row in view.primary} == {"performance"}
    for text in (written(view, "terminal"), written(view, "markdown")):
        head = text[: text.lower().index("findings")]
        assert "Requested dimensions" in head
        assert not any(word in head.lower() for word in (*UNASKED, "correctness", "not measured"))
    page = written(view, "html")
    head = page[page.index("<h1") : page.index("</section>")]  # the first screen
    assert not any(word in head.lower() for word in ("correctness", "cost and energy", "reliability"))


def test_a_metric_that_the_answer_does_not_show_is_not_computed() -> None:
    measured = asked("performance").measured()
    judgement = judge(measured)  # its own, since tests share judgements of equal records
    view = build(measured, judgement)
    written(view, "terminal", full=False)
    known = set(vars(judgement.results)["_known"])
    left = [row for row in view.metrics if row.name not in known]
    assert left != []
    assert {row.dimension for row in left}.isdisjoint({"performance"})
    assert all(row.cells for row in left)  # computed now


def test_a_result_that_is_wrong_counts_and_is_shown_whatever_was_asked_about() -> None:
    made = asked("performance")
    made.rows["samples"] = [row for row in made.rows["samples"] if row[1] == 0]
    view, judgement = shown(made)
    assert wrong(judgement) == ["samples_lost"]
    assert judgement.verdict.status == "FAIL"
    assert view.dimensions == ("correctness", "performance")
    assert "samples_lost" in written(view, "terminal")


def test_what_makes_the_record_inadmissible_counts_whatever_was_asked_about() -> None:
    made = asked("performance")
    made.event(1, "probe_error", 1.0, rank=0, detail={"error": "spoiled"})
    view, judgement = shown(made)
    assert judgement.verdict.status == "INVALID"
    assert "spoiled" in view.sentence


def test_a_dimension_that_was_asked_about_and_not_measured_gives_no_pass() -> None:
    for only, why in (("cost", "cost was requested and not measured"), ("reliability", "reliability was requested and not")):
        judgement = judged(asked("performance", only))
        assert judgement.verdict.status == "INCONCLUSIVE"
        assert why in judgement.verdict.sentence
        assert judgement.verdict.sentence.endswith(f"Requested: performance and {only} only.")


def test_cost_alone_asks_for_no_efficiency() -> None:
    judgement = judged(asked("cost", prices=1.0, efficiency={2: 0.3}))
    assert judgement.verdict.gates == ()
    assert judgement.verdict.status == "MEASURED"
    assert "a run" in judgement.verdict.sentence
    assert "speedup" not in judgement.verdict.sentence


def test_correctness_alone_needs_a_measured_quality() -> None:
    assert judged(asked("correctness")).verdict.status == "INCONCLUSIVE"
    made = good()
    made.experiment = made.experiment.model_copy(update={"verdict": Verdict(only=("correctness",))})
    assert judged(made).verdict.status == "PASS"


def test_a_named_score_is_judged_although_only_performance_was_asked_about() -> None:
    made = good(right={2: 20})
    made.experiment = made.experiment.model_copy(update={"verdict": Verdict(only=("performance",))})
    judgement = judged(made)
    assert judgement.verdict.recommendations[0].configuration == "workers=1"


def test_a_required_worker_count_is_judged_by_what_was_asked_about() -> None:
    assert judged(asked("performance", gates=Gates(required_workers=2))).verdict.status == "PASS"
    assert judged(asked("performance", gates=Gates(required_workers=2), efficiency={2: 0.5})).verdict.status == "FAIL"


def test_json_keeps_everything_and_says_what_was_asked_about() -> None:
    view, _ = shown(asked("performance", "cost", prices=1.0))
    document = json.loads(as_json.render(view))
    assert document["verdict"]["asked"] == ["performance", "cost"]
    assert {row["configuration"] for row in document["layers"]} == {"workers=2"}
    assert {row["dimension"] for row in document["dimensions"]} == {"correctness", "performance", "cost", "reliability"}


def minimal(**changes: Any) -> Experiment:
    return from_mapping({"name": "x", "workload": {"script": "t.py"}, "factor": {"levels": [1, 2]}, **changes})


def test_nobody_is_told_to_name_a_score_who_did_not_ask_about_correctness() -> None:
    today = datetime(2026, 1, 1, tzinfo=UTC).date()
    assert any("quality" in note for note in notes(minimal(verdict={"only": ["correctness"]}), today))
    assert not any("quality" in note for note in notes(minimal(), today))
    assert not any("quality" in note for note in notes(minimal(verdict={"only": ["performance"]}), today))


def test_a_dimension_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(SpecError, match="correctness, performance, cost, reliability"):
        minimal(verdict={"only": ["speed"]})


def test_records_of_other_kinds_refuse_it() -> None:
    with pytest.raises(SpecError, match=r"verdict\.only"):
        minimal(workload={"script": "t", "runner": "command"}, verdict={"only": ["performance"]})
