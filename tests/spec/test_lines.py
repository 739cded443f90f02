"""On which line a key stands."""

from __future__ import annotations

from fireassay.spec.lines import key_lines, line_of

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
