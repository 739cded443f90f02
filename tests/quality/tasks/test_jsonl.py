"""Are own prompts put as they are?"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.quality.tasks.made import lines, refused, tasks, write


def test_a_prompt_and_its_references_are_kept(tmp_path: Path) -> None:
    rows = [{"prompt": "Say \u2028 {x}", "reference": 4}, {"prompt": "b", "references": ["x", "y"], "cluster": "c", "weight": 3}]
    (task,) = tasks("jsonl", lines(tmp_path / "own.jsonl", rows), metrics="bleu, exact_match", max_tokens=9, stop="\n")
    assert [item.prompt for item in task.items] == ["Say \u2028 {x}", "b"]
    assert [item.references for item in task.items] == [("4",), ("x", "y")]
    assert (task.metrics, task.max_tokens, task.stop, task.cluster) == (("bleu", "exact_match"), 9, ("\n",), "cluster")


def test_a_conversation_is_kept(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    (task,) = tasks("jsonl", lines(tmp_path / "own.jsonl", [{"messages": messages, "reference": "Hello"}]))
    assert task.items[0].messages == tuple(messages)
    assert task.items[0].prompt == ""


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"reference": "x"}, "neither prompt nor messages"),
        ({"prompt": "x"}, "neither reference nor references"),
        ({"prompt": "x", "reference": "x", "references": ["y"]}, "both reference and references"),
        ({"prompt": "x", "references": []}, "a list of at least one text"),
        ({"prompt": " ", "reference": "x"}, "found \" \" in 'prompt'"),
        ({"promt": "x", "reference": "x"}, "Did you mean prompt?"),
        ({"messages": [{"role": "robot", "content": "x"}], "reference": "x"}, "roles: system, user, assistant"),
    ],
)
def test_what_is_wrong_names_the_line(tmp_path: Path, row: dict[str, object], said: str) -> None:
    message = refused("jsonl", lines(tmp_path / "own.jsonl", [{"prompt": "a", "reference": "b"}, row]))
    assert said in message
    assert "own.jsonl, line 2" in message


def test_what_is_no_utf8_no_json_or_no_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(b'{"prompt": "a", "reference": "b"}\n{"prompt": "\xff"}\n')
    assert "own.jsonl, line 2: found the byte 0xff, which is not UTF-8" in refused("jsonl", path)
    assert "found 5; allowed: one JSON object per line" in refused("jsonl", write(path, "5\n"))
    assert "nested too deep" in refused("jsonl", write(path, "[" * 100_000))
    assert "Did you mean" in refused("jsonl", tmp_path / "ow.jsonl")
    assert "a folder" in refused("jsonl", tmp_path)
    assert "neither a file nor a folder" in refused("jsonl", Path("/dev/null"))


def test_the_time_grows_with_the_file_and_not_with_its_square(tmp_path: Path) -> None:
    def seconds(rows: int) -> float:
        path = lines(tmp_path / "own.jsonl", [{"prompt": f"p{n}", "reference": "r", "id": n} for n in range(rows)])
        begin = time.process_time()
        tasks("jsonl", path)
        return time.process_time() - begin

    assert seconds(2000) < 24 * max(seconds(250), 2e-3)
