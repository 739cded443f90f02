"""Which model does an answer name?  And does the record keep it?"""

from __future__ import annotations

import pytest

from fireassay.traffic.client.accounting import MAX_MODELS, MORE_MODELS, Window
from fireassay.traffic.replies.openai_json import model_named


@pytest.mark.parametrize(
    ("begin", "model"),
    [
        (b'data: {"id":"1","model":"a/b","choices":[]}\n\n', "a/b"),
        (b'7b\r\ndata: {"model": "a\\"b","x":1}', 'a"b'),
        (b'{"object":"x" , "model" : "\\u00e4"}', "\u00e4"),
        (b'{"choices":[{"delta":{"content":"{\\"model\\":\\"x\\""}}]', ""),  # within a text
        (b'{"model":"cut', ""),
        (b'{"model":17}', ""),
        (b'{"model":""}', ""),
        (b"", ""),
        (b'{"model":"\\x"}', ""),
        (b'{"model":"' + b"a" * 201 + b'"}', ""),
    ],
)
def test_a_model_is_a_key_and_not_a_part_of_a_text(begin: bytes, model: str) -> None:
    assert model_named(begin) == model


def test_many_names_do_not_fill_the_memory() -> None:
    window = Window()
    for number in range(1000):
        window.answered_by(f"m{number}")
    window.answered_by("")
    assert len(window.models) == MAX_MODELS + 1
    assert window.models[MORE_MODELS] == 1000 - MAX_MODELS
