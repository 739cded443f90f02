"""Are prompts and answers counted as the engine sees them, chunk by chunk, and do the chunks add up?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.traffic.parts import Kind
from fireassay.traffic.prompts.make import Prompts
from fireassay.traffic.prompts.token_counts import chunk_tokens, count
from tests.traffic import made

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.folder(tmp_path_factory.mktemp("model"))


def request(number: int, **given: Any) -> dict[str, Any]:
    """A row of the table `requests`, streamed in one chunk unless told otherwise."""
    row = {
        "launch": 3,
        "request": number,
        "client": 0,
        "phase": "main",
        "kind": "normal",
        "transport": "lean",
        "scheduled_ns": 0,
        "status": "ok",
        "bytes_out": 1,
        "bytes_in": 1,
        "logprobs": [],
        "chunk_uncertainty_ns": [],
        "chunk_kind": [],
        "chunk_chars": [],
        "text": "the be",
        "tokens_out": 2,
        **given,
    }
    row["chunk_ns"] = [0] * len(row["chunk_kind"])
    return row


def batches(rows: Iterable[dict[str, Any]], size: int = 7) -> Callable[[], list[pa.RecordBatch]]:
    told = list(rows)
    schema = arrow_schema("requests")

    def read() -> list[pa.RecordBatch]:
        parts = [told[begin : begin + size] for begin in range(0, len(told), size)]
        return [pa.RecordBatch.from_pylist(part, schema=schema) for part in parts]

    return read


def counted(prompts: Prompts, rows: list[dict[str, Any]], schedule: Any, **given: int) -> dict[int, tuple[Any, ...]]:
    return {row[1]: row[2:] for row in count(batches(rows), 3, schedule, prompts, **given)}


def test_a_prompt_is_counted_with_its_chat_template_and_an_answer_by_its_text(base: Path) -> None:
    prompts = made.prompts(base, tokenizer=".")
    schedule = made.schedule(2, tokens_in=[31, 57])
    rows = [request(0, text="the be to", chunk_kind=[0, 1, 1, 4], chunk_chars=[0, 4, 5, 0]), request(1, text="be and")]
    found = list(count(batches(rows), 3, schedule, prompts))
    assert found == [(3, 0, 31, 3, [1, 2]), (3, 1, 57, 2, [])]
    assert (
        pa.RecordBatch.from_pylist(
            [dict(zip(arrow_schema("token_counts").names, row, strict=True)) for row in found], schema=arrow_schema("token_counts")
        ).num_rows
        == 2
    )


def test_a_token_belongs_to_the_chunk_that_completes_it(base: Path) -> None:
    prompts = made.prompts(base, tokenizer=".")
    # " the" and " people" are one token each; the second is cut in two, so the chunk with its first half completes none.
    row = request(0, text="be the people", chunk_kind=[1, 1, 1], chunk_chars=[6, 4, 3])
    assert counted(prompts, [row], made.schedule(1))[0][1:] == (3, [2, 0, 1])


def test_reasoning_and_text_are_counted_apart(base: Path) -> None:
    prompts = made.prompts(base, tokenizer=".")
    row = request(0, reasoning="the be", text="be of and", chunk_kind=[0, 2, 2, 1, 1, 4, 6], chunk_chars=[0, 3, 3, 2, 7, 0, 0])
    assert counted(prompts, [row], made.schedule(1))[0][1:] == (5, [1, 1, 1, 2])


def test_what_cannot_be_told_apart_is_not_counted_per_chunk(base: Path) -> None:
    prompts = made.prompts(base, tokenizer=".")
    rows = [
        request(0, text="the be", chunk_kind=[1, 1], chunk_chars=[3, 2]),  # the chunks have not all of the text
        request(1, text="the be", chunk_kind=[1, 3], chunk_chars=[6, 9]),  # the text of tool calls is not kept
        request(2, text=None, chunk_kind=[1], chunk_chars=[6]),
        request(3, text=None, status="5xx", tokens_out=None),
        request(4, text="", tokens_out=0),
    ]
    found = counted(prompts, rows, made.schedule(5, tokens_in=20))
    assert found == {0: (20, 2, []), 1: (20, None, []), 2: (20, None, []), 3: (20, None, []), 4: (20, 0, [])}


def test_conversations_are_counted_with_the_answers_that_they_held(base: Path) -> None:
    prompts = made.prompts(base, tokenizer=".", prompts={"turns": 3})
    schedule = made.schedule(4, session=[7, 7, 7, 8], turn=[0, 1, 2, 1], tokens_in=20)
    said = {"session": 7, "text": "be to of"}
    rows = [request(2, turn=2, **said), request(0, turn=0, **said), request(1, turn=1, **{**said, "status": "5xx", "text": None})]
    found = counted(prompts, [*rows, request(3, session=8, turn=1)], schedule)
    messages = prompts.after(prompts.prompt(schedule, 0), "be to of")
    second = prompts.prompt(schedule, 1, messages)
    third = prompts.prompt(schedule, 2, prompts.after(second, None))
    assert [found[i][0] for i in range(4)] == [20, prompts.tokens(second), prompts.tokens(third), None]
    # A mark at the begin, the role's mark and an end mark round each message, and the mark for the answer.
    nothing = len(made.bpe().encode("(no answer)", add_special_tokens=False))
    assert found[2][0] == 1 + (1 + 16 + 1) + (1 + 3 + 1) + (1 + 16 + 1) + (1 + nothing + 1) + (1 + 16 + 1) + 1


def test_a_turn_whose_answer_was_not_kept_leaves_the_next_one_uncounted(base: Path) -> None:
    prompts = made.prompts(base, tokenizer=".")
    schedule = made.schedule(2, session=7, turn=[0, 1], tokens_in=20)
    rows = [request(0, session=7, turn=0, text=None), request(1, session=7, turn=1, text="be")]
    assert counted(prompts, rows, schedule) == {0: (20, None, []), 1: (None, 1, [])}


def test_of_many_requests_a_sample_is_counted_and_every_answer_of_unknown_length(base: Path) -> None:
    prompts = made.prompts(base, tokenizer=".")
    rows = [request(i, tokens_out=None if i % 10 == 0 else 2) for i in range(300)]
    found = counted(prompts, rows, made.schedule(300, tokens_in=20), most=60)
    assert {number for number, (tokens_in, *_) in found.items() if tokens_in == 20} == _scattered(300, 60)
    assert set(range(0, 300, 10)) <= set(found)
    assert len(found) == len(_scattered(300, 60) | set(range(0, 300, 10)))
    assert all(tokens_out == 2 for _, tokens_out, _ in found.values())


def _scattered(n: int, most: int) -> set[int]:
    from fireassay.traffic.prompts.texts import mix

    return set(sorted(range(n), key=lambda number: mix(number + 2**62))[:most])


def test_a_sample_takes_conversations_whole(base: Path) -> None:
    prompts = made.prompts(base, tokenizer=".")
    schedule = made.schedule(90, session=[i // 3 for i in range(90)], turn=[i % 3 for i in range(90)])
    rows = [request(i, session=i // 3, turn=i % 3) for i in range(90)]
    found = counted(prompts, rows, schedule, most=30)
    assert len(found) == 30
    assert all({number // 3 * 3 + turn for turn in range(3)} <= set(found) for number in found)
    assert all(tokens_in is not None for tokens_in, *_ in found.values())


def test_words_are_not_counted_as_tokens(base: Path) -> None:
    assert counted(made.prompts(base), [request(0)], made.schedule(1)) == {}


def test_images_and_refused_chats_have_no_count(base: Path) -> None:
    pictures = made.prompts(base, tokenizer=".", scenario="I(4,4)", task="image_chat")
    assert counted(pictures, [request(0)], made.schedule(1, tokens_in=-1))[0] == (None, 2, [])
    refusing = made.prompts(base, tokenizer=".")
    refusing.tokenizer = made.model("bpe", "{{ raise_exception('no') }}")
    assert counted(refusing, [request(0)], made.schedule(1))[0] == (None, 2, [])


def test_completions_and_documents_are_counted_with_the_marks_that_engines_add(base: Path) -> None:
    completions = made.prompts(base, tokenizer=".", task="completions")
    assert counted(completions, [request(0)], made.schedule(1, tokens_in=20))[0][0] == 20
    embeddings = made.prompts(base, tokenizer=".", task="embeddings", scenario="E(12)", prompts={"documents": 2})
    assert counted(embeddings, [request(0, text=None)], made.schedule(1, tokens_in=24))[0] == (24, None, [])


@given(st.text(alphabet="the be über 你好 \n😀", max_size=60), st.data())
def test_chunks_always_add_up_to_the_whole(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    bounds = [0, *cuts, len(text)]
    chars = [end - begin for begin, end in pairwise(bounds)]
    for name in ("bpe", "unigram", "wordpiece", "letters"):
        (ends,) = made.model(name).ends([text])
        found = chunk_tokens(text, ends, chars)
        assert found is not None
        assert sum(found) == len(ends)
        assert all(n >= 0 for n in found)


def test_kinds_of_chunks_are_those_of_the_table() -> None:
    assert (Kind.CONTENT, Kind.REASONING, Kind.TOOL) == (1, 2, 3)
