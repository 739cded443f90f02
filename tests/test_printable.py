"""Text from elsewhere steers no terminal."""

import pytest

from fireassay.printable import one_line, printable


@pytest.mark.parametrize(
    "sign", ["\x1b", "\x00", "\x07", "\x08", "\r", "\x7f", "\x9b", "\u061c", "\u200e", "\u200f", "\u202e", "\u2066", "\ud800", "\ufffe"]
)
def test_what_steers_is_replaced(sign: str) -> None:
    assert printable(f"a{sign}b") == "a\ufffdb"


def test_words_of_any_script_line_breaks_and_tabs_stay() -> None:
    text = "µ ≥ Größe\tשלום العربية 中文 \U0001f600 family\u200djoined\n"
    assert printable(text) == text


def test_one_line_has_no_line_break() -> None:
    assert one_line(" a\n\tb \x1b[31mc\r\n") == "a b \ufffd[31mc"
