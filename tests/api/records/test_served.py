"""What does the server of a site answer, and what does it refuse?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fireassay.api.records.served import Site, application, hosts_of, is_loopback, listening
from fireassay.clock import FakeClock
from fireassay.errors import EnvironmentLacks
from fireassay.record.folder import RecordFolder, create
from tests.api.records.several import again, broken
from tests.record.making import experiment, launch_row, step_row

pytestmark = pytest.mark.slow
OURS = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("records")
    again("unsynced", root, "aaaaaa", 1)
    broken(root)
    return root


@pytest.fixture
def flying(root: Path) -> Iterator[RecordFolder]:
    """A run of four launches, two of which have ended."""
    folder = create(root, experiment("flight"), "", clock=FakeClock())
    for launch in range(2):
        for step in range(5):
            folder.writer(launch).append("steps", step_row(launch, step))
        folder.writer(launch).append("launches", launch_row(launch))
        folder.writer(launch).close()
    yield folder
    folder.finish("interrupted")


@pytest.fixture
def client(root: Path, tmp_path: Path) -> Iterator[TestClient]:
    site = Site(root=root, cache=tmp_path, title="Records", clock=FakeClock(ns=10**10))
    with TestClient(application(site, hosts_of("127.0.0.1", exposed=False)), base_url=OURS) as client:
        yield client


def test_the_pages_of_the_site_and_nothing_else(client: TestClient, root: Path) -> None:
    first = client.get("/")
    assert first.status_code == 200
    assert "unsynced-aaaaaa" in first.text
    assert "not judged" in first.text, "nothing is judged before somebody asks"
    assert client.get("/records/unsynced-aaaaaa.html").status_code == 200
    assert "FAIL" in client.get("/index.html").text, "the page was opened, so the record has been judged"
    paths = ("/nothing.html", "/records/../../manifest.json", "/records/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/records/")
    for path in paths:
        assert client.get(path).status_code == 404, path
    assert client.post("/").status_code == 405
    assert client.head("/").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "8.8.8.8", "", "[::1", "a b", "127.0.0.1:8000@evil"])
def test_a_foreign_host_is_refused(client: TestClient, host: str) -> None:
    reply = client.get("/", headers={"Host": host})
    assert reply.status_code == 421
    assert "unsynced" not in reply.text


def test_every_answer_forbids_foreign_scripts_frames_and_connections(client: TestClient) -> None:
    for path in ("/", "/compare.html", "/live.html", "/records/unsynced-aaaaaa.html", "/nothing"):
        reply = client.get(path)
        policy = reply.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "'unsafe-eval'" not in policy
        assert "script-src 'unsafe-inline'" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cache-Control"] == "no-store"
    assert "connect-src 'self'" in client.get("/").headers["Content-Security-Policy"]


def test_a_run_in_flight_is_shown_with_its_progress(client: TestClient, flying: RecordFolder) -> None:
    text = " ".join(client.get("/live.html").text.split())
    assert "2 of 4" in text
    assert "workers=" in text
    assert "provisional, 1 of 2 rounds, no interval yet, no verdict" in text
    assert text.count("flight-") >= 1
    before = client.get("/live.html").headers["X-Assay-Records"]
    flying.writer(2).append("launches", launch_row(2))
    flying.writer(2).close()
    after = client.get("/live.html")
    assert "3 of 4" in after.text, "nothing is remembered"
    assert after.headers["X-Assay-Records"] == before, "no record is new, so no page is reloaded"
    flying.finish("interrupted")
    assert client.get("/live.html").headers["X-Assay-Records"] != before


def test_without_runs_it_says_so(client: TestClient) -> None:
    assert "None." in client.get("/live.html").text


def test_a_page_that_cannot_be_made_says_why(client: TestClient, root: Path) -> None:
    bad = again("unsynced", root, "bbbbbb", 2)
    (bad / "experiment.toml").write_text((bad / "experiment.toml").read_text() + "\n")
    reply = client.get("/records/unsynced-bbbbbb.html")
    assert reply.status_code == 500
    assert "was changed" in reply.text
    assert str(root) not in reply.text


@pytest.mark.parametrize(
    ("host", "exposed", "header", "ours"),
    [
        ("127.0.0.1", False, "localhost:1", True),
        ("127.0.0.1", False, "[::1]:1", True),
        ("127.0.0.1", False, "10.0.0.7", False),
        ("0.0.0.0", True, "10.0.0.7:80", True),
        ("0.0.0.0", True, "evil.example", False),
        ("box.lan", True, "BOX.lan:80", True),
    ],
)
def test_which_names_are_ours(host: str, exposed: bool, header: str, ours: bool) -> None:
    assert hosts_of(host, exposed=exposed)(header) is ours


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.lan", False)]
)
def test_which_addresses_are_this_machine_alone(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_port_in_use_is_one_sentence() -> None:
    with listening("127.0.0.1", 0) as listener, pytest.raises(EnvironmentLacks, match=r"cannot listen on 127\.0\.0\.1, port \d+: .*in use"):
        listening("127.0.0.1", listener.getsockname()[1])
