"""Has every text exactly as many tokens as asked for, by the tokenizer, and does it begin as it should?"""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.traffic.prompts.texts import MASK, Frame, Texts, chat_frame, mix
from fireassay.traffic.prompts.tokens import Tokenizer, Words
from tests.tiers import examples, some
from tests.traffic import made

pytestmark = pytest.mark.slow


CORPORA = {
    "": "",
    "english": "It was the best of times, it was the worst of times; (so they say!)\n\t" * 40,
    "chinese": "这是一个没有空格的长句子用来测试分词" * 3,
}
NAMES = ("words", "bpe", "bpe plain", "unigram", "wordpiece", "letters")
FRAMES = ("chat", "special", "bare")


def tokenizer(name: str) -> Tokenizer:
    if name == "words":
        return Words()
    first, _, plain = name.partition(" ")
    return made.model(first, made.PLAIN_TEMPLATE if plain else made.TEMPLATE)


@cache
def texts(name: str, frame: str, corpus: str = "") -> Texts:
    one = tokenizer(name)
    frames = {"chat": chat_frame(one), "special": Frame(special=True), "bare": Frame()}
    return Texts(one, frames[frame], CORPORA[corpus])


@pytest.mark.parametrize("corpus", some(CORPORA))
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", NAMES)
def test_every_text_has_as_many_tokens_as_asked_for(name: str, frame: str, corpus: str) -> None:
    one = texts(name, frame, corpus)
    assert one.exact

    @examples(40)
    @given(st.integers(1, 2000), st.integers(0, MASK), st.integers(0, 300), st.integers(0, 5), st.booleans())
    def exact(n: int, number: int, shared: int, group: int, unique: bool) -> None:
        text = one.make(n, number, shared=shared, group=group, unique=unique)
        assert one.count(text) == max(n, one.overhead + 1)

    exact()


def test_texts_go_round_the_pool_when_they_are_longer() -> None:
    one = texts("bpe", "chat")
    assert one.count(one.make(70_001, 3)) == 70_001


def test_lengths_that_cannot_be_added_up_are_counted_and_mended() -> None:
    one = Texts(made.model("merging", None), Frame())
    assert not one.exact
    right = sum(one.count(one.make(n, n)) == n for n in range(20, 220, 2))
    assert right >= 98


def test_the_frame_of_a_chat_is_what_its_template_adds() -> None:
    assert texts("bpe", "chat").frame == Frame(head="<s><|user|>", tail="</s><|assistant|>")
    assert texts("bpe", "chat").overhead == 4
    assert texts("bpe", "special").overhead == 1
    assert texts("wordpiece", "special").overhead == 2
    assert texts("words", "chat").overhead == 0


def test_equal_numbers_give_equal_texts_and_others_begin_otherwise() -> None:
    one = texts("bpe", "chat")
    assert one.make(50, 7) == one.make(50, 7)
    begins = {tuple(one.make(24, number).split()[:12]) for number in range(3000)}
    assert len(begins) == 3000


def test_less_of_what_is_shared_is_the_begin_of_more() -> None:
    one = texts("bpe", "chat")
    assert one.beginning(300, 9).startswith(one.beginning(40, 9) + " ")


def test_what_is_shared_is_equal_within_a_group_and_nowhere_else() -> None:
    one = texts("bpe", "bare")
    first, second, other = (one.content(60, number, shared=40, group=group).split() for number, group in ((1, 0), (2, 0), (1, 5)))
    assert first[:40] == second[:40]
    assert first[40:49] != second[40:49]
    assert first[:9] != other[:9]
    assert " ".join(first[:40]) == one.beginning(40, 0)


def test_a_text_no_longer_than_what_is_shared_still_ends_with_its_own() -> None:
    one = texts("bpe", "bare")
    whole = one.beginning(100, 3).split()
    text = one.content(10, 1, shared=100, group=3).split()
    assert text[:9] == whole[:9]
    assert len({one.content(10, number, shared=100, group=3) for number in range(20)}) > 15


def test_a_corpus_is_where_the_words_come_from() -> None:
    text = texts("bpe", "bare", "english").content(200, 4)
    assert "it was the worst of times; (so they say!)" in text


def test_a_beginning_can_be_extended_to_a_length() -> None:
    one = texts("bpe", "chat")
    text = one.extended("Say 7f3a first. Then go on with:", 80, 5)
    assert text.startswith("Say 7f3a first. Then go on with: ")
    assert one.count(text) == 80
    assert one.extended("Say 7f3a first.", 3, 5) == "Say 7f3a first."


@pytest.mark.parametrize("n", [1, 2, 7, 100, 5000])
def test_texts_of_so_many_characters(n: int) -> None:
    text = texts("words", "bare").characters(n, 8)
    assert len(text) == len(text.strip()) == n


def test_numbers_are_scattered_as_splitmix64_does() -> None:
    # The first outputs of splitmix64 seeded with 0 (Vigna, prng.di.unimi.it/splitmix64.c).
    assert [mix(0), mix(0x9E3779B97F4A7C15)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", NAMES)
def test_texts_of_blocks_share_what_their_numbers_share(name: str, frame: str, corpus: str) -> None:
    one = texts(name, frame, corpus)
    long, short, other = one.chained(150, (1, 2, 3), 64), one.chained(128, (1, 2), 64), one.chained(150, (1, 4, 3), 64)
    assert [one.count(text) for text in (long, short, other, one.chained(400, (5, 6), 64))] == [150, 128, 150, 400]
    first = one.chained(one.overhead + 64, (1,), 64)
    begin = first[: len(first) * 3 // 4]  # the last word of a text is its own
    assert long.startswith(begin)
    assert other.startswith(begin)
    assert short[: len(short) * 3 // 4] == long[: len(short) * 3 // 4]
    assert long != other
    assert long == one.chained(150, (1, 2, 3), 64)
