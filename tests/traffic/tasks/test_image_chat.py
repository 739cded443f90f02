"""Is text about images asked for with the images as data URLs?"""

from __future__ import annotations

from fireassay.traffic.parts import Prompt
from fireassay.traffic.prompts.conversation import Images, data_url
from fireassay.traffic.tasks.image_chat import TASK
from tests.traffic.tasks.asking import KEPT, PLAIN, kept


def test_images_and_text_are_one_message() -> None:
    images = tuple(Images(2, 2).png(number) for number in (1, 2))
    ask = TASK.ask(Prompt(text="what?", images=images, tokens_out=4), PLAIN)
    (message,) = ask.messages
    assert [part["type"] for part in message["content"]] == ["image_url", "image_url", "text"]
    assert [part["image_url"]["url"] for part in message["content"][:2]] == [data_url(image) for image in images]
    assert (ask.max_tokens, TASK.streams, kept(ask)) == (4, True, KEPT)
