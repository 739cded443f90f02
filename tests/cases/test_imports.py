"""Results of other tools that were read wrongly, or refused without a way on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.importers.support.documents import Place
from fireassay.importers.support.nccl_logs import runs_in_text
from tests.cases.asked import HERE, asked

FILES = HERE / "imports"
# file -> exit code, what has to be said
SAID: dict[str, tuple[int, tuple[str, ...]]] = {
    # mlcommons/inference 460: VALID, and an error in the log
    "loadgen_error/mlperf_log_summary.txt": (0, ("doubt: its summary counts 1 error",)),
    "loadgen_error2/mlperf_log_detail.txt": (0, ("doubt: ", "Ran out of generated queries")),
    # guidellm 216: ten stamps of 0.0, and the mean that they make
    "guidellm_zero_first/benchmarks.json": (0, ("10 of 40 answered requests have no first token", "mean TTFT of -4.4e+11 ms")),
    # genai-bench 31, 100, 201: 9 tokens in 2.25 us
    "genai_burst": (0, ("14 of 40 answers came in one piece (4,000,000 tokens/s)",)),
    # rccl 1490
    "all_gather_perf.srun_label.log": (0, ("14 sizes (0 with wrong data) in 1 launch of workers=16",)),
    "all_reduce_perf.k8s.log": (0, ("14 sizes (0 with wrong data) in 1 launch of workers=8",)),
    # sglang 6525, 23949
    "sglang_0105.jsonl": (0, ("imported from sglang.bench_serving: totals only", "a TTFT of 0, which is none", "--output-details")),
    "vllm_printed.txt": (2, ("what vllm bench serve (or sglang.bench_serving) prints", "--save-result --save-detailed")),
    # lm-eval 1081: documents 0 and 1 once more, so that both processes have 21
    "lmeval_padded": (0, ("40 answers (0 not answered)", "2 of 40 items stand more than once, with equal contents")),
}


@pytest.mark.parametrize("file", SAID)
def test_what_is_wrong_in_a_file_is_said_when_it_is_imported(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = SAID[file]
    got, text = asked(capsys, "import", FILES / file, "--root", tmp_path)
    assert [words for words in said if words not in text] == []
    assert got == code


def test_answers_that_are_in_the_file_are_not_called_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked(capsys, "import", FILES / "genai_burst", "--root", tmp_path)
    _, text = asked(capsys, "report", "latest", "--root", tmp_path, "--full")
    assert "14 of 40 answers came in one piece" in text
    assert "the slowest and the fastest answers are missing" not in text


def test_a_latency_of_zero_is_not_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _text = asked(capsys, "import", FILES / "sglang_0105.jsonl", "--root", tmp_path, "--json")
    (record,) = tmp_path.iterdir()
    reported = {entry["name"] for entry in json.loads((record / "manifest.json").read_text(encoding="utf-8"))["foreign"]["reported"]}
    assert "mean end to end" in reported
    assert not any("TTFT" in name or "ITL" in name for name in reported)


def test_a_padded_document_counts_once_and_a_changed_one_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """21 of 40 are right; lm-eval's own 0.5476 is 23 of 42."""
    asked(capsys, "import", FILES / "lmeval_padded", "--root", tmp_path / "records")
    assert "acc 0.52 [" in asked(capsys, "report", "latest", "--root", tmp_path / "records")[1]
    for file in (FILES / "lmeval_padded").iterdir():
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".jsonl":
            *lines, last = text.splitlines()
            text = "\n".join([*lines, last.replace('"acc": 1.0', '"acc": 0.0').replace('"acc": 0.0', '"acc": 0.5')]) + "\n"
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    code, text = asked(capsys, "import", tmp_path, "--from", "lm-eval", "--root", tmp_path / "records")
    assert (code, "again, with other scores" in text) == (2, True)


LINE = "     1048576        262144     float     sum      -1    121.0    8.67   15.17      0    124.0    8.46   14.80      0"
HEADING = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
PREFIXES = (
    *("", " 0: ", "0: ", "12: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "[default0]:", "node-1: ", "2026-01-05T10:11:12.123456Z "),
    *("2026-01-05 10:11:12,123 ", "[2026-01-05 10:11:12] ", "(head, rank=0, pid=3808) [1,0]<stdout>:", "worker-0 | ", "   "),
    *("2026-01-05T10:11:12.123456Z [1,0]<stdout>:", "[pod/launcher-0/main] 2026-01-05T10:11:12Z  0: "),
)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_whatever_a_launcher_or_collector_puts_before_a_line_is_no_part_of_it(prefix: str) -> None:
    devices = [f"#  Rank  {rank} Group  0 Pid   100{rank} on node0 device  {rank} [0x0a] NVIDIA H200" for rank in range(2)]
    lines = ["# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5", *devices, "#", HEADING, LINE]
    (run,) = runs_in_text("\n".join(f"{prefix}{line}" for line in lines), Path("all_reduce_perf.log"), Place("all_reduce_perf.log"))
    assert run.ranks == 2
    assert [(line.nbytes, line.seconds, line.busbw) for line in run.lines] == [
        (1048576, pytest.approx(121e-6), 15.17),
        (1048576, pytest.approx(124e-6), 14.8),
    ]
