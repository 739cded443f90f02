"""Is a file that was cut off refused, or is it said what it lacks?

The contents are those of the other tests: written by the tools' own code, or posted by people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.importers.support.importing import import_results
from fireassay.record.reader import open_record
from fireassay.reports.build_view import build
from tests.importers.reading import foreign, imported, judged, measured
from tests.importers.samples import LOADS, PERF_CSV, SUMMARY, aiperf_lines, loadgen_detail, posted
from tests.importers.test_nccl_tests import TEXT
from tests.importers.test_osu import ALLREDUCE, BANDWIDTH, LATENCY, REDUCE
from tests.reports.written import written

FILES = {
    **{path.name: path.read_text() for path in sorted(LOADS.iterdir()) if path.suffix != ".md"},
    "perf.csv": PERF_CSV,
    "reduce.txt": REDUCE,
    "bandwidth.txt": BANDWIDTH,
    "latency.txt": LATENCY,
    "osu_np4.txt": ALLREDUCE,
    "all_reduce_perf.txt": TEXT,
    "mlperf_log_summary.txt": SUMMARY,
    "mlperf_log_detail.txt": loadgen_detail(),
    "profile_export.jsonl": aiperf_lines(requests=3),
}
# A line of these is a whole result, and nothing follows the last: a tool that was stopped leaves such a file.
LINES = {
    "sglang_versions.jsonl",
    "perf.csv",
    "reduce.txt",
    "bandwidth.txt",
    "latency.txt",
    "osu_np4.txt",
    "mlperf_log_detail.txt",
    "profile_export.jsonl",
}


@cache
def contents(name: str, text: str) -> tuple[Mapping[str, Any], ...] | None:
    """What the records of a file say of it; None if it is refused."""
    with TemporaryDirectory() as folder:
        (path := Path(folder, name)).write_bytes(text.encode())
        try:
            made = import_results(path, Path(folder, "records"), clock=FakeClock())
        except SpecError:
            return None
        return tuple({**open_record(record.path).manifest["foreign"], "sha256": "", "files": {}} for record in made)


def said(records: Iterable[Mapping[str, Any]]) -> set[str]:
    return {sentence for record in records for key in ("missing", "doubts") for sentence in record[key]}


@given(data=st.data(), name=st.sampled_from(sorted(FILES)))
@settings(deadline=None)
def test_a_file_cut_at_any_byte_is_refused_or_says_what_it_lacks(data: st.DataObject, name: str) -> None:
    whole = contents(name, FILES[name])
    assert whole is not None
    cut = FILES[name][: data.draw(st.integers(0, len(FILES[name]) - 1))]
    rest = contents(name, cut)
    if rest not in (None, whole) and not (name in LINES and cut.endswith("\n")):
        assert said(rest or ()) - said(whole)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("agg_one.json", lambda text: re.sub(r"(_(?:ttft|tpot|itl|e2el|intvty)|per_gpu)\": [\d.]+", r'\1": NaN', text)),
        ("agg_one.json", lambda text: re.sub(r"(_(?:ttft|tpot|itl|e2el|intvty)|per_gpu)\": [\d.]+", r'\1": 1e400', text)),
        ("profile_export_genai_perf.json", lambda text: re.sub(r'(?<="(?:avg|p50|p99|p95|p90|p75|p25|min|max|std)": )[\d.]+', "NaN", text)),
    ],
)
def test_totals_that_are_no_numbers_are_doubted_on_the_first_screen(tmp_path: Path, file: str, values: Callable[[str], str]) -> None:
    (made,) = imported(tmp_path, file, values(posted(file)))
    record = measured(made)
    assert foreign(record)["reported"] == []
    (doubt,) = made.doubts
    assert re.match(r"(\d+) of its \1 totals are no finite numbers and are left out: ", doubt)
    assert "totals are no finite numbers" in " ".join(written(build(record, judged(record)), "terminal", full=False, width=80).split())


def test_totals_without_any_that_is_read_are_doubted(tmp_path: Path) -> None:
    (made,) = imported(tmp_path, "agg_one.json", '{"hw": "x", "conc": 4, "precision": "fp8", "tput_per_gpu": null}')
    assert made.doubts == ("it holds none of the totals that are read",)


def test_one_total_of_many_that_is_no_number_is_named(tmp_path: Path) -> None:
    text = posted("agg_one.json").replace('"p99_ttft": ', '"p99_ttft": NaN, "was": ')
    (made,) = imported(tmp_path, "agg_one.json", text)
    total = len(foreign(measured(made))["reported"]) + 1
    assert made.doubts == (f"1 of its {total} totals are no finite numbers and are left out: p99 TTFT",)


def test_a_line_of_osu_that_begins_with_a_size_and_is_no_result_is_counted(tmp_path: Path) -> None:
    torn = ALLREDUCE.replace(" 1048576              1465.73", " 64 0.9[node2] warning\n 128 --\n 1048576              1465.73")
    (made,) = imported(tmp_path, "osu_np4.txt", torn)
    assert made.doubts == ("2 lines begin with a size and cannot be read, the first is line 4",)
    assert made.doubts[0] in [finding.evidence for finding in judged(measured(made)).verdict.findings]


def test_nccl_tests_output_without_its_end_is_doubted(tmp_path: Path) -> None:
    cut = TEXT[: TEXT.index("# Out of bounds")]
    (made,) = imported(tmp_path, "all_reduce_perf.txt", cut)
    assert made.doubts == ("it has no line # Avg bus bandwidth, which ends a run: sizes may be missing",)
