"""Does every request send what its scenario, its seed and its conversation say, and nothing else?"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.traffic.arrivals.schedule import digest
from fireassay.traffic.parts import Prompt
from fireassay.traffic.prompts.make import Prompts
from tests.traffic import made
from tests.traffic.prompts.test_images import decoded

pytestmark = pytest.mark.slow


Make = Callable[..., Prompts]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    made.folder(folder / "model")
    plain = {**made.CONFIG, "chat_template": made.PLAIN_TEMPLATE}
    made.folder(folder / "plain", config=plain)
    made.folder(folder / "bert", "wordpiece", config={})
    return folder


def sent(prompts: Prompts, n: int, **given: Any) -> list[Prompt]:
    schedule = made.schedule(n, **given)
    return [prompts.prompt(schedule, i) for i in range(n)]


# ---- lengths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["chat", "completions", "responses"])
@pytest.mark.parametrize("tokenizer", ["model", "plain", ""])
def test_prompts_have_the_length_of_the_schedule_as_the_engine_counts_it(base: Path, task: str, tokenizer: str) -> None:
    prompts = made.prompts(base, task=task, tokenizer=tokenizer)
    lengths = [20, 21, 30, 57, 100, 500, 2000]
    for prompt, n in zip(sent(prompts, 7, tokens_in=lengths), lengths, strict=True):
        assert prompts.tokens(prompt) == prompt.tokens_in == n
        assert prompt.tokens_out == 7
        assert prompt.messages == ()


def test_chat_lengths_are_those_of_the_rendered_chat(base: Path) -> None:
    (prompt,) = sent(made.prompts(base, tokenizer="model"), 1, tokens_in=33)
    rendered = f"<s><|user|>{prompt.text}</s><|assistant|>"
    assert len(made.bpe().encode(rendered, add_special_tokens=False)) == 33


def test_completion_lengths_hold_the_begin_mark(base: Path) -> None:
    (prompt,) = sent(made.prompts(base, tokenizer="model", task="completions"), 1, tokens_in=33)
    assert len(made.bpe().encode(prompt.text)) == 33


def test_documents_and_queries_have_their_lengths(base: Path) -> None:
    prompts = made.prompts(base, scenario="E(24)", task="embeddings", tokenizer="bert", prompts={"documents": 3})
    one, other = sent(prompts, 2, tokens_in=72, tokens_out=-1)
    assert [len(made.wordpiece().encode(text)) for text in one.documents] == [24, 24, 24]
    assert len({*one.documents, *other.documents}) == 6
    assert (prompts.tokens(one), one.tokens_out) == (72, None)

    prompts = made.prompts(base, scenario="R(30,9)", task="rerank", tokenizer="bert", prompts={"documents": 2})
    (one,) = sent(prompts, 1, tokens_in=69, tokens_out=-1)
    count = made.wordpiece()
    assert [len(count.encode(text, add_special_tokens=False)) for text in (one.query, *one.documents)] == [9, 30, 30]
    assert prompts.tokens(one) == 69


def test_embeddings_of_a_text_scenario_are_one_document(base: Path) -> None:
    prompts = made.prompts(base, scenario="U(10,20)/(1,1)", task="embeddings", tokenizer="bert")
    (one,) = sent(prompts, 1, tokens_in=17)
    assert [len(made.wordpiece().encode(text)) for text in one.documents] == [17]


def test_speech_has_its_characters(base: Path) -> None:
    (prompt,) = sent(made.prompts(base, scenario="A(123)", tokenizer="model"), 1, tokens_in=-1, tokens_out=-1)
    assert len(prompt.text) == 123
    assert (prompt.tokens_in, prompt.tokens_out) == (None, None)


def test_images_have_their_size_and_number_and_differ(base: Path) -> None:
    prompts = made.prompts(base, scenario="I(40,30,2)", task="image_chat", tokenizer="model")
    one, other = sent(prompts, 2, tokens_in=-1, tokens_out=-1)
    assert [decoded(image)[:2] for image in one.images] == [(40, 30), (40, 30)]
    assert len({*one.images, *other.images}) == 4
    assert one.text == "Describe what you see in this image."
    assert prompts.tokens(one) is None


# ---- equal and different -----------------------------------------------------------------------------------------


def begin(prompt: Prompt, words: int = 9) -> str:
    return " ".join(prompt.text.split()[:words])


def test_the_same_launch_sends_the_same_texts_and_every_other_launch_other_ones(base: Path) -> None:
    def texts(**other: Any) -> list[str]:
        return [prompt.text for prompt in sent(made.prompts(base, tokenizer="model", **other), 20, tokens_in=40)]

    assert texts() == texts()
    all_of_them = texts() + texts(seed=6) + texts(launch=1) + texts(name="b")
    assert len({text.split()[0:9].__str__() for text in all_of_them}) == 80


def test_a_prompt_depends_on_its_seed_and_not_on_its_place(base: Path) -> None:
    prompts = made.prompts(base, tokenizer="model")
    schedule, turned = made.schedule(3, seed=[7, 8, 9]), made.schedule(3, seed=[9, 8, 7])
    assert prompts.prompt(schedule, 0) == prompts.prompt(turned, 2)


def test_shared_beginnings_are_really_equal_and_the_rest_is_unique(base: Path) -> None:
    prompts = made.prompts(base, tokenizer="model", prompts={"prefix_tokens": 30, "prefixes": 3})
    found = sent(prompts, 200, tokens_in=60)
    heads = [begin(prompt, 30) for prompt in found]
    assert len(set(heads)) == 3
    assert all(heads.count(head) > 40 for head in set(heads))  # 5 deviations of 67 are 33
    assert len({" ".join(prompt.text.split()[30:40]) for prompt in found}) == 200
    assert all(prompts.tokens(prompt) == 60 for prompt in found)
    other = sent(made.prompts(base, tokenizer="model", launch=1, prompts={"prefix_tokens": 30, "prefixes": 3}), 9)
    assert not set(heads) & {begin(prompt, 30) for prompt in other}


def test_the_prefix_scenario_shares_its_prefix(base: Path) -> None:
    found = sent(made.prompts(base, scenario="P(40,20)/5", tokenizer="model"), 5, tokens_in=60)
    assert len({begin(prompt, 40) for prompt in found}) == 1
    assert len({begin(prompt, 50) for prompt in found}) == 5


SOURCES = [
    {"prompts": {}},
    {"prompts": {"prefix_tokens": 10}},
    {"scenario": "dataset", "prompts": {"source": "d.jsonl"}},
    {"scenario": "I(16,16)", "task": "image_chat"},
    {"task": "embeddings", "scenario": "E(20)"},
]


@pytest.mark.parametrize("asked", SOURCES)
@pytest.mark.parametrize("kind", ["normal", "canary"])
def test_another_record_of_the_same_experiment_sends_other_prompts(base: Path, asked: dict[str, Any], kind: str) -> None:
    write(base, "d.jsonl", [{"prompt": f"question {k}"} for k in range(4)])
    one, again, other = (made.prompts(base, **({"tokenizer": "model"} | asked), record=record) for record in ("r-1", "r-1", "r-2"))
    first, same, last = (sent(prompts, 4, kind=kind) for prompts in (one, again, other))
    assert first == same
    assert all(prompt not in last for prompt in first)
    schedule = made.schedule(4, kind=kind)
    assert digest(one.assign(schedule, planned=True)) == digest(other.assign(schedule, planned=True))  # the experiment is the same


def test_texts_sent_as_they_are_do_not_depend_on_the_launch(base: Path) -> None:
    as_it_is = {"cache": "as_is", "prefix_tokens": 10}
    one, other = (
        sent(made.prompts(base, tokenizer="model", launch=launch, name=name, prompts=as_it_is), 4) for launch, name in ((0, "a"), (1, "b"))
    )
    assert one == other


def test_identity_prompts_are_the_same_in_every_launch(base: Path) -> None:
    kinds = ["identity", "rerun", "needle", "normal"]
    given = {"kind": kinds, "seed": [3, 3, 3, 3], "example": [5, 5, 5, -1], "tokens_in": 40}
    one = sent(made.prompts(base, tokenizer="model", prompts={"prefix_tokens": 10}), 4, **given)
    other = sent(made.prompts(base, tokenizer="model", launch=9, seed=1, name="b"), 4, **given)
    assert [prompt.text for prompt in one[:3]] == [other[0].text] * 3
    assert one[0].text != one[3].text != other[3].text
    assert [prompt.example for prompt in one] == ["5", "5", "5", None]


def test_a_canary_carries_its_nonce_and_has_its_length(base: Path) -> None:
    prompts = made.prompts(base, tokenizer="model")
    schedule = made.schedule(3, kind="canary", tokens_in=[90, 2, -1], expected={0: "7f3a9c"})
    told, short, free = (prompts.prompt(schedule, i) for i in range(3))
    assert told.expected == "7f3a9c"
    assert told.text.startswith("7f3a9c is a code. Begin your answer with it: 7f3a9c. Then go on with: ")
    assert prompts.tokens(told) == 90
    assert short.expected is not None
    assert short.expected in short.text
    assert free.expected not in (None, short.expected)
    assert prompts.assign(schedule).expected == {0: "7f3a9c", 1: short.expected, 2: free.expected}


# ---- conversations -----------------------------------------------------------------------------------------------


def test_a_later_turn_holds_what_was_said_with_the_real_answers(base: Path) -> None:
    prompts = made.prompts(base, tokenizer="model", prompts={"turns": 3, "prefix_tokens": 5})
    schedule = made.schedule(3, session=4, turn=[0, 1, 2], tokens_in=[30, 25, 25])
    first = prompts.prompt(schedule, 0)
    history = prompts.after(first, "blue")
    second = prompts.prompt(schedule, 1, history)
    assert second.messages == (
        {"role": "user", "content": first.text},
        {"role": "assistant", "content": "blue"},
        {"role": "user", "content": second.text},
    )
    third = prompts.prompt(schedule, 2, prompts.after(second, None))
    assert [one["content"] for one in third.messages[:4]] == [first.text, "blue", second.text, "(no answer)"]
    # Each message as long as in a prompt of 25 tokens, of which the template's frame has 4; a mark more per message.
    assert len(made.bpe().encode(second.text, add_special_tokens=False)) == 25 - 4
    assert prompts.tokens(second) == 30 + len(made.bpe().encode("blue", add_special_tokens=False)) + 1 + (1 + 21 + 1) + 1
    assert second.text.split()[:5] != third.text.split()[:5]


def test_a_tool_step_adds_the_result_of_a_call(base: Path) -> None:
    prompts = made.prompts(base, tokenizer="model", prompts={"tool_steps": 1, "tool_tokens": 50})
    schedule = made.schedule(2, session=4, turn=[0, 1], pause_kind=["none", "tool"])
    first = prompts.prompt(schedule, 0)
    step = prompts.prompt(schedule, 1, prompts.after(first, "let me look"))
    user, called, result = step.messages
    assert user == {"role": "user", "content": first.text}
    (call,) = called["tool_calls"]
    assert called["content"] == "let me look"
    assert result == {"role": "tool", "tool_call_id": call["id"], "name": "lookup", "content": step.text}
    assert len(call["id"]) == 9
    assert len(made.bpe().encode(step.text, add_special_tokens=False)) == 50
    assert prompts.describe()["tool_role"] == "tool"


def test_a_template_without_tools_gets_the_result_from_the_user(base: Path) -> None:
    prompts = made.prompts(base, tokenizer="plain", prompts={"tool_steps": 1, "tool_tokens": 50})
    schedule = made.schedule(2, session=4, turn=[0, 1], pause_kind=["none", "retrieval"])
    step = prompts.prompt(schedule, 1, prompts.after(prompts.prompt(schedule, 0), "let me look"))
    assert step.messages[-1] == {"role": "user", "content": step.text}
    assert prompts.describe()["tool_role"] == "user"
    assert made.prompts(base, prompts={"tool_steps": 1}).tool_role == "user"


# ---- files -------------------------------------------------------------------------------------------------------


def write(base: Path, name: str, rows: list[dict[str, Any]]) -> str:
    (base / name).write_text("\n".join(json.dumps(row) for row in rows))
    return name


def test_the_rows_of_a_file_are_each_sent_once_before_any_twice(base: Path) -> None:
    rows = [{"id": f"q{k}", "prompt": f"question {k}", "gold": f"answer {k}"} for k in range(20)]
    asked = {"source": write(base, "q.jsonl", rows), "answer_field": "gold", "cache": "as_is"}
    prompts = made.prompts(base, scenario="dataset", prompts=asked)
    schedule = made.schedule(45, tokens_in=-1, tokens_out=-1)
    found = [prompts.prompt(schedule, i) for i in range(45)]
    assert {prompt.text for prompt in found[:20]} == {f"question {k}" for k in range(20)}
    assert [prompt.text for prompt in found[20:40]] == [prompt.text for prompt in found[:20]]
    assert [prompt.text for prompt in found[:20]] != [f"question {k}" for k in range(20)]  # in the launch's own order
    for prompt in found:
        number = prompt.text.removeprefix("question ")
        assert (prompt.example, prompt.expected) == (f"q{number}", f"answer {number}")


def test_rows_can_be_written_down_beforehand(base: Path) -> None:
    rows = [{"id": f"q{k}", "prompt": f"question {k}", **({"gold": "yes"} if k else {"gold": ""})} for k in range(5)]
    asked = {"source": write(base, "r.jsonl", rows), "answer_field": "gold"}
    prompts = made.prompts(base, scenario="dataset", prompts=asked)
    schedule = made.schedule(8, example=[-1, -1, -1, -1, -1, -1, 3, 13], session=[-1, -1, -1, 9, 9, -1, -1, -1])
    known = prompts.assign(schedule)
    assert known.example[3] == known.example[4]
    assert known.example[6:].tolist() == [3, 3]
    for i in range(8):
        assert prompts.prompt(known, i) == prompts.prompt(schedule, i)
        assert prompts._example(int(known.example[i])) == prompts.prompt(schedule, i).example
        assert known.expected.get(i) == prompts.prompt(schedule, i).expected


def test_rows_are_busted_unless_they_are_asked_for_as_they_are(base: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    source = write(base, "m.jsonl", [{"prompt": messages}])
    schedule = made.schedule(3, kind=["normal", "normal", "identity"], example=0)
    prompts = made.prompts(base, scenario="dataset", tokenizer="model", prompts={"source": source, "prefix_tokens": 12})
    one, other, same = (prompts.prompt(schedule, i) for i in range(3))
    shared, _, rest = one.messages[0]["content"].partition("\n\n")
    assert len(shared.split()) == 12
    assert rest.endswith("] Be brief.")
    assert one.messages[1] == {"role": "user", "content": "hello"}
    assert other.messages[0]["content"].partition("\n\n")[0] == shared
    assert other.messages[0]["content"] != one.messages[0]["content"]
    assert same.messages[0]["content"] == f"{shared}\n\nBe brief."


def test_turns_of_a_conversation_follow_the_file(base: Path) -> None:
    talk = [{"from": "human", "value": "one"}, {"from": "gpt", "value": "x"}, {"from": "human", "value": "two"}]
    (base / "s.json").write_text(json.dumps([{"id": "c", "conversations": talk}]))
    prompts = made.prompts(base, scenario="dataset", prompts={"source": "s.json", "cache": "as_is", "turns": 3})
    schedule = made.schedule(3, session=0, turn=[0, 1, 2])
    first = prompts.prompt(schedule, 0)
    second = prompts.prompt(schedule, 1, prompts.after(first, "the answer"))
    third = prompts.prompt(schedule, 2, prompts.after(second, "and more"))
    assert [one["content"] for one in third.messages] == ["one", "the answer", "two", "and more", "one"]
    assert {first.example, second.example, third.example} == {"c"}


def test_every_later_turn_may_ask_the_same(base: Path) -> None:
    """The item is the first message; few-shot messages before it stay where they are."""
    messages = [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}, {"role": "user", "content": "2+2"}]
    source = write(base, "m.jsonl", [{"prompt": messages}])
    asked = {"source": source, "cache": "as_is", "turns": 3, "again": "Sure?"}
    prompts = made.prompts(base, scenario="dataset", prompts=asked)
    schedule = made.schedule(3, session=0, turn=[0, 1, 2])
    first = prompts.prompt(schedule, 0)
    second = prompts.prompt(schedule, 1, prompts.after(first, "5"))
    third = prompts.prompt(schedule, 2, prompts.after(second, None))
    assert [one["content"] for one in first.messages] == ["1+1", "2", "2+2"]
    assert [one["content"] for one in third.messages] == ["1+1", "2", "2+2", "5", "Sure?", "(no answer)", "Sure?"]


def test_a_file_with_lengths_is_where_the_words_come_from(base: Path) -> None:
    (base / "sonnet.txt").write_text("From fairest creatures we desire increase,\nThat thereby beauty's rose\n" * 30)
    prompts = made.prompts(base, tokenizer="model", prompts={"source": "sonnet.txt"})
    found = sent(prompts, 30, tokens_in=120)
    assert all(prompts.tokens(prompt) == 120 for prompt in found)
    assert all("creatures we desire" in prompt.text for prompt in found)
    assert prompts.describe()["lengths"] == "exact"
    assert prompts.describe()["source"]["rows"] == 60


def test_images_and_documents_of_a_file(base: Path) -> None:
    png = sent(made.prompts(base, scenario="I(4,4)", task="image_chat"), 1)[0].images[0]
    (base / "p.png").write_bytes(png)
    source = write(base, "i.jsonl", [{"prompt": "what?", "image": "p.png", "documents": ["a", "b"]}])
    asked = {"source": source, "image_field": "image"}
    (prompt,) = sent(made.prompts(base, scenario="dataset", task="image_chat", prompts=asked), 1)
    assert prompt.images == (png,)
    assert prompt.text.endswith("] what?")
    (ranked,) = sent(made.prompts(base, scenario="dataset", task="rerank", prompts={"source": source}), 1)
    assert (ranked.query, ranked.documents) == ("what?", ("a", "b"))
    (embedded,) = sent(made.prompts(base, scenario="dataset", task="embeddings", prompts={"source": source}), 1)
    assert (embedded.query, embedded.documents) == ("", ("a", "b"))


# ---- what does not fit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "task", "where", "fix"),
    [
        ("dataset", "chat", "serving.prompts.source", "D(100,100)"),
        ("E(10)", "chat", "serving.task", 'Write task = "embeddings".'),
        ("R(10,5)", "chat", "serving.task", 'Write task = "rerank".'),
        ("D(10,5)", "rerank", "serving.task", "R(1024,100)"),
        ("I(8,8)", "completions", "serving.task", 'Write task = "image_chat".'),
        ("D(8,8)", "image_chat", "serving.task", "I(512,512)"),
        ("Q(8,8)", "chat", "serving.scenarios", ""),
    ],
)
def test_a_scenario_that_does_not_fit_is_told(base: Path, scenario: str, task: str, where: str, fix: str) -> None:
    with pytest.raises(SpecError) as told:
        made.prompts(base, scenario=scenario, task=task)
    (problem,) = told.value.problems
    assert problem.where == where
    assert fix in problem.fix


def test_a_task_of_others_may_take_any_scenario(base: Path) -> None:
    assert made.prompts(base, scenario="A(10)", task="speech").describe()["lengths"] == "exact"


def test_the_record_says_by_what_texts_were_made(base: Path) -> None:
    described = made.prompts(base, tokenizer="model").describe()
    assert described["tokenizer"]["kind"] == "tokenizer"
    assert (described["lengths"], described["frame_tokens"], described["source"]) == ("exact", 4, None)
    assert json.loads(json.dumps(described)) == described


def test_replayed_prompts_share_the_blocks_that_the_recorded_ones_shared(base: Path) -> None:
    """Blocks of 512 tokens: the first two of three requests are the same text for 1024 tokens."""
    prompts = made.prompts(base, tokenizer="model")
    schedule = replace(made.schedule(3, tokens_in=[1100, 1500, 1100]), blocks={0: (0, 1, 2), 1: (0, 1, 3), 2: (4, 5, 6)})
    one, other, alone = (prompts.prompt(schedule, i) for i in range(3))
    assert [prompts.tokens(prompt) for prompt in (one, other, alone)] == [1100, 1500, 1100]
    tokens = len(made.bpe().encode(common(one.text, other.text), add_special_tokens=False))
    assert 1024 <= tokens <= 1026
    assert " " not in common(one.text, alone.text)


def common(one: str, other: str) -> str:
    """What both begin with."""
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
