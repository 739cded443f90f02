"""`assay import`: one command makes a record that every verb works on, and a wrong file is one clear sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fireassay.cli import main
from tests.importers.samples import (
    aiperf_lines,
    genai_bench,
    genai_metadata,
    guidellm,
    guidellm_benchmark,
    loadgen_detail,
    ttft_s,
    vllm,
    write,
)
from tests.serving_made import seal, simulated
from tests.tiers import some

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]


HOSTILE = "<script>alert(1)</script>\x1b[31m\u202eevil"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    told = capsys.readouterr()
    return code, told.out, told.err


def imported(capsys: pytest.CaptureFixture[str], file: Path, *words: str) -> list[str]:
    """The paths of the records of a file."""
    code, out, err = run(capsys, "import", str(file), "--json", *words)
    assert (code, err) == (0, "")
    return [one["path"] for one in json.loads(out)["records"]]


def test_it_shows_the_content_the_missing_facts_and_the_path_of_the_record(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "import", str(write(here / "run.json", vllm(failed={1}))))
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "Import of run.json"
    assert "imported from vLLM bench serve: 40 requests (1 failed) in 1 launch of concurrency=8" in lines
    assert any(line.startswith("- not in the file: the environment") for line in lines)
    assert re.fullmatch(r"record: records/vllm-run-\d{8}T\d{6}Z-[0-9a-f]{6}", lines[-1])


def test_json_says_the_same_for_other_programs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here / "run.json", vllm())
    code, out, _ = run(capsys, "import", "run.json", "--json", "--name", "before", "--root", "elsewhere")
    (one,) = json.loads(out)["records"]
    assert code == 0
    assert (one["tool"], one["requests"], one["failed"], one["has_requests"]) == ("vllm", 40, 0, True)
    assert one["path"].startswith("elsewhere/before-")


def test_totals_alone_are_called_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "import", str(write(here / "mlperf_log_detail.txt", loadgen_detail())))
    assert "imported from MLPerf LoadGen: totals only, no requests in 1 launch of rate=12.5" in out


def test_a_tools_name_may_be_written_as_people_write_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert imported(capsys, write(here / "run.json", genai_bench()), "--tool", "genai-bench")


@pytest.mark.parametrize(
    ("content", "words", "code"),
    [
        ("hello", (), 2),
        ("{", (), 2),
        ("", (), 2),
        (b"\x00\xff\xfe\x00".decode("latin-1"), ("--tool", "vllm"), 2),
        ("[1, 2]", ("--tool", "guidellm"), 2),
        ('{"benchmarks": 3, "strategy": 1}', (), 2),
        (json.dumps(vllm())[:-30], (), 2),
        (json.dumps(vllm()), ("--tool", "wrk"), 2),
    ],
)
def test_garbage_is_one_clear_error_and_leaves_nothing_behind(
    here: Path, capsys: pytest.CaptureFixture[str], content: str, words: tuple[str, ...], code: int
) -> None:
    write(here / "file.json", content)
    found, out, err = run(capsys, "import", "file.json", *words)
    assert (found, out) == (code, "")
    assert "Traceback" not in err
    assert "file.json" in err or "wrk" in err
    assert not list((here / "records").glob("*")) if (here / "records").exists() else True


def test_a_missing_file_is_bad_input(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "import", "absent.json")
    assert code == 2
    assert "no such file" in err


@pytest.mark.parametrize(
    ("file", "sample"),
    some(
        [
            ("run.json", vllm(failed={3})),
            ("totals.json", vllm(detailed=False)),
            ("run.json", genai_bench(failed={3})),
            ("profile_export.jsonl", aiperf_lines(failed={3})),
            ("benchmarks.json", guidellm(guidellm_benchmark({"type_": "concurrent", "streams": 8}, failed=1))),
            ("mlperf_log_detail.txt", loadgen_detail()),
        ],
        2,
        rows=True,
    ),
)
def test_every_verb_works_on_it(here: Path, capsys: pytest.CaptureFixture[str], file: str, sample: object) -> None:
    (path,) = imported(capsys, write(here / file, sample))
    assert run(capsys, "verify", path)[0] == 0
    assert Path(path).name.split("-20")[0] in run(capsys, "list")[1]
    for form in ("terminal", "markdown", "json", "latex"):
        code, out, err = run(capsys, "report", path, f"--{form}", "--output", "-")
        assert code in (0, 1, 3, 4), err
        assert out
    for form in ("html", "excel"):
        assert run(capsys, "report", path, f"--{form}", "--output", str(here / f"report.{form}"))[0] in (0, 1, 3, 4)
    assert "Imported" in (here / "report.html").read_text()
    code, out, _ = run(capsys, "audit", path)
    assert code in (0, 1, 3, 4)
    assert "numbers of another tool" in out


def test_the_report_shows_what_the_tool_reported_beside_ours(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = imported(capsys, write(here / "run.json", vllm()))
    _, out, _ = run(capsys, "report", path, "--markdown", "--full")
    (row,) = (line for line in out.splitlines() if line.startswith("| mean TTFT"))
    mean_ms = sum(ttft_s(i) for i in range(40)) / 40 * 1000
    assert f"{mean_ms:.0f} ms by vLLM bench serve; here ttft\\_vllm {mean_ms:.0f} ms" in row
    assert "every latency begins when its request was sent; its due time is not stated" in out
    assert "temperature: not stated in the file" in out
    assert "client of one process" not in out


def test_words_of_a_file_steer_neither_page_nor_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_ = vllm(failed={0}, model_id=HOSTILE, tokenizer_id=HOSTILE)
    run_["errors"][0] = HOSTILE
    run_["generated_texts"][1] = HOSTILE
    (path,) = imported(capsys, write(here / "run.json", run_))
    run(capsys, "report", path, "--html", "--output", "page.html")
    assert (here / "page.html").read_text().count("<script>") == 1  # the page's own
    for form in ("terminal", "markdown"):
        _, out, _ = run(capsys, "report", path, f"--{form}")
        assert "\x1b" not in out
        assert "\u202e" not in out
    code, out, _ = run(capsys, "import", str(write(here / "b.json", {**run_, "completed": 1})))
    assert (code, "\x1b" in out) == (0, False)


def refusing(comparison: str) -> list[str]:
    """The fields that forbid a comparison, in the order in which they are told."""
    return [one["field"] for one in json.loads(comparison)["mismatches"] if one["refuses"]]


def test_an_import_is_not_compared_with_a_record_of_our_own(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = seal(simulated(concurrency=(8,), blocks=3, seconds=5.0).measured(), here / "records")
    (theirs,) = imported(capsys, write(here / "run.json", vllm()))
    code, out, _ = run(capsys, "compare", str(ours), theirs, "--json")
    refused = refusing(out)
    assert code == 3
    assert {
        "foreign.tool",
        "foreign.clock",
        "foreign.first_token",
        "foreign.tokens",
        "foreign.environment",
        "serving.temperature",
        "serving.prompts.source",
        "serving.scenarios",
    } <= set(refused)
    assert refused[0] == "foreign.tool"


def test_two_tools_are_not_compared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = imported(capsys, write(here / "run.json", vllm()))
    (other,) = imported(capsys, write(here / "genai.json", genai_bench()))
    code, out, _ = run(capsys, "compare", one, other)
    assert code == 3
    assert "foreign.tool" in out


def runs(folder: Path, add_s: float) -> Path:
    """Three runs of genai-bench with metadata; every first token and answer comes `add_s` later."""
    for number in range(3):
        run = genai_bench()
        for place, row in enumerate(run["individual_request_metrics"]):
            luck = 0.0005 * ((place + number) % 3)
            row |= {"ttft": row["ttft"] + add_s + luck, "e2e_latency": row["e2e_latency"] + add_s + luck}
        write(folder / f"run_{number}.json", run)
    write(folder / "experiment_metadata.json", genai_metadata())
    return folder


def test_runs_of_one_tool_are_compared_once_somebody_vouches_for_the_machine(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [imported(capsys, runs(here / name, add_s))[0] for name, add_s in (("before", 0.0), ("after", 0.2))]
    code, out, _ = run(capsys, "compare", *paths, "--json")
    assert (code, refusing(out)) == (3, ["foreign.environment"])
    code, out, _ = run(capsys, "compare", *paths, "--varying", "foreign.environment", "--primary", "e2e_p50")
    assert code == 0
    assert out.startswith("SLOWER")


def test_it_cannot_be_made_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = imported(capsys, write(here / "run.json", vllm()))
    code, _, err = run(capsys, "reproduce", path)
    assert code == 6
    assert "imported from vLLM bench serve" in err
