"""A record of every kind in every status that it has, each judged for real: what does it say, and what does it advise?

python -m tests.statuses         writes the table of docs/what-a-result-is-worth.md anew
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.frames.record_data import RecordData
from fireassay.reports.build_view import build
from fireassay.reports.page import Answer
from fireassay.reports.pages.record import page
from fireassay.reports.view import Again
from fireassay.spec.experiment import Gates, Quality
from fireassay.verdict.judge import judge
from tests.answered import rows, scored
from tests.collectives_made import Made
from tests.fleet_made import drawn, fleet_record
from tests.handmade import Handmade
from tests.looked import Seen, look
from tests.metrics.trials_made import timing
from tests.serving_made import simulated
from tests.verdict.making import good
from tests.watched_made import observed

PAGE: Final = Path(__file__).parents[1] / "docs" / "what-a-result-is-worth.md"
BEGIN, END = "<!-- made by python -m tests.statuses -->\n", "<!-- end -->\n"
FILES: Final = (("a.jsonl", "b.jsonl"),)
RECORD: Final = "handmade-20261129T000000Z-5c07aa"

Record = Callable[[Path], RecordData]


def _training(**made: Any) -> Record:
    return lambda _: good(**made).measured()


def _load(**made: Any) -> Record:
    return lambda _: simulated(**made).measured()


def _answers(right: int, of: int, lost: int, margin: float | None) -> Record:
    reference, candidate = ["yes"] * right + ["no"] * (of - right), ["no"] * lost + ["yes"] * (right - lost) + ["no"] * (of - right)
    return lambda folder: scored(folder, {"a": rows(reference), "b": rows(candidate)}, margin=margin)


def _calls(*seconds: float) -> Record:
    def made(_: Path) -> RecordData:
        record: Handmade = timing(*[[2.0, each, each] for each in seconds], warm_up=1)
        workload = record.experiment.workload.model_copy(update={"runner": "command", "script": "true"})
        record.experiment = record.experiment.model_copy(update={"workload": workload})
        return record.measured()

    return made


QUIET, DEAD = Seen(scatter=0.01), Seen(rtt_s=None, answered=0, there=None, back=None)
RECORDS: Final[Mapping[tuple[str, str], Record]] = {
    ("training", "GAIN"): _training(levels=(1, 2, 4)),
    ("training", "NO_GAIN"): _training(levels=(1, 2, 4), efficiency={2: 0.4, 4: 0.3}),
    ("training", "INCONCLUSIVE"): _training(levels=(1, 2), efficiency={2: 0.7}),
    ("training", "INCONCLUSIVE, quality"): _training(quality=Quality(margin=0.05)),
    ("training", "FAIL"): _training(levels=(1, 2), efficiency={2: 0.4}, gates=Gates(required_workers=2)),
    ("training", "MEASURED"): _training(levels=(1,), quality=None),
    ("training", "INVALID"): lambda _: good().measured(state="interrupted"),
    ("load", "PASS"): _load(concurrency=(1, 4, 16, 32), seconds=12.0, blocks=5, seed=1, canaries=0.05),
    ("load", "MEASURED"): _load(concurrency=(1, 4), seconds=5.0, seed=1, objectives={}),
    ("load", "FAIL"): _load(concurrency=(4,), seconds=6.0, seed=1, blocks=5, objectives={"ttft_s": 0.001}),
    ("load", "INCONCLUSIVE"): _load(concurrency=(4,), blocks=1, seconds=5.0),
    ("load", "INVALID"): _load(rate=(6.0,), seconds=4.0, lag_s=0.2, seed=2),
    ("answers", "PASS"): _answers(300, 400, 0, 0.02),
    ("answers", "MEASURED"): _answers(300, 400, 8, None),
    ("answers", "FAIL"): _answers(300, 400, 80, 0.02),
    ("answers", "INCONCLUSIVE"): _answers(80, 100, 0, 0.02),
    ("answers", "INVALID"): lambda folder: scored(folder, {"a": rows([None] * 23 + ["yes"] * 17)}),
    ("collectives", "MEASURED"): lambda _: Made(sizes=("1K:1M",)).measured(),
    ("collectives", "FAIL"): lambda _: Made(
        sizes=("1K:1M",), wrong=lambda *at: (3, "3 elements differ") if at[3] == 1 else (0, None)
    ).measured(),
    ("collectives", "INCONCLUSIVE"): lambda _: Made(blocks=2, sizes=("1K:1M",)).measured(),
    ("timing", "MEASURED"): _calls(1.0, 1.02, 0.98, 1.01, 0.99),
    ("timing", "INCONCLUSIVE"): _calls(1.0, 1.02),
    ("network", "MEASURED"): lambda _: look({"a": QUIET}),
    ("network", "FAIL"): lambda _: look({"a": QUIET, "b": DEAD}),
    ("watch", "MEASURED"): lambda folder: observed(folder, 0.5),
    ("watch", "FAIL"): lambda folder: observed(folder),
    ("watch", "INCONCLUSIVE"): lambda folder: observed(folder, seconds=1),
    ("fleet", "PASS"): lambda _: fleet_record({"memory": drawn(16)}),
    ("fleet", "FAIL"): lambda _: fleet_record({"memory": drawn(16, slow={"n3": 0.1})}),
    ("fleet", "INCONCLUSIVE"): lambda _: fleet_record({"memory": drawn(16)}, find=0.012),
}


def answered(measured: RecordData) -> tuple[str, Answer]:
    """The status of a record, and what it says first."""
    again = Again(score=FILES if measured.experiment.workload.runner == "answers" else ())
    view = replace(build(measured, judge(measured)), record=RECORD, again=again)
    made = page(view).answer
    assert made is not None
    return view.status, made


def lines(folder: Path) -> Iterator[str]:
    """The table, a record a row."""
    yield "| of | status | code | what it says | next |"
    yield "|---|---|---|---|---|"
    for number, ((kind, _), made) in enumerate(RECORDS.items()):
        status, answer = answered(made(folder / str(number)))
        steps = [f"{step.reason}{f': `{step.command}`' if step.command else ''}" for step in answer.next]
        cells = (kind, status.replace("_", " "), str(EXIT_OF_STATUS[status]), answer.headline, "; ".join(steps) or "nothing")
        yield f"| {' | '.join(re.sub('[|]', '/', ' '.join(cell.split())) for cell in cells)} |"


def table(folder: Path) -> str:
    """Its text."""
    return "\n".join(lines(folder)) + "\n"


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(BEGIN)
    with tempfile.TemporaryDirectory() as made_in:
        PAGE.write_text(f"{before}{BEGIN}{table(Path(made_in))}{END}{rest.partition(END)[2]}")
