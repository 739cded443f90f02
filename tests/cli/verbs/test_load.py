"""Does `assay load` do what its help says, and does it explain itself where it cannot?"""

from __future__ import annotations

import json
import re
import socket
import tomllib
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.cli.support import dry_run
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.record.lookup import record_folders
from fireassay.record.reader import open_record
from fireassay.spec.load import from_mapping

URL = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dry_run, "client_start_s", lambda: 1.0)  # which is measured: a plan's time tells how busy this machine is


def test_a_dry_run_shows_the_plan_and_sends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", URL, "--concurrency", "1,8", "--duration", "10s", "--warm-up", "2s", "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "concurrency=8" in out
    assert re.search(r"10 launches; expected time: about 2 min", out)
    assert "2 min of load, " in out  # 2 x 5 x 12 s
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "no tokenizer was given" in err


def test_a_dry_run_shows_engines_loads_objectives_and_price_first(capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        "--concurrency",
        "8,16,32",
        "--slo",
        "ttft=0.5",
        "--attainment",
        "0.95",
        "--price",
        "2.50",
        "--price-date",
        "2026-11-01",
        "--dry-run",
    ]
    assert cli.main(["load", f"a={URL}", "b=http://127.0.0.1:9", *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"54 launches; expected time: about 1[12] min", lines[0])
    assert [line for line in lines[1:10] if "  time" not in line and "answers in each" not in line] == [
        "",
        "  engines     a, b",
        "  loads       concurrency 8, 16, 32",
        "  launches    9 of each of 6 configurations, in rounds of random order; 5 to 9,",
        "              and longer ones, where a request takes over 1 s",
        "  objectives  TTFT ≤ 500 ms, for 95 % of the requests (--attainment)",
        "  price       $2.5 per replica-hour (2026-11-01, given as --price)",
    ]
    assert sum(" timed " in line for line in lines) == 6
    assert lines[-1] == "  and 48 more: --full lists all"


@pytest.mark.parametrize(
    ("flags", "found"),
    [(["--trace", "none.jsonl"], "none.jsonl"), (["--trace", "wrong.jsonl"], "the key x"), (["--prompts", "none.txt"], "none.txt")],
)
def test_a_dry_run_reads_every_file_that_the_run_will_read(flags: list[str], found: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("wrong.jsonl").write_text('{"x": 1}\n')
    assert cli.main(["load", URL, *flags, "--dry-run"]) == 2
    assert found in capsys.readouterr().err


def test_the_dry_run_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", URL, "--rate", "2.5", "--launches", "4", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["launches"]
    assert [one["configuration"] for one in plan] == ["rate=2.5"] * 4


def test_the_experiment_as_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", URL, "--model", "M", "--rate", "5", "--slo", "ttft=0.2", "--toml"]) == 0
    made = from_mapping(tomllib.loads(capsys.readouterr().out))
    assert made.serving is not None
    assert (made.serving.model, made.serving.rate, made.serving.objectives.ttft_s) == ("M", (5.0,), 0.2)


def test_wrong_flags_are_told_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", "localhost:8000", "--slo", "speed=1", "--concurrency", "0"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: 3 problems\n")
    assert "Write http://localhost:8000" in err


def test_named_addresses_are_engines_and_bare_ones_replicas(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", "a=http://h:1", "b=http://h:2/v1", "a=http://h:3", "--model", "M", "--toml"]) == 0
    targets = tomllib.loads(capsys.readouterr().out)["serving"]["targets"]
    assert [(one["name"], one["urls"]) for one in targets] == [("a", ["http://h:1", "http://h:3"]), ("b", ["http://h:2/v1"])]
    assert cli.main(["load", "http://h:1", "http://h:2/?x=http://y", "--model", "M", "--toml"]) == 0
    (target,) = tomllib.loads(capsys.readouterr().out)["serving"]["targets"]
    assert target["urls"] == ["http://h:1", "http://h:2/?x=http://y"]


def test_a_bare_address_next_to_named_ones_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", "a=http://h:1", "http://h:2", "--model", "M", "--toml"]) == 2
    assert "URL: found http://h:2 next to NAME=URL; allowed: a name for every URL, or for none." in capsys.readouterr().err


def test_concurrency_and_rate_together_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", URL, "--concurrency", "1", "--rate", "1", "--dry-run"]) == 2


def test_where_nothing_listens_the_exit_code_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert cli.main(["load", url, "--quiet"]) == 7
    assert f"no server at {url}" in capsys.readouterr().err
    assert record_folders(tmp_path / "records") == []


@pytest.mark.slow
def test_a_small_load_ends_in_a_sealed_record_and_its_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Settings(first_s=0.005, next_s=0.001)) as server:
        words = [
            "load",
            server.url,
            "--model",
            "reference",
            "--scenario",
            "D(10,8)",
            "--concurrency",
            "2",
            "--launches",
            "1",
            "--duration",
            "0.5s",
            "--warm-up",
            "0.1s",
            "--slo",
            "ttft=5",
            "--json",
        ]
        code = cli.main(words)
    out, err = capsys.readouterr()
    report = json.loads(out)
    (path,) = record_folders(tmp_path / "records")
    assert code in (0, 3, 4)  # one launch carries no verdict; a busy machine may send late
    assert report["record"]["name"] == "reference"
    assert open_record(path).state == "complete"
    assert "[1/1] concurrency=2 round 0 ok" in err


@pytest.mark.parametrize("flag", ["--toml", "--dry-run"])
def test_a_secret_is_refused_before_anything_is_printed(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", URL, "--header", "Authorization: Bearer sk-Abcdefghijklmnopqrstuvwx12", flag]) == 2
    out, err = capsys.readouterr()
    assert "sk-Abc" not in out + err


def test_what_mlperf_would_miss_is_said_beforehand(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", URL, "--rate", "5", "--arrival", "server", "--duration", "30s", "--dry-run"]) == 0
    assert "MLPerf Server valid: no, 30 s of 600 s" in capsys.readouterr().err


def test_the_check_of_two_engines_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["load", "a=http://127.0.0.1:1", "b=http://127.0.0.1:2", "--check"]) == 2
    assert "--check: found 2 engines (a, b); allowed: one engine" in capsys.readouterr().err


@pytest.mark.slow
def test_a_load_that_is_refused_ends_after_some_ten_requests_for_both_engines(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Settings()) as good, serving(Settings(fault=("status:code=401,share=1.0",))) as bad:
        flags = ["--concurrency", "4", "--duration", "300ms", "--warm-up", "0s", "--launches", "2", "--quiet"]
        assert cli.main(["load", f"a={good.url}", f"b={bad.url}", *flags]) == 5
    err = capsys.readouterr().err
    assert f'{bad.url} answers 401 Unauthorized: "injected fault 401"' in err
    assert "--api-key-env OPENAI_API_KEY" in err
    record = open_record(record_folders(Path("records"))[0])
    launches = record.table("launches")
    refused = launches.filter(launches["configuration"].str.contains("engine=b"))
    assert refused["status"].to_list() == ["failed"]
    assert record.table("requests").filter(record.table("requests")["launch"] == refused["launch"][0]).height < 30


@pytest.mark.slow
def test_a_quick_load_shows_raw_numbers_and_its_command_is_the_ordinary_load(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Settings(first_s=0.02, next_s=0.002, model="tiny")) as server:
        assert cli.main(["load", "--quick", server.url, "--scenario", "D(5,5)", "--duration", "1s", "--warm-up", "100ms"]) in (0, 3)
        out, err = capsys.readouterr()  # INVALID where the machine is busy; the numbers come all the same
        assert "model tiny, asked from" in err
        assert " 0 of " in out
        assert "TTFT, ms" in out
        command = next(line for line in out.splitlines() if line.startswith("  assay load")).split()
        assert cli.main([*command[1:], "--dry-run"]) == 0
    assert "9 launches" in capsys.readouterr().out


@pytest.mark.slow
def test_a_server_with_several_models_is_not_loaded_without_a_choice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fireassay.api.served_model.listed", lambda target: ("big", "small"))
    with serving(Settings()) as server:
        assert cli.main(["load", "--quick", server.url]) == 2
    err = capsys.readouterr().err
    assert "big, small" in err
    assert "--model big" in err
    assert not Path("records").exists()
