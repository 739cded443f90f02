"""Is a load put on real servers, with one outcome for each request that was due, whatever breaks?"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

from fireassay.errors import EnvironmentLacks, Interrupted, SpecError, WorkloadError
from fireassay.frames.record_data import from_record
from fireassay.instruments.reference_server.server import serving as reference_server
from fireassay.instruments.reference_server.settings import Settings
from fireassay.record.lookup import record_folders
from fireassay.record.reader import Record, open_record
from fireassay.record.seal import verify
from fireassay.runners.experiment.context import StopRequest
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.run import resume, run
from fireassay.runners.serving import as_replayed
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.verdict.judge import judge
from tests.reports.written import written

SERVER = [sys.executable, "-m", "fireassay.instruments.reference_server", "--port", "{port}", "--first-s", "0.01", "--next-s", "0.001"]


def asked(**more: Any) -> Experiment:
    data: dict[str, Any] = {
        "name": "served",
        "workload": {"runner": "serving", "work": "tokens"},
        "serving": {
            "model": "reference",
            "scenarios": ["D(10,8)"],
            "rate": [40.0],
            "targets": [{"name": "reference", "command": SERVER, "replicas": 2}],
            "arrivals": {"process": "poisson", "duration_s": 1.0, "warm_up_s": 0.2, "drain_s": 5.0},
            "objectives": {"ttft_s": 5.0},
        },
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "limits": {"grace_s": 2.0},
    }
    serving = {**data["serving"], **more.pop("serving", {})}
    return from_mapping({**data, "serving": serving, **more})


def whole(record: Record) -> None:
    """Every request that was due in a launch that came to its end has exactly one row."""
    ended = record.table("launches").filter(pl.col("status") == "ok")
    for (launch,), planned in record.table("arrivals").join(ended, on="launch", how="semi").group_by("launch"):
        rows = record.table("requests").filter(pl.col("launch") == launch)
        assert rows["request"].n_unique() == rows.height
        due = planned.filter(pl.col("due_ns").is_not_null())
        assert due.join(rows, on="request", how="anti").height == 0
        assert rows.join(planned, on="request", how="anti").height == 0


def left_over(path: Path) -> list[int]:
    """Processes of this record that are still alive."""
    found = []
    for process in psutil.process_iter():
        try:
            if path.name in " ".join(process.cmdline()) or process.environ().get("FIREASSAY_MARK", "").startswith(path.name):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """One timed load and one under which a replica is killed and started again."""
    fault = {"kind": "kill", "at_s": 0.4, "for_s": 0.3, "replica": 1}
    root = tmp_path_factory.mktemp("broken")
    arrivals = {"process": "poisson", "duration_s": 3.0, "warm_up_s": 0.2, "drain_s": 5.0}
    return open_record(run(asked(faults=[fault], serving={"arrivals": arrivals}), root=root / "records", folder=root))


@pytest.mark.slow
def test_a_load_on_started_replicas_is_sealed_and_accounted_for(broken: Record) -> None:
    assert broken.state == "complete"
    assert verify(broken.path) == ()
    whole(broken)
    timed = broken.table("requests").filter(pl.col("launch") == 0)
    assert timed.filter(pl.col("phase") != "cold")["status"].unique().to_list() == ["ok"]
    assert timed.filter(pl.col("phase") == "cold").height == 2  # one for each replica
    assert sorted(timed["replica"].unique().to_list()) == [0, 1]
    assert timed["tokens_out"].unique().to_list() == [8]
    assert left_over(broken.path) == []


@pytest.mark.slow
def test_the_schedule_is_named_by_its_content_and_its_launches_share_it(broken: Record) -> None:
    schedules = broken.manifest["schedules"]
    assert set(schedules) == {"0", "1"}
    assert all(len(one["sha256"]) == 64 and one["requests"] > 0 for one in schedules.values())


@pytest.mark.slow
def test_a_killed_replica_is_seen_and_told(broken: Record) -> None:
    events = broken.table("events").filter(pl.col("launch") == 1)
    moments = {kind: events.filter(pl.col("kind") == kind)["ns"] for kind in events["kind"].unique()}
    assert len(moments["fault"]) == len(moments["fault_end"]) == 1
    assert moments["server_start"].len() == 3  # two replicas, and the killed one again
    down = events.filter((pl.col("kind") == "replica_down") & (pl.col("value") == 1.0))["ns"]
    assert abs(down[0] - moments["fault"][0]) < 1_000_000_000  # the noisy machine's bound; the prober's own test is sharper
    begin = moments["load_begin"][0]
    # never before its moment; how late a busy machine is with it is bounded as above
    assert 600_000_000 <= moments["fault"][0] - begin < 1_600_000_000
    failed = broken.table("requests").filter((pl.col("launch") == 1) & (pl.col("status") != "ok"))
    assert set(failed["replica"].unique().to_list()) == {1}


@pytest.mark.slow
def test_the_record_is_judged_and_reported(broken: Record) -> None:
    from fireassay.reports.build_view import build

    measured = from_record(broken)
    judgement = judge(measured)
    page = written(build(measured, judgement), "html")
    assert judgement.verdict.status in ("PASS", "INCONCLUSIVE", "INVALID")  # a busy machine sends late
    assert "Under a fault" in page


@pytest.mark.deep
@pytest.mark.slow
def test_a_client_that_is_killed_loses_nothing_silently(tmp_path: Path) -> None:
    """Its rows stay, what it had under way is lost by name, and the launch has failed. Answers take long: some are under way."""
    killed: list[int] = []

    def kill(progress: RunProgress) -> None:
        load = progress.running.load if progress.running is not None else None
        if load is not None and load.state == "load" and load.done > 60 and not killed:  # flushed twice by then
            for process in psutil.process_iter():
                try:
                    words = process.cmdline()
                except psutil.Error:
                    continue
                if "fireassay.traffic.client.process" in words and str(progress.record.resolve()) in " ".join(words):
                    killed.append(process.pid)
                    os.kill(process.pid, signal.SIGKILL)

    arrivals = {"process": "poisson", "duration_s": 30.0, "warm_up_s": 0.0, "drain_s": 1.0}
    slow = [{"name": "reference", "command": [*SERVER, "--first-s", "0.3"]}]
    with pytest.raises(WorkloadError, match="client process 0"):
        run(asked(serving={"arrivals": arrivals, "targets": slow}), root=tmp_path / "records", folder=tmp_path, on_progress=kill)
    record = open_record(record_folders(tmp_path / "records")[0])
    rows = record.table("requests")
    assert killed
    assert record.table("launches")["status"].to_list() == ["failed"]
    assert rows["request"].n_unique() == rows.height
    assert rows.filter(pl.col("status") == "lost").height >= 1
    assert rows.filter(pl.col("status") == "ok").height >= 1
    dead_ns = record.table("launches")["end_ns"][0]
    begin = record.table("events").filter(pl.col("kind") == "load_begin")["ns"][0]
    due = record.table("arrivals").filter(pl.col("due_ns") + begin < dead_ns - 500_000_000)
    assert due.join(rows, on="request", how="anti").height == 0
    assert left_over(record.path) == []


@pytest.mark.deep
@pytest.mark.slow
def test_a_stopped_load_goes_on_where_it_was(tmp_path: Path) -> None:
    """Ctrl-C in the second launch: what was measured is kept, the launch is made again, and no request counts twice."""
    stop: list[StopRequest] = []

    def interrupt(progress: RunProgress) -> None:
        load = progress.running.load if progress.running is not None else None
        if load is not None and load.state == "load" and load.done > 3 and len(progress.rows) == 1 and not stop:
            stop.append(StopRequest())
            os.kill(os.getpid(), signal.SIGINT)

    experiment = asked(launches={"per_configuration": 2})
    with pytest.raises(Interrupted):
        run(experiment, root=tmp_path / "records", folder=tmp_path, on_progress=interrupt)
    path = record_folders(tmp_path / "records")[0]
    assert open_record(path).state == "interrupted"
    assert left_over(path) == []
    record = open_record(resume(path))
    statuses = record.table("launches").sort("launch")["status"].to_list()
    assert statuses == ["ok", "aborted", "ok"]
    whole(record)


def test_where_nothing_listens_no_record_is_made(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(EnvironmentLacks, match="no server at .*: connection refused\nNothing was sent or recorded. Start the server"):
        run(asked(serving={"targets": [{"urls": [url]}]}), root=tmp_path / "records", folder=tmp_path)
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize(("rows", "seconds"), [('{"at_s": 0}\n{"at_s": 7.5}\n', 5.5), ('{"at_s": 0}\n{"at_s": 31}\n{"at_s": 99}\n', 29.0)])
def test_a_plan_lasts_as_long_as_its_trace_but_no_longer_than_the_load(tmp_path: Path, rows: str, seconds: float) -> None:
    """2 s of the trace are the warm-up."""
    (tmp_path / "trace").write_text(rows)
    arrivals = {"process": "trace", "trace": "trace", "warm_up_s": 2.0, "duration_s": 30.0}
    made = as_replayed(asked(serving={"rate": [], "arrivals": arrivals}), tmp_path)
    assert made.serving is not None
    assert made.serving.arrivals.duration_s == seconds


def test_https_to_a_server_without_tls_is_told_before_a_record_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        pool.submit(lambda: server.accept()[0].close())
        with pytest.raises(EnvironmentLacks, match="(?s)no TLS at https.*If it speaks plain HTTP.*assay load http://127"):
            run(asked(serving={"targets": [{"urls": [url]}]}), root=tmp_path / "records", folder=tmp_path)
    assert not (tmp_path / "records").exists()


def test_a_server_that_dies_at_its_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    target = {"name": "dies", "command": [sys.executable, "-c", "import sys; sys.exit('no such model: x')"], "ready_timeout_s": 20.0}
    with pytest.raises(WorkloadError, match="no such model: x"):
        run(asked(serving={"targets": [target]}), root=tmp_path / "records", folder=tmp_path)


def test_a_key_that_is_not_set_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    target = {"urls": ["http://127.0.0.1:1"], "api_key_env": "NO_SUCH_KEY"}
    with pytest.raises(EnvironmentLacks, match="NO_SUCH_KEY"):
        run(asked(serving={"targets": [target]}), root=tmp_path / "records", folder=tmp_path)


@pytest.mark.parametrize(
    "target",
    [
        {"urls": ["http://127.0.0.1:1"], "headers": {"Authorization": "Bearer sk-Abcdefghijklmnopqrstuvwx12"}},
        {"urls": ["http://user:hunter2hunter2@127.0.0.1:1"]},
        {"command": ["server", "--api-key", "sk-Abcdefghijklmnopqrstuvwx12"]},
    ],
)
def test_a_secret_that_is_written_down_is_refused(tmp_path: Path, target: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        words = json.loads(json.dumps(target).replace('127.0.0.1:1"', f'127.0.0.1:{port}"'))
        with pytest.raises((SpecError, EnvironmentLacks)) as caught:
            run(asked(serving={"targets": [words]}), root=tmp_path / "records", folder=tmp_path)
    assert "hunter2" not in str(caught.value)
    assert "sk-Abc" not in str(caught.value)
    assert not (tmp_path / "records").exists()


@pytest.mark.deep
@pytest.mark.slow
def test_a_key_reaches_the_server_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key stands in the environment alone: in no file of the record, log, job or report."""
    secret = "k3y-Zyxwvutsrqponmlkjihgfedcba98"
    monkeypatch.setenv("ENGINE_KEY", secret)
    with reference_server(Settings(first_s=0.005, next_s=0.0005)) as server:
        target = {"urls": [server.url], "api_key_env": "ENGINE_KEY", "headers": {"X-Also": "{env:ENGINE_KEY}"}}
        arrivals = {"process": "closed", "duration_s": 0.3, "warm_up_s": 0.0}
        path = run(
            asked(serving={"targets": [target], "arrivals": arrivals, "rate": [], "concurrency": [2]}),
            root=tmp_path / "records",
            folder=tmp_path,
        )
    for file in path.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file


def test_files_that_decide_what_is_sent_are_named_by_their_content(tmp_path: Path) -> None:
    from fireassay.runners.serving import digests
    from fireassay.spec.sections.serving import Prompts, Serving

    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_text("{}")
    (tmp_path / "prompts.txt").write_text("a\n")
    serving = Serving(tokenizer="model", prompts=Prompts(source="prompts.txt"))
    found = digests(serving, tmp_path)
    assert found["serving.tokenizer"] == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"  # sha256 of {}
    assert set(found) == {"serving.tokenizer", "serving.prompts.source"}
    (tmp_path / "prompts.txt").write_text("b\n")
    assert digests(serving, tmp_path)["serving.prompts.source"] != found["serving.prompts.source"]
