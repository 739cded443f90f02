"""Are prompts read from every kind of file, and is a broken line named?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import Problem, SpecError
from fireassay.spec.sections.serving import Prompts
from fireassay.traffic.prompts.datasets import Dataset, DatasetRow, load


def read(folder: Path, name: str, content: str | bytes, **asked: Any) -> Dataset:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(Prompts(source=name, **asked), folder)


def wrong(folder: Path, name: str, content: str | bytes, **asked: Any) -> Problem:
    with pytest.raises(SpecError) as told:
        read(folder, name, content, **asked)
    (problem,) = told.value.problems
    assert problem.where == "serving.prompts.source"
    return problem


def test_every_line_of_a_text_that_is_not_empty_is_a_prompt(tmp_path: Path) -> None:
    found = read(tmp_path, "sonnet.txt", "\ufeffFrom fairest creatures\r\n\n  we desire increase \n")
    assert found.rows == (DatasetRow(id="1", turns=("From fairest creatures",)), DatasetRow(id="3", turns=("  we desire increase ",)))
    assert (found.format, len(found.sha256), found.folder) == ("text", 64, tmp_path)
    assert found.corpus() == "From fairest creatures\n  we desire increase "


def test_jsonl_with_answers_images_and_ids(tmp_path: Path) -> None:
    lines = [
        {"id": 7, "question": "2+2?", "gold": 4, "picture": "a.png"},
        {"task_id": "t/8", "question": "ü \u2028 still one line", "gold": "x", "picture": ["b.png", "data:image/png;base64,AA=="]},
    ]
    content = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n\n"
    found = read(tmp_path, "q.jsonl", content, field="question", answer_field="gold", image_field="picture")
    assert found.rows == (
        DatasetRow(id="7", turns=("2+2?",), answer="4", images=("a.png",)),
        DatasetRow(id="t/8", turns=("ü \u2028 still one line",), answer="x", images=("b.png", "data:image/png;base64,AA==")),
    )


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv"])
def test_rows_share_what_the_cluster_field_says(tmp_path: Path, name: str) -> None:
    rows = [("1+1?", "a"), ("2+2?", "a"), ("3+3?", "")]
    content = (
        "prompt,passage\n" + "\n".join(",".join(row) for row in rows)
        if name.endswith("csv")
        else "\n".join(json.dumps({"prompt": p, "passage": c or None}) for p, c in rows)
    )
    (tmp_path / name).write_text(content)
    found = load(Prompts(source=name), tmp_path, "passage")
    assert [row.cluster for row in found.rows] == ["a", "a", None]
    with pytest.raises(SpecError, match="no 'page' among the"):
        load(Prompts(source=name), tmp_path, "page")


def test_an_answer_of_white_space_is_none_and_a_file_without_any_is_refused(tmp_path: Path) -> None:
    lines = [{"prompt": "a", "gold": " "}, {"prompt": "b", "gold": "x"}]
    found = read(tmp_path, "q.jsonl", "\n".join(map(json.dumps, lines)), answer_field="gold")
    assert [row.answer for row in found.rows] == [None, "x"]
    problem = wrong(tmp_path, "q.jsonl", json.dumps(lines[0]), answer_field="gold")
    assert problem.found == "q.jsonl, without a reference answer in any row"


def test_a_field_may_hold_a_list_of_messages(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "1+1?"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "2+2?"},
    ]
    (row,) = read(tmp_path, "m.jsonl", json.dumps({"messages": messages}), field="messages").rows
    assert row == DatasetRow(id="1", turns=("2+2?",), before=tuple(messages[:3]))


def test_documents_of_a_ranking_are_read(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "r.jsonl", '{"prompt": "q", "documents": ["a", "b"]}').rows
    assert (row.turns, row.documents) == (("q",), ("a", "b"))


def test_csv_with_quotes_commas_and_line_breaks(tmp_path: Path) -> None:
    content = 'id,prompt,answer\r\na,"He said ""yes, no"" and\nleft",1\r\nb,plain,"2, or 3"\r\n'
    found = read(tmp_path, "q.csv", content, answer_field="answer")
    assert found.rows == (
        DatasetRow(id="a", turns=('He said "yes, no" and\nleft',), answer="1"),
        DatasetRow(id="b", turns=("plain",), answer="2, or 3"),
    )


SHARED = [
    {"from": "system", "value": "You help."},
    {"from": "human", "value": "hello"},
    {"from": "gpt", "value": "hi"},
    {"from": "human", "value": "more"},
    {"from": "gpt", "value": "less"},
]
WANTED = DatasetRow(id="c1", turns=("hello", "more"), before=({"role": "system", "content": "You help."},))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps([{"id": "c1", "conversations": SHARED}])),
        ("a.json", json.dumps([{"id": "c1", "conversation": SHARED}], indent=2)),
        ("a.json", json.dumps([{"id": "c1", "items": SHARED}])),
        (
            "a.json",
            json.dumps(
                [
                    {
                        "id": "c1",
                        "messages": [
                            {"role": "system", "content": "You help."},
                            {"role": "user", "content": "hello"},
                            {"role": "assistant", "content": "hi"},
                            {"role": "user", "content": "more"},
                        ],
                    }
                ]
            ),
        ),
        ("a.jsonl", json.dumps({"id": "c1", "conversations": SHARED}) + "\n"),
    ],
)
def test_every_variant_of_sharegpt(tmp_path: Path, name: str, content: str) -> None:
    found = read(tmp_path, name, content)
    assert (found.format, found.rows) == ("sharegpt", (WANTED,))


def test_conversations_without_anything_that_a_user_says_are_left_out(tmp_path: Path) -> None:
    talks = [{"conversations": []}, {"conversations": SHARED[2:3]}, {"id": "c1", "conversations": SHARED}]
    assert read(tmp_path, "a.json", json.dumps(talks)).rows == (WANTED,)


@pytest.mark.parametrize(
    ("name", "content", "asked", "found"),
    [
        ("a.jsonl", '{"prompt": "a"}\n{"prompt": \n', {}, "a.jsonl, line 2: not JSON"),
        ("a.jsonl", '\n\n["a"]', {}, "a.jsonl, line 3: JSON that is a list"),
        ("a.jsonl", '{"promt": "a"}', {}, "a.jsonl, line 1: no 'prompt' among the keys promt"),
        ("a.jsonl", '{"prompt": {"a": 1}}', {}, "a.jsonl, line 1: prompt that is an object"),
        ("a.jsonl", '{"prompt": null}', {}, "a.jsonl, line 1: prompt that is nothing"),
        ("a.jsonl", '{"prompt": "a"}', {"answer_field": "gold"}, "a.jsonl, line 1: no 'gold' among the keys prompt"),
        ("a.jsonl", '{"prompt": "a", "i": 3}', {"image_field": "i"}, "a.jsonl, line 1: i that is a number"),
        ("a.jsonl", '{"prompt": "a", "i": "https://x/y.png"}', {"image_field": "i"}, "a.jsonl, line 1: i that is an address"),
        ("a.jsonl", '{"prompt": [{"role": "assistant", "content": "a"}]}', {}, "a.jsonl, line 1: prompt without a user message"),
        ("a.csv", "text\nx\n", {}, "a.csv, line 1: no 'prompt' among the columns text"),
        ("a.csv", 'prompt,b\nx,1\n"y\n', {}, "a.csv, line 3: not CSV"),
        ("a.csv", "prompt,b\nx,1\ny\n", {}, "a.csv, line 3: a row with more or fewer values"),
        ("a.csv", "prompt,b\nx,1,2\n", {}, "a.csv, line 2: a row with more or fewer values"),
        ("a.json", '[{"conversations": [}]', {}, "a.json, line 1: not JSON"),
        ("a.json", '[{"text": "a"}]', {}, "a.json, line 1: an object with the keys text"),
        ("a.json", "[3]", {}, "a.json: item 1 is a number"),
        ("a.json", '[{"conversations": [{"from": "who", "value": "a"}]}]', {}, "a.json, line 1: a message from 'who'"),
        ("a.json", '[{"conversations": [{"from": "human"}]}]', {}, "a.json, line 1: a message from 'human' with nothing"),
        ("a.txt", "\n \n", {}, "a.txt, without a prompt"),
        ("a.txt", b"good\n\xff\n", {}, "a.txt, line 2: bytes that are not UTF-8"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, name: str, content: str | bytes, asked: dict[str, str], found: str) -> None:
    assert wrong(tmp_path, name, content, **asked).found.startswith(found)


def test_the_closest_key_is_named(tmp_path: Path) -> None:
    assert "promt" in wrong(tmp_path, "a.jsonl", '{"promt": "a"}').fix


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="nowhere.txt"):
        load(Prompts(source="nowhere.txt"), tmp_path)


@pytest.mark.slow
@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_any_text_survives_jsonl_and_csv(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    import csv
    import io

    folder = tmp_path_factory.mktemp("any")
    texts = [text.replace("\0", "").encode("utf-8", "ignore").decode() for text in texts]
    lines = "\n".join(json.dumps({"prompt": text}) for text in texts)
    assert [row.turns[0] for row in read(folder, "a.jsonl", lines).rows] == texts
    written = io.StringIO(newline="")
    rows = csv.writer(written, quoting=csv.QUOTE_ALL)
    rows.writerows([["prompt"], *([text] for text in texts)])
    assert [row.turns[0] for row in read(folder, "a.csv", written.getvalue()).rows] == texts
