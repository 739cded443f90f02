"""Do the real servers hold every number of an export, and say what may not be quoted?  Skipped where a program is not installed.

MLflow's server needs the whole distribution: FIREASSAY_TEST_MLFLOW names its program, in an environment of its own.  W&B's reader of offline
files was a Python module until 0.22: FIREASSAY_TEST_WANDB names the Python of an environment that has it.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fireassay.api.senders import mlflow, otlp, prometheus, wandb
from fireassay.record.files import pieces
from fireassay.reports.exports import otlp as otlp_files
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.prometheus import text
from tests.api.senders.conftest import late, training
from tests.api.senders.test_mlflow import DIGEST, sealed
from tests.api.senders.test_otlp import Collector, listening
from tests.api.senders.test_training_runs import begun, expected, logged, trained
from tests.exporting import opentelemetry, tracked
from tests.limits import PROCESS_S

__all__ = ["late", "training"]  # fixtures
pytestmark = [pytest.mark.deep, pytest.mark.filterwarnings("ignore")]  # of the servers' libraries


def installed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def serving(url: str, *words: str | Path, folder: Path, **variables: str) -> Iterator[None]:
    """A server that answers at `url`, until the end of the block."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder, env={**os.environ, **variables}, start_new_session=True)
        try:
            deadline = time.monotonic() + PROCESS_S
            while not answers(url):
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail((folder / "log").read_text())
                time.sleep(0.05)
            yield
        finally:
            server.terminate()
            server.wait(PROCESS_S)


def answers(url: str) -> bool:
    try:
        return bool(urllib.request.urlopen(url, timeout=PROCESS_S).status)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PROCESS_S) as answer:
        return str(answer.read().decode())


# ---- MLflow ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    program = os.environ.get("FIREASSAY_TEST_MLFLOW", "")
    if not program:
        pytest.skip("FIREASSAY_TEST_MLFLOW does not name a program")
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    url = f"http://127.0.0.1:{(port := free())}"
    store = ("--backend-store-uri", f"sqlite:///{tmp_path}/runs.db", "--artifacts-destination", tmp_path / "artifacts")
    words = (program, "server", *store, "--host", "127.0.0.1", "--port", str(port), "--workers", "1")
    with serving(f"{url}/health", *words, folder=tmp_path, MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"):
        yield url


def test_mlflow_s_server_holds_every_number_the_verdict_and_the_training_s_run(tracking: str, training: Subject, late: Subject) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(tracking)
    run = trained(client, begun(training))
    subject = logged(sealed(training), "mlflow", run)
    for one in (subject, sealed(late)):
        assert mlflow.send(one, Path(), tracking).new
        assert not mlflow.send(one, Path(), tracking).new, "a second export changes nothing"
        experiment = client.get_experiment_by_name(one.head.name)
        runs = {found.data.params["configuration"]: found for found in client.search_runs([experiment.experiment_id])}
        for configuration, numbers in tracked(one.document).items():
            data = runs[configuration].data
            assert {name: value for name, value in data.metrics.items() if "step_seconds" not in name} == numbers
            assert (data.tags["fireassay.digest"], data.tags["fireassay.status"]) == (DIGEST, one.head.status)
        names = {found.info.run_name for found in runs.values()}
        assert all(name.startswith("INVALID ") for name in names) == (one.head.status == "INVALID")
        whole = client.download_artifacts(runs["all"].info.run_id, "assay-report.json")
        assert json.loads(Path(whole).read_text()) == json.loads(json.dumps(one.document))
    assert client.get_run(run).data.metrics == {"loss": 0.5, **expected(subject)}


# ---- Prometheus ------------------------------------------------------------------------------------------------------

Series = set[tuple[str, tuple[tuple[str, str], ...], float]]


def series(exposition: str) -> Series:
    """Ours of an exposition, without the labels of the gateway and without empty ones, which are none (node_exporter adds them)."""
    return {
        (
            one.name,
            tuple(sorted((label, value) for label, value in one.labels.items() if value and label not in ("job", "instance"))),
            one.value,
        )
        for family in text_string_to_metric_families(exposition)
        for one in family.samples
        if one.name.startswith("fireassay_")
    }


def test_the_push_gateway_shows_every_series_of_two_experiments(tmp_path: Path, training: Subject, late: Subject) -> None:
    url = f"http://127.0.0.1:{(port := free())}"
    with serving(f"{url}/-/ready", installed("prometheus-pushgateway"), f"--web.listen-address=127.0.0.1:{port}", folder=tmp_path):
        for one in (training, late, late):
            prometheus.send(one, Path(), url)
        shown = series(get(f"{url}/metrics"))
    assert shown == series(text(training)) | series(text(late))
    standing = {dict(labels).get("standing") for name, labels, _ in series(text(late)) if "ttft" in name}
    assert standing == {"invalid"}


def test_node_exporter_serves_every_series_of_the_textfile(tmp_path: Path, training: Subject, late: Subject) -> None:
    program, url = installed("prometheus-node-exporter"), f"http://127.0.0.1:{(port := free())}"
    for name, one in (("a", training), ("b", late)):
        (tmp_path / f"{name}.prom").write_text(text(one))
    flags = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={tmp_path}")
    with serving(f"{url}/", program, *flags, f"--web.listen-address=127.0.0.1:{port}", folder=tmp_path):
        page = get(f"{url}/metrics")
    assert "node_textfile_scrape_error 0" in page
    assert series(page) == series(text(training)) | series(text(late))


# ---- OpenTelemetry ---------------------------------------------------------------------------------------------------


def test_a_collector_passes_every_span_and_point_on(tmp_path: Path, late: Subject) -> None:
    """Rotel, a collector in Rust with a wheel; its program is rotel-agent."""
    program, port, other = installed("rotel-agent"), free(), free()
    trace, metric = opentelemetry("collector.trace"), opentelemetry("collector.metrics")
    files = otlp_files.files(late).files
    sent_spans = spans([trace.ExportTraceServiceRequest.FromString(b"".join(pieces(files["traces.pb"])))])
    sent_points = points([metric.ExportMetricsServiceRequest.FromString(b"".join(pieces(files["metrics.pb"])))])
    with listening(Collector(answer=b"")) as behind:
        words = ("--otlp-http-endpoint", f"127.0.0.1:{port}", "--otlp-grpc-endpoint", f"127.0.0.1:{other}", "--exporter", "otlp")
        to = ("--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint", behind.url, "--otlp-exporter-compression", "none")
        with serving(f"http://127.0.0.1:{port}/", program, "start", *words, *to, folder=tmp_path):
            otlp.send(late, Path(), f"http://127.0.0.1:{port}")
            deadline = time.monotonic() + PROCESS_S
            while time.monotonic() < deadline:
                bodies = [
                    (path, gzip.decompress(body) if about.get("content-encoding") == "gzip" else body)
                    for path, body, about in list(behind.heard)
                ]
                got = spans([trace.ExportTraceServiceRequest.FromString(body) for path, body in bodies if path == "/v1/traces"])
                seen = points([metric.ExportMetricsServiceRequest.FromString(body) for path, body in bodies if path == "/v1/metrics"])
                if (len(got), len(seen)) == (len(sent_spans), len(sent_points)):
                    break
                time.sleep(0.05)
    assert got == sent_spans != []
    assert seen == sent_points != []
    invalid = sum('string_value: "invalid"' in one for one in seen)
    assert invalid == 3 * sum(row.value is not None for row in late.values) > 0, "every value and bound of an INVALID record says so"


def spans(requests: list[Any]) -> list[str]:
    return sorted(str(span) for request in requests for of in request.resource_spans for scope in of.scope_spans for span in scope.spans)


def points(requests: list[Any]) -> list[str]:
    return sorted(
        f"{metric.name} {metric.unit} {point}"
        for request in requests
        for of in request.resource_metrics
        for scope in of.scope_metrics
        for metric in scope.metrics
        for point in metric.gauge.data_points
    )


# ---- W&B -------------------------------------------------------------------------------------------------------------

READS = """
import json, sys
from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal.datastore import DataStore

for path in sys.argv[1:]:
    store, summary = DataStore(), {}
    store.open_for_scan(path)
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record.FromString(data)
        summary |= {"/".join(one.nested_key) or one.key: json.loads(one.value_json) for one in record.summary.update}
        config = record.run.config.update if record.WhichOneof("record_type") == "run" else ()
        summary |= {f"config {one.key}": json.loads(one.value_json) for one in config}
    print(json.dumps(summary))
"""


def test_wandb_s_own_reader_finds_every_number(tmp_path: Path, training: Subject, late: Subject) -> None:
    python = os.environ.get("FIREASSAY_TEST_WANDB", "")
    if not python:
        pytest.skip("FIREASSAY_TEST_WANDB does not name a Python")
    pytest.importorskip("wandb", reason="wandb is not installed")
    for one in (training, late):
        folder = tmp_path / one.head.name
        wandb.send(sealed(one), Path(), str(folder))
        read = subprocess.run([python, "-c", READS, *folder.glob("wandb/*/*.wandb")], capture_output=True, text=True, check=True)
        runs = {found["config configuration"]: found for found in map(json.loads, read.stdout.splitlines())}
        for configuration, numbers in tracked(one.document).items():
            found = runs[configuration]
            assert {name: found[name.removesuffix(end)][part] for name in numbers for end, part in [of(name)]} == numbers
            assert (found["config fireassay.digest"], found["config fireassay.status"]) == (DIGEST, one.head.status)


def of(name: str) -> tuple[str, str]:
    """The ending of a tracker's name, and the part of W&B's summary that it stands for."""
    return next(((end, end[1:]) for end in (".low", ".high") if name.endswith(end)), ("", "value"))
