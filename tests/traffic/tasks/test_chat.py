"""Is a chat asked for with the prompt's messages, images and length?"""

from __future__ import annotations

from fireassay.traffic.parts import Prompt
from fireassay.traffic.prompts.conversation import Images, data_url
from fireassay.traffic.tasks.chat import TASK
from tests.traffic.tasks.asking import KEPT, PLAIN, kept


def test_a_text_is_the_message_of_a_user() -> None:
    ask = TASK.ask(Prompt(text="hello", tokens_out=9), PLAIN)
    assert ask.messages == ({"role": "user", "content": "hello"},)
    assert (ask.max_tokens, ask.ignore_eos, ask.stream, ask.prompt) == (9, True, True, "")
    assert kept(ask) == KEPT


def test_a_conversation_is_sent_as_it_is() -> None:
    messages = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"})
    assert TASK.ask(Prompt(text="c", messages=messages), PLAIN).messages == messages


def test_without_a_length_the_model_may_end_its_answer() -> None:
    ask = TASK.ask(Prompt(text="hello"), PLAIN)
    assert (ask.max_tokens, ask.ignore_eos) == (None, False)


def test_images_stand_in_the_last_message_before_the_text() -> None:
    image = Images(2, 2).png(1)
    messages = ({"role": "system", "content": "s"}, {"role": "user", "content": "what?"})
    first, last = TASK.ask(Prompt(text="what?", messages=messages, images=(image,)), PLAIN).messages
    assert first == messages[0]
    assert last == {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": data_url(image)}}, {"type": "text", "text": "what?"}],
    }


def test_answers_come_in_chunks() -> None:
    assert TASK.streams
