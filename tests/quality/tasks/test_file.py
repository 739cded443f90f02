"""Is an own task what its TOML file says, and is everything wrong with it said at once?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.quality.tasks.support import own_task
from fireassay.quality.tasks.support.own_task import OwnTask, RowFields
from tests.quality.tasks.made import digest, lines, refused, tasks, write

ROWS = [{"country": country, "capital": capital, "continent": "Europe"} for country, capital in (("France", "Paris"), ("Italy", "Rome"))]
TOML = """
name = "capitals"
data = "data/capitals.jsonl"
template = "Q: What is the capital of {country}?\\nA:"
extractor = "first_line"
metrics = ["exact_match"]
stop = ["\\n"]
[fields]
reference = "capital"
cluster = "continent"
groups = ["continent"]
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    lines(tmp_path / "data" / "capitals.jsonl", ROWS)
    return write(tmp_path / "capitals.toml", TOML)


def test_a_task_is_one_file(own: Path) -> None:
    (task,) = tasks("file", own)
    item = task.items[1]
    assert (item.prompt, item.references, item.cluster, item.groups) == (
        "Q: What is the capital of Italy?\nA:", ("Rome",), "Europe", {"continent": "Europe"},
    )  # fmt: skip
    assert (task.name, task.extractor, task.stop, task.cluster) == ("capitals", "first_line", ("\n",), "continent")
    assert task.files == {"capitals.jsonl": digest(own.parent / "data" / "capitals.jsonl")}


def test_examples_are_the_first_rows_of_the_named_file(own: Path) -> None:
    lines(own.parent / "shots.jsonl", [{"country": "Spain", "capital": "Madrid", "continent": "Europe"}])
    write(own, f'shots = 1\nshots_from = "shots.jsonl"\nintroduction = "Answer.\\n\\n"\n{TOML}')
    (task,) = tasks("file", own)
    assert task.items[0].prompt == "Answer.\n\nQ: What is the capital of Spain?\nA: Madrid\n\nQ: What is the capital of France?\nA:"
    assert set(task.files) == {"capitals.jsonl", "shots.jsonl"}


def test_choices_are_lettered_in_a_prompt_and_indexed_as_references(tmp_path: Path) -> None:
    lines(tmp_path / "d.jsonl", [{"q": "2+2?", "options": ["3", "4"], "answer": "B"}, {"q": "1+1?", "options": ["2", "0"], "answer": 0}])
    toml = (
        'name = "sums"\ndata = "d.jsonl"\ntemplate = "{q}\\n{options}\\nAnswer:"\nmethod = "loglikelihood"\n[fields]\nchoices = "options"\n'
    )
    (task,) = tasks("file", write(tmp_path / "t.toml", toml))
    assert task.items[0].prompt == "2+2?\nA. 3\nB. 4\nAnswer:"
    assert [item.references for item in task.items] == [("1",), ("0",)]
    assert task.chance == 0.5
    (task,) = tasks("file", write(tmp_path / "t.toml", f'metrics = ["acc", "acc_norm"]\n{toml}'))
    assert task.chance == 0.5
    (task,) = tasks("file", write(tmp_path / "t.toml", f'metrics = ["perplexity"]\n{toml}'))
    assert task.chance is None


def test_the_page_names_every_key(repository: Path) -> None:
    page = (repository / "docs" / "how-to" / "write-a-task.md").read_text()
    keys = [*(name for name in OwnTask.model_fields if name != "fields"), *(f"fields.{name}" for name in RowFields.model_fields)]
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize(("layout", "mark"), [("csv", ","), ("tsv", "\t")])
def test_tables_are_read_too(own: Path, layout: str, mark: str) -> None:
    rows = [tuple(ROWS[0]), *(tuple(row.values()) for row in ROWS)]
    write(own.parent / "data" / "capitals.jsonl", "\r\n".join(mark.join(row) for row in rows), "utf-8-sig")
    write(own, f'layout = "{layout}"\n{TOML}')
    assert [item.references[0] for item in tasks("file", own)[0].items] == ["Paris", "Rome"]


def test_everything_wrong_is_said_at_once_below_its_line(own: Path) -> None:
    message = refused("file", write(own, 'name = "x y"\ndata = 5\ntemplat = "{q}"\nshots = -1\nmethod = "guess"\n'))
    for said in ("5 |", "Did you mean template?", "name", "template", "generation"):
        assert said in message
    contradictions = TOML.replace("first_line", "frist_line").replace("exact_match", "exactmatch").replace("{country}", "{country")
    message = refused("file", write(own, f"shots = 2\n{contradictions}"))
    for said in ("Did you mean first_line?", "Did you mean exact_match?", "a single brace", "shots_from"):
        assert said in message


def test_a_pattern_and_the_majority_are_keys_of_a_task(own: Path) -> None:
    text = TOML.replace('extractor = "first_line"', "extractor = 'regex:(?:City: )?(.+)'\nmajority = true")
    (task,) = tasks("file", write(own, text))
    assert (task.extractor, task.options) == ("regex:(?:City: )?(.+)", {"majority": True})
    assert "a regular expression of Python" in refused("file", write(own, text.replace("(.+)", "(.+")))


@pytest.mark.parametrize("name", ["pass_at_1", "acc"])
def test_a_score_that_reads_no_text_is_not_offered(own: Path, name: str) -> None:
    message = refused("file", write(own, TOML.replace("exact_match", name)))
    assert "rouge_l" in message
    assert f", {name}," not in message


def test_a_field_that_is_not_there_is_named(own: Path) -> None:
    assert "Did you mean country?" in refused("file", write(own, TOML.replace("{country}", "{contry}")))
    assert "capitals.jsonl, line 1" in refused("file", write(own, TOML.replace('"capital"', '"captal"')))
    assert "no such file" in refused("file", write(own, TOML.replace("data/capitals", "data/capitols")))


@pytest.mark.parametrize("name", ["country.__class__", "country[0]", "country!r", "country:>9", "0", ""])
def test_a_template_fills_in_fields_and_nothing_else(own: Path, name: str) -> None:
    assert "found" in refused("file", write(own, TOML.replace("{country}", f"{{{name}}}")))


@given(value=st.text(max_size=30))
def test_a_value_is_never_read_as_a_template(value: str) -> None:
    assert own_task.filled("{{a}} {b}.", lambda _: value) == f"{{a}} {value}."
