"""Text from elsewhere steers no terminal."""

import pytest

from fireassay.printable import command, one_line, printable, wrapped


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


WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"


@pytest.mark.parametrize("indent", ["", "  ", "    "])
def test_a_sentence_is_as_wide_as_the_window_and_what_is_indented_stays_so(indent: str) -> None:
    lines = wrapped(f"{indent}{WORDS}", 40).split("\n")
    assert max(map(len, lines)) <= 40
    assert all(line.startswith(indent) for line in lines)
    assert " ".join(" ".join(lines).split()) == WORDS


def test_what_fits_is_left_as_it_is() -> None:
    text = "a  b\n\n   c\t" + "d" * 20
    assert wrapped(text, 80) == text


def test_a_command_in_back_quotes_can_be_copied() -> None:
    lines = wrapped(f"{WORDS[:60]} `assay report latest --html` {WORDS}", 80).split("\n")
    assert [line for line in lines if "`assay report latest --html`" in line]


def test_a_word_wider_than_the_window_is_not_cut() -> None:
    path = "/a" * 60
    assert wrapped(f"cannot write {path}: no space", 80).split("\n") == ["cannot write", f"{path}:", "no space"]


def test_a_quoted_line_stays_and_the_text_below_it_keeps_its_column() -> None:
    lines = wrapped(f"  5 | {'x' * 90}\n    | ^^^ {WORDS}", 60).split("\n")
    assert lines[0] == f"  5 | {'x' * 90}"
    assert lines[1].startswith("    | ^^^ one two")
    assert len(lines) > 2
    assert all(line.startswith("    |   ") and len(line) <= 60 for line in lines[2:])


def test_a_wide_command_goes_on_after_a_backslash() -> None:
    line = "  assay compare R/good R/unsynced --varying workload.script --varying workload.arguments"
    assert command(line, 80) == "  assay compare R/good R/unsynced --varying workload.script \\\n    --varying workload.arguments"
    assert command(line, 100) == line
    assert wrapped(line, 80) == command(line, 80)
