"""Every byte of records, logs, reports and terminals is searched for secrets that were planted on every way in."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from fireassay import catalog
from fireassay.cli import main
from fireassay.record.lookup import record_folders
from fireassay.record.reader import open_record
from tests.canary import ENVIRONMENT, GATE, HOUSE, found_in
from tests.importers.samples import vllm, write
from tests.limits import PROCESS_S
from tests.traffic.engine import HEAD, Heard, chunked, delta, engine, event

FILES = [*(name.replace("_", "-") for name in catalog.names("reports.exports")), "mlflow", "wandb"]
REPORTS = ("--html", "--markdown", "--json", "--excel", "--latex")


def assay(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """The command line as a user has it."""
    return subprocess.run(
        [sys.executable, "-m", "fireassay", *words],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        timeout=PROCESS_S,
        check=False,
    )


def whole(status: bytes, body: bytes, *heads: bytes) -> bytes:
    """An answer in one piece."""
    return b"\r\n".join((b"HTTP/1.1 " + status, *heads, b"Content-Length: %d" % len(body), b"", body))


def streamed(*events: bytes) -> bytes:
    """A streamed answer of several chunks."""
    return HEAD + b"".join(chunked(one) for one in (*events, b"data: [DONE]\n\n")) + b"0\r\n\r\n"


BASE64 = base64.b64encode(f"Bearer {HOUSE}".encode()).decode()
ANSWERS = (
    streamed(delta("you are "), delta(HOUSE[:11]), delta(HOUSE[11:]), delta(f" and {GATE}", "stop")),  # across two chunks
    streamed(delta(f"{BASE64} {HOUSE.encode().hex()}", "stop")),
    streamed(delta("x", finish=HOUSE)),
    streamed(event({"choices": [{"index": 0, "delta": {"reasoning_content": GATE}, "finish_reason": None}]}), delta("y", "stop")),
    streamed(event({"error": {"message": f"no {quote(HOUSE, safe='')}", "code": HOUSE}})),
    whole(b"401 No", json.dumps({"error": {"message": f"bad key {HOUSE}"}}).encode(), b"X-Echo: " + HOUSE.encode()),
    whole(b"500 Broken", b"x" * 490 + HOUSE.encode() + GATE.encode()),  # where an error is cut
    whole(b"302 Found", b"", b"Location: /?key=" + quote(HOUSE, safe="").encode()),
    whole(b"200 OK", b'{"half": "' + HOUSE.encode()),
    b"HTTP/1.1 200 " + HOUSE.encode() + b"\r\nContent-Length: -7\r\n\r\n",
    b"GARBAGE " + HOUSE.encode() + b"\r\n\r\n",
)


async def echo(heard: Heard, writer: asyncio.StreamWriter) -> bool:
    """Gives back what it was told in confidence, in every place that an answer has."""
    if not heard.body:  # the engine describes itself, and its metrics
        answer = whole(b"200 OK", json.dumps({"version": HOUSE, "key": GATE}).encode(), b"Server: " + HOUSE.encode())
    else:
        answer = ANSWERS[heard.number % len(ANSWERS)]
    writer.write(answer)
    await writer.drain()
    return False


@pytest.mark.deep
@pytest.mark.slow
def test_a_server_that_echoes_its_key_gets_it_into_no_byte_of_a_record(tmp_path: Path) -> None:
    with engine(echo) as made:
        words = [
            made.url,
            "--model",
            "m",
            "--scenario",
            "D(5,4)",
            "--api-key-env",
            "HOUSE",
            "--header",
            "X-Gate: {env:GATE}",
            "--concurrency",
            "4",
            "--launches",
            "1",
            "--duration",
            "0.5s",
            "--warm-up",
            "0.1s",
        ]
        plans = [assay(tmp_path, "load", *words, flag) for flag in ("--dry-run", "--toml")]
        load = assay(tmp_path, "load", *words)
    heads = "".join(heard.head for heard in made.heard)
    assert HOUSE in heads, load.stderr.decode()
    assert GATE in heads
    (path,) = record_folders(tmp_path / "records")
    requests = open_record(path).table("requests")
    assert "[redacted]" in "".join(requests["text"].drop_nulls())
    assert "[redacted]" in "".join(requests["error"].drop_nulls())
    reports = assay(tmp_path, "report", str(path), *REPORTS)
    verified = assay(tmp_path, "verify", str(path))
    exports = [assay(tmp_path, "export", str(path), "--to", name, "--out", f"for-{name}") for name in FILES]
    assert {one.returncode for one in exports} <= {0, 2}  # 2: a form that cannot hold this record
    assert len([one for one in exports if one.returncode == 0]) >= 6
    said = b"".join(one.stdout + one.stderr for one in (*plans, load, reports, verified, *exports))
    assert found_in(tmp_path, said) == []
    assert verified.returncode == 0


SCRIPT = """
import base64, os, sys
from urllib.parse import quote

secret = os.environ["DEPLOY_KEY"]
print("plain", secret)
print("coded", base64.b64encode(b"Bearer " + secret.encode()).decode(), quote(secret, safe=""), secret.encode().hex())
print(secret[:13])
print(secret[13:])
sys.stdout.flush()
os.write(1, secret.encode("utf-16-le") + b"\\n")
sys.stderr.write("x" * 5000 + secret + "\\n")
raise ValueError(f"cannot reach {secret} at https://user:{secret}@host/")
"""


@pytest.mark.slow
def test_a_script_that_prints_its_key_and_dies_of_it_leaves_it_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    with monkeypatch.context() as planted:
        planted.setenv("DEPLOY_KEY", HOUSE)
        ran = assay(tmp_path, "run", "--workers", "1", "--launches", "1", "--launcher", "plain", "--", "train.py")
    (path,) = record_folders(tmp_path / "records")
    monkeypatch.chdir(tmp_path)
    main(["report", str(path), *REPORTS, "--terminal"])
    shown = b"".join(capfdbinary.readouterr())
    assert shown
    assert ran.returncode == 5
    log = next((path / "logs").glob("*.log")).read_text(errors="replace")
    assert log.count("[redacted]") >= 7
    assert found_in(tmp_path, ran.stdout + ran.stderr + shown, secrets=(HOUSE,)) == []


@pytest.mark.deep
def test_results_of_another_tool_are_imported_without_their_keys(tmp_path: Path) -> None:
    """vLLM's file holds its own command line; keys stand in names, errors, answers and in fields that nobody knows."""
    key = "sk-ant-api03-" + "aB3dE6gH" * 11 + "xyzwvAA"
    told = vllm(failed={1})
    told |= {"model_id": f"m?api_key={key}", "api_key": key, "endpoint_type": key}
    told["errors"] = [f"401: bad key {key}" if error else error for error in told["errors"]]
    told["generated_texts"] = [f"here is {key}" for _ in told["generated_texts"]]
    write(tmp_path / "run.json", told)
    made = assay(tmp_path, "import", "run.json")
    assert made.returncode == 0, made.stderr.decode()
    (path,) = record_folders(tmp_path / "records")
    shown = assay(tmp_path, "report", str(path), "--json", "--terminal")
    said = made.stdout + made.stderr + shown.stdout + shown.stderr
    assert found_in(path, said, secrets=(key,)) == []
    assert "[redacted]" in "".join(open_record(path).table("requests")["text"].drop_nulls())
