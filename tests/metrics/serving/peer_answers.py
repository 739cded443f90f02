"""The answers on which every peer's definition is worked out by hand."""

from __future__ import annotations

from tests.serving_made import ServingMade


def one_answer() -> ServingMade:
    """The same answer three times in each of two launches, and a failed request.

    Role 0.1 s after it was due, reasoning 0.3, content 0.5 and 0.9, finish 0.95, usage 1.0, end mark 1.1; 4 tokens by usage,
    5 by the tokenizer.
    """
    made = ServingMade(rate=(1.0,), blocks=2)
    for block in range(2):
        number = made.launch(block=block)
        for second in range(3):
            request = made.request(
                number, float(second), at_s=[0.1, 0.3, 0.5, 0.9, 0.95, 1.0, 1.1], kinds=[0, 2, 1, 1, 4, 5, 6], tokens_out=4
            )
            made.counted(number, request, tokens_out=5)
        made.request(number, 3.0, status="5xx")
    return made


def without_text() -> ServingMade:
    """Two answers that hold nothing."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(2):
        made.request(number, float(second), chunks=0, tokens_out=None)
    return made
