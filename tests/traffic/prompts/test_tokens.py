"""Are tokens counted by the model's own tokenizer and chat template, from files only, and is what is wrong with them told?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.traffic.prompts import tokens
from fireassay.traffic.prompts.tokens import ChatTemplate, ModelTokenizer, Words
from tests.traffic import made

USER = {"role": "user", "content": "the be"}


def test_without_a_tokenizer_a_word_is_a_token(tmp_path: Path) -> None:
    words = tokens.load("", tmp_path)
    assert isinstance(words, Words)
    assert (words.count(" the  be\nto "), words.counts(["a", "", "b c"])) == (3, [1, 0, 2])
    assert words.ends([" the  be"]) == [[4, 8]]
    assert words.render([USER]) is None
    assert words.describe() == {"kind": "words"}


@pytest.mark.slow
def test_a_folder_and_a_file_are_read(tmp_path: Path) -> None:
    made.folder(tmp_path / "model")
    for text in ("model", "model/tokenizer.json", str(tmp_path / "model")):
        one = tokens.load(text, tmp_path)
        assert one.count("the be") == 2
        assert one.count("the be", special=True) == 3  # with the begin mark
        assert one.render([USER]) == "<s><|user|>the be</s><|assistant|>"
        assert one.count(one.render([USER]) or "") == 6
    described = tokens.load("model", tmp_path).describe()
    assert described["kind"] == "tokenizer"
    assert len(described["sha256"]) == len(described["chat_template_sha256"]) == 64


def test_truncation_and_padding_of_the_file_are_switched_off(tmp_path: Path) -> None:
    one = made.bpe()
    copy = type(one).from_str(one.to_str())
    copy.enable_truncation(4)
    copy.enable_padding(length=50)
    copy.save(str(tmp_path / "tokenizer.json"))
    assert tokens.load("tokenizer.json", tmp_path).count("the be to of and in that") == 7


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("chat_template.jinja", None),
        ("chat_template.json", None),
        (None, [{"name": "tool_use", "template": "no"}, {"name": "default", "template": made.TEMPLATE}]),
    ],
)
def test_a_template_is_found_where_models_keep_it(tmp_path: Path, name: str | None, config: object) -> None:
    made.folder(tmp_path, config={"bos_token": "<s>", "chat_template": config})
    if name == "chat_template.jinja":
        (tmp_path / name).write_text(made.TEMPLATE)
    if name == "chat_template.json":
        (tmp_path / name).write_text(json.dumps({"chat_template": made.TEMPLATE}))
    assert tokens.load(".", tmp_path).render([USER]) == "<s><|user|>the be</s><|assistant|>"


def test_a_tokenizer_without_a_template_renders_nothing(tmp_path: Path) -> None:
    made.folder(tmp_path, config={})
    assert tokens.load(".", tmp_path).render([USER]) is None


def test_templates_may_do_what_engines_let_them_do() -> None:
    source = (
        "{%- for m in messages %}{% generation %}{{ m['content'] }}{% endgeneration %}{% break %}{% endfor %}"
        "{{ messages | tojson }}{{ strftime_now('%Y') | length }}{{ tools is none }}"
    )
    rendered = ChatTemplate(source, {}).render([{"role": "user", "content": "ü<"}])
    assert rendered == 'ü<[{"role": "user", "content": "ü<"}]4True'


@pytest.mark.parametrize(
    "source",
    [
        "{{ raise_exception('no') }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages[0]['content'] + 1 }}",
        "{% for i in range(999999999) %}{% endfor %}",
    ],
)
def test_a_template_that_fails_or_breaks_out_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="the chat template rejects these messages"):
        ChatTemplate(source, {}).render([USER])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bpe", "unigram", "wordpiece", "letters"])
def test_a_token_ends_where_its_characters_end(name: str) -> None:
    one = made.model(name)
    texts = ["the be to", "a", "", "über 你好"]
    ends = one.ends(texts)
    assert [len(found) for found in ends] == one.counts(texts)
    for text, found in zip(texts, ends, strict=True):
        assert found == sorted(found)
        assert not text or found[-1] == len(text)


def test_words_come_from_the_vocabulary_most_frequent_first() -> None:
    words = made.model().words()
    assert {"the", "be", "to"} <= set(words[:60])
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)


def test_what_is_wrong_with_a_tokenizer_is_told(tmp_path: Path) -> None:
    def fix(text: str) -> str:
        with pytest.raises(SpecError) as told:
            tokens.load(text, tmp_path)
        (problem,) = told.value.problems
        assert problem.where == "serving.tokenizer"
        return f"{problem.found}; {problem.fix}"

    assert "which does not exist; Copy tokenizer.json" in fix("nowhere")
    (tmp_path / "empty").mkdir()
    assert "a folder without tokenizer.json" in fix("empty")
    (tmp_path / "empty" / "tokenizer.model").write_bytes(b"")
    assert "save_pretrained" in fix("empty")
    (tmp_path / "broken.json").write_text("{}")
    assert "cannot be read" in fix("broken.json")
    made.folder(tmp_path / "bad", config={"chat_template": "{% for %}"})
    assert "a chat template that cannot be read" in fix("bad")
    (tmp_path / "bad" / "tokenizer_config.json").write_text("{")
    assert "tokenizer_config.json, which cannot be read" in fix("bad")


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.folder(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(EnvironmentLacks, match=r'pip install "fireassay\[serving\]"'):
        tokens.load(".", tmp_path)


def test_the_tokenizers_made_here_are_of_the_kind_that_models_have() -> None:
    assert isinstance(made.model(), ModelTokenizer)
