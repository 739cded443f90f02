"""A crate says what each of its files is; the anonymous one holds none of the planted identities, and still the digest."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from fireassay.errors import SpecError
from fireassay.record.files import pieces
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.ro_crate import EXPORT
from tests.exporting import subject
from tests.serving_made import ServingMade
from tests.statuses import RECORDS

pytestmark = pytest.mark.slow
PLANTED = (
    *("gpu-node-17", "gpu-node-17.cluster.example.org", "login3.example.org", "10.17.3.99", "2001:db8:85a3::8a2e:370:7334"),
    *(
        "02:42:ac:11:00:07",
        "mallory",
        "/data/mallory-secret/run7/train.py",
        "alice@example.edu",
        "build-agent9.corp",
        "scratch-trove",
        "bob77",
    ),
)
SAID = (
    "cannot reach http://gpu-node-17.cluster.example.org:8000/v1 (10.17.3.99, [2001:db8:85a3::8a2e:370:7334], 02:42:ac:11:00:07)",
    "gpu-node-17 is slow; ask mallory, alice@example.edu or ssh bob77@login3.example.org",
    "/home/mallory/x.py imports /data/mallory-secret/run7/train.py on build-agent9.corp",
    "File /home/bob77/scratch-trove/a.py, line 3",
)


def crate(made: Subject, **options: str) -> dict[str, bytes]:
    files = EXPORT.files(Subject(view=made.view, options=options)).files
    return {name: b"".join(pieces(content)) for name, content in files.items()}


@pytest.fixture(scope="module")
def planted() -> Subject:
    made = ServingMade(concurrency=(1,), blocks=3)
    for block in range(3):
        launch = made.launch("concurrency=1", block=block)
        for second in range(4):
            made.request(launch, float(second), stream=0, text=SAID[second], error=SAID[second] if second == 3 else None)
        made.event(launch, "note", 1.0, detail={"said": SAID[1]})
        events = made.rows["events"]
        events[-1] = tuple("gpu-node-17.cluster.example.org" if cell == "host" else cell for cell in events[-1])
    return subject(made.measured())


def everything(files: dict[str, bytes]) -> str:
    """The text of all files, of tables what is compressed in them."""
    tables = (pq.read_table(io.BytesIO(content)) for name, content in files.items() if name.endswith(".parquet"))
    texts = [json.dumps(table.to_pylist()) + str(table.schema.metadata) for table in tables]
    return "\n".join([*files, *texts, *(content.decode() for name, content in files.items() if not name.endswith(".parquet"))])


def test_every_file_is_described_and_the_verdict_and_the_digest_are_properties(tmp_path: Path) -> None:
    made = subject(RECORDS["answers", "INVALID"](tmp_path))
    files = crate(made, license="https://creativecommons.org/licenses/by/4.0/")
    graph = {one["@id"]: one for one in json.loads(files["ro-crate-metadata.json"])["@graph"]}
    assert {part["@id"] for part in graph["./"]["hasPart"]} == set(files) - {"ro-crate-metadata.json"}
    assert all(graph[name]["@type"] == "File" for name in files if name != "ro-crate-metadata.json")
    assert graph["./"]["name"].startswith("INVALID: ")
    values = {graph[one["@id"]]["name"]: graph[one["@id"]]["value"] for one in graph["./"]["additionalProperty"]}
    assert values["record digest (SHA-256)"] == made.measured.seal
    assert (values["status"], values["standing"]) == ("INVALID", "invalid")


def test_planted_identities_are_in_the_crate_and_in_no_byte_of_the_anonymous_one(planted: Subject) -> None:
    told = everything(crate(planted))
    assert [name for name in PLANTED if name not in told] == []
    hidden = everything(crate(planted, anonymous="yes"))
    assert [name for name in PLANTED if name in hidden] == []


def test_the_same_identity_becomes_the_same_word_and_numbers_stay(planted: Subject) -> None:
    files = crate(planted, anonymous="yes")
    events = pl.read_parquet(io.BytesIO(files["tables/events.parquet"]))
    (host,) = events.filter(pl.col("kind") == "note")["host"].unique()
    requests = pl.read_parquet(io.BytesIO(files["tables/requests.parquet"]))
    assert f"http://{host}:8000" in requests["text"][0]
    assert f"{host} is slow" in requests["text"][1]
    ours = planted.measured.table("requests")
    assert requests["sent_ns"].to_list() == ours["sent_ns"].to_list()
    assert crate(planted, anonymous="yes") == files


def test_a_wrong_answer_to_anonymous_is_refused(planted: Subject) -> None:
    with pytest.raises(SpecError, match="yes or no"):
        crate(planted, anonymous="perhaps")
