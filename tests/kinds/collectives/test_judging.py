"""What is said of a record of collectives: passed, wrong, or not enough."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.documents import record as json_report
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.judge import judge
from tests.builders import frame
from tests.collectives_made import Made
from tests.reports.written import written
from tests.tiers import some

pytestmark = pytest.mark.slow


def test_right_data_on_enough_launches_are_measured() -> None:
    judgement = judge(Made(ops=("all_reduce", "all_gather"), levels=(2, 4), sizes=("1K:1M",)).measured())
    assert judgement.verdict.status == "MEASURED"
    assert "all_reduce of 1 MiB on 4 workers, in place" in judgement.verdict.sentence
    assert "as nccl-tests defines them" in judgement.verdict.sentence
    row = judgement.verdict.dimensions["workers=4"]
    assert row["correctness"].status == "PASS"
    assert "right to the last bit" in row["correctness"].sentence
    assert row["reliability"].status == "NOT_MEASURED"


def test_too_few_launches_decide_nothing() -> None:
    assert judge(Made(blocks=2, sizes=("1K:1M",)).measured()).verdict.status == "INCONCLUSIVE"


def test_metrics_and_audits_of_trainings_say_nothing() -> None:
    judgement = judge(Made(sizes=("1K:1M",)).measured())
    assert {"collective_time", "algbw", "busbw", "alpha", "beta", "crossover_size", "collective_errors"} <= set(judgement.results)
    assert not {"step_time", "speedup", "quality", "throughput"} & set(judgement.results)
    assert not {"quality_not_measured", "ranks_missing", "no_steps"} & {finding.rule for finding in judgement.verdict.findings}


def test_every_report_has_a_line_for_every_size() -> None:
    measured = Made(
        ops=("all_reduce", "all_to_all"), levels=(2, 3), sizes=("1K:1M",), unsupported={"all_to_all": "no support for alltoall"}
    ).measured()
    view = build(measured, judge(measured))
    for text in (written(view, "terminal"), written(view, "markdown"), written(view, "html")):
        for part in ("256 KiB", "busbw, GB/s", "1/beta, GB/s", "no support for alltoall"):
            assert part in text
    assert "Bandwidth of all_reduce" in written(view, "html")
    document = json.loads(json_report.render(view))
    sent = {one["bytes"] for one in document["collectives"] if one["workers"] == 3 and one["op"] == "all_to_all"}
    assert sent == {1020, 4092, 16380, 65532, 262140, 1048572}  # whole elements for each of three ranks
    keys = {one["configuration"] for one in document["metrics"] if one["metric"] == "busbw"}
    assert {one["configuration"] for one in document["collectives"]} == keys


# ---- comparisons --------------------------------------------------------------------------------------------------------


def side(label: str, made: Made, engine: dict[str, str] | None = None) -> Side:
    told = {"backend": "gloo", "convention": "nccl-tests", "interface": "lo", "device": "cpu", **(engine or {})}
    measured = made.measured()
    rows = [(0, 1, None, "host", 0, 0, "engine", None, None, json.dumps(told))]
    events = frame("events", rows)
    seen = replace(measured, tables={**measured.tables, "events": events})
    return Side(label=label, measured=seen, judgement=judge(seen))


def test_records_are_compared_size_by_size() -> None:
    found = compare([side("before", Made(noise=0.01)), side("after", Made(noise=0.01, alpha=25e-6, seed=2))], force=True)
    changes = {(change.metric, change.configuration): change for change in found.changes}
    small = changes["collective_time", "workers=2 op=all_reduce place=in bytes=1024"]
    large = changes["collective_time", "workers=2 op=all_reduce place=in bytes=16777216"]
    assert small.outcome == "improved"
    assert small.ratio == pytest.approx(51 / 101, rel=0.03)  # 2 x 25 us + 1 us to 2 x 50 us + 1 us
    assert large.primary
    assert large.ratio == pytest.approx(1.0, abs=0.02)
    assert changes["alpha", "workers=2 op=all_reduce place=in"].ratio == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("engine", "field"),
    some(
        [
            ({"backend": "nccl"}, "collectives.backend"),
            ({"interface": "eth0"}, "collectives.interface"),
            ({"convention": "deepspeed"}, "collectives.convention"),
            ({"device": "H100"}, "collectives.device"),
        ],
        rows=True,
    ),
)
def test_another_engine_network_or_convention_is_refused(engine: dict[str, str], field: str) -> None:
    found = compare([side("before", Made()), side("after", Made(seed=2), engine)])
    assert found.state == "incomparable"
    assert field in {mismatch.field for mismatch in found.refused}
    allowed = compare([side("before", Made()), side("after", Made(seed=2), engine)], varying=(field,))
    assert field not in {mismatch.field for mismatch in allowed.refused}
