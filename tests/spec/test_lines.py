"""On which line a key stands."""

from __future__ import annotations

import pytest

from fireassay.spec.explain import MAX_LINE_LENGTH, concealed, excerpt_of, key_lines, line_of

TEXT = """\
name = "x"            # 1
launches.seed = 3     # 2

[workload]            # 4
script = '''
inner = 1
[no.header]
'''
"arguments" = [       # 9
  "a = b",
]
[[faults]]            # 12
kind = "kill"
[[ faults ]]          # 14
levels = [1]
"""


def test_keys_sections_and_lists_of_tables_have_their_lines() -> None:
    lines = key_lines(TEXT)
    assert lines["name"] == 1
    assert lines["launches.seed"] == 2
    assert lines["workload"] == 4
    assert lines["workload.script"] == 5
    assert lines["workload.arguments"] == 9
    assert (lines["faults"], lines["faults[0].kind"]) == (12, 13)
    assert (lines["faults[1]"], lines["faults[1].levels"]) == (14, 15)


def test_text_over_several_lines_holds_no_keys() -> None:
    assert not [path for path in key_lines(TEXT) if "inner" in path or "header" in path]


def test_what_has_no_line_of_its_own_gets_that_of_what_holds_it() -> None:
    lines = key_lines(TEXT)
    assert line_of("faults[1].levels[0]", lines) == 15
    assert line_of("workload.environment.A", lines) == 4
    assert line_of("prices.date", lines) is None


def underlined(text: str, path: str, *, key_itself: bool = False) -> tuple[int, str, bool]:
    """The line of an excerpt, its underlined part, and whether the line is the key's own."""
    found = excerpt_of(path, text, key_lines(text), key_itself=key_itself)
    assert found is not None
    return found.line, found.text[found.begin : found.end], found.exact


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("a = 5", "5"),
        ("a = 5  # five", "5"),
        ('  a="x # y"   # z', '"x # y"'),
        ('a = "say \\"so\\" # now"', '"say \\"so\\" # now"'),
        ("a = [1, 2] # two\r", "[1, 2]"),
        ("\ta = true", "true"),
        ("a = [", "["),
        ('a = ""', '""'),
        ("a =", "a"),
    ],
)
def test_the_value_of_a_key_is_underlined_without_its_comment(line: str, part: str) -> None:
    assert underlined(line, "a") == (1, part, True)


def test_a_key_that_does_not_exist_is_underlined_itself() -> None:
    assert underlined("[launches]\n  sed = 1", "launches.sed", key_itself=True) == (2, "sed", True)


def test_a_missing_key_and_one_in_braces_have_the_line_of_what_holds_them() -> None:
    assert underlined("[prices]\nusd = 1", "prices.date") == (1, "[prices]", False)
    assert underlined("[a]\nb = {c = 1, d = 2}", "a.b.c") == (2, "b", False)
    assert underlined("levels = [1, 0]", "levels[1]") == (1, "[1, 0]", True)
    assert excerpt_of("nowhere", "a = 1", key_lines("a = 1")) is None


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('api_key = "sk-123"', 'api_key = "..."'),
        ("headers = {Authorization = 'Bearer x', x = 1}", 'headers = {Authorization = "...", x = 1}'),
        ('password = "open', 'password = "..."'),
        ("name = 'train'", "name = 'train'"),
    ],
)
def test_text_next_to_a_name_that_suggests_a_secret_is_never_shown(line: str, shown: str) -> None:
    assert concealed(line) == shown


def test_a_long_line_is_cut_around_what_is_wrong() -> None:
    text = f"a = {'1' * 300}"
    found = excerpt_of("a", text, key_lines(text))
    assert found is not None
    assert len(found.text) == MAX_LINE_LENGTH
    assert 0 <= found.begin < found.end <= MAX_LINE_LENGTH
