"""Does every kind of request hold what it needs of a prompt, and only texts stream?"""

from __future__ import annotations

from fireassay import catalog
from fireassay.traffic.parts import Ask, Prompt, Task
from fireassay.traffic.prompts.texts import Images, data_url

PLAIN = Ask(task="t", model="m", stream=True, temperature=0.5, ignore_eos=True, seed=3, logprobs=True)  # as the client hands it over


def task(name: str) -> Task:
    loaded: Task = catalog.load("traffic.tasks", name)
    return loaded


def kept(asked: Ask) -> tuple[object, ...]:
    """What a task must leave as it is."""
    return asked.task, asked.model, asked.temperature, asked.seed, asked.logprobs


KEPT = kept(PLAIN)


def test_a_text_is_the_message_of_a_user() -> None:
    ask = task("chat").ask(Prompt(text="hello", tokens_out=9), PLAIN)
    assert ask.messages == ({"role": "user", "content": "hello"},)
    assert (ask.max_tokens, ask.ignore_eos, ask.stream, ask.prompt) == (9, True, True, "")
    assert kept(ask) == KEPT


def test_a_conversation_is_sent_as_it_is() -> None:
    messages = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"})
    assert task("chat").ask(Prompt(text="c", messages=messages), PLAIN).messages == messages


def test_without_a_length_the_model_may_end_its_answer() -> None:
    ask = task("chat").ask(Prompt(text="hello"), PLAIN)
    assert (ask.max_tokens, ask.ignore_eos) == (None, False)


def test_images_stand_in_the_last_message_before_the_text() -> None:
    image = Images(2, 2).png(1)
    messages = ({"role": "system", "content": "s"}, {"role": "user", "content": "what?"})
    first, last = task("chat").ask(Prompt(text="what?", messages=messages, images=(image,)), PLAIN).messages
    assert first == messages[0]
    assert last == {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": data_url(image)}}, {"type": "text", "text": "what?"}],
    }


def test_an_image_is_embedded_without_the_text() -> None:
    image = Images(2, 2).png(1)
    ask = task("image_to_embeddings").ask(Prompt(text="Describe it", images=(image,)), PLAIN)
    assert ask.messages == ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": data_url(image)}}]},)
    assert (ask.stream, ask.max_tokens) == (False, None)


def test_an_image_is_made_in_its_size_and_speech_from_the_text() -> None:
    ask = task("text_to_image").ask(Prompt(text="a cat", size=(64, 32, 2), tokens_out=9), PLAIN)
    assert (ask.prompt, ask.size, ask.stream, ask.max_tokens) == ("a cat", (64, 32, 2), False, None)
    assert task("text_to_speech").ask(Prompt(text="Hello"), PLAIN).prompt == "Hello"


def test_answers_come_in_chunks() -> None:
    assert task("chat").streams


def test_the_text_is_sent_as_it_is() -> None:
    ask = task("completions").ask(Prompt(text=" hello ", tokens_out=9), PLAIN)
    assert (ask.prompt, ask.messages, ask.max_tokens, task("completions").streams) == (" hello ", (), 9, True)
    assert kept(ask) == KEPT


def test_a_conversation_is_one_text() -> None:
    messages = ({"role": "user", "content": "a"}, {"role": "assistant", "content": None}, {"role": "user", "content": "c"})
    assert task("completions").ask(Prompt(text="c", messages=messages), PLAIN).prompt == "a\n\n\n\nc"


def test_all_documents_are_sent_at_once() -> None:
    ask = task("embeddings").ask(Prompt(documents=("a", "b"), tokens_out=9), PLAIN)
    assert (ask.documents, ask.stream, ask.max_tokens, task("embeddings").streams) == (("a", "b"), False, None, False)
    assert kept(ask) == KEPT


def test_a_text_alone_is_a_document() -> None:
    assert task("embeddings").ask(Prompt(text="a"), PLAIN).documents == ("a",)


def test_images_and_text_are_one_message() -> None:
    images = tuple(Images(2, 2).png(number) for number in (1, 2))
    ask = task("image_chat").ask(Prompt(text="what?", images=images, tokens_out=4), PLAIN)
    (message,) = ask.messages
    assert [part["type"] for part in message["content"]] == ["image_url", "image_url", "text"]
    assert [part["image_url"]["url"] for part in message["content"][:2]] == [data_url(image) for image in images]
    assert (ask.max_tokens, task("image_chat").streams, kept(ask)) == (4, True, KEPT)


def test_context_and_continuation_are_one_prompt() -> None:
    ask = task("loglikelihood").ask(Prompt(documents=("2+2=", " 4"), tokens_out=64), PLAIN)
    assert (ask.prompt, ask.documents, ask.messages) == ("2+2= 4", ("2+2=", " 4"), ())
    assert (ask.stream, ask.temperature, ask.seed, ask.max_tokens, ask.ignore_eos, ask.logprobs) == (False, 0.0, None, None, False, True)
    assert (ask.task, ask.model, task("loglikelihood").streams) == (PLAIN.task, PLAIN.model, False)


def test_a_plain_text_has_no_context() -> None:
    assert task("loglikelihood").ask(Prompt(text="abc"), PLAIN).documents == ("", "abc")


def test_the_query_and_the_documents_are_sent() -> None:
    ask = task("rerank").ask(Prompt(query="q", documents=("a", "b")), PLAIN)
    assert (ask.query, ask.documents, ask.stream, ask.max_tokens, task("rerank").streams) == ("q", ("a", "b"), False, None, False)
    assert kept(ask) == KEPT


def test_the_messages_are_those_of_a_chat() -> None:
    ask = task("responses").ask(Prompt(text="hello", tokens_out=9), PLAIN)
    assert ask.messages == ({"role": "user", "content": "hello"},)
    assert (ask.max_tokens, task("responses").streams, kept(ask)) == (9, True, KEPT)
