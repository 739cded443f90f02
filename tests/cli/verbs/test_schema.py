"""`assay schema`: JSON that an editor reads, or a table that a person reads."""

from __future__ import annotations

import json

import pytest

from fireassay.cli import main
from fireassay.reports.documents import document
from fireassay.spec.claim import claim_schema
from fireassay.spec.load import json_schema, key_table


def test_the_schema_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()


def test_the_keys_are_printed_as_a_table_with_four_columns_in_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--keys"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(key_table())
    assert {line.replace("\\|", "").count("|") for line in lines} == {5}
    assert any(line.startswith("| `factor.levels` | list of whole numbers | required |") for line in lines)


def test_the_keys_and_the_schema_of_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--claim"]) == 0
    assert json.loads(capsys.readouterr().out) == claim_schema()
    assert main(["schema", "--claim", "--keys"]) == 0
    assert "| `number[].metric` | text | required |" in capsys.readouterr().out


def test_the_schema_and_the_keys_of_a_verbs_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--document", "report"]) == 0
    assert json.loads(capsys.readouterr().out) == document("report").json_schema()
    assert main(["schema", "--document", "report", "--keys"]) == 0
    assert "| `seal` | string or null |" in capsys.readouterr().out


def test_a_verb_without_a_declared_output_is_named_with_those_that_have_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--document", "sign"]) == 2
    error = capsys.readouterr().err
    assert "--document: found 'sign'" in error
    assert "report" in error
