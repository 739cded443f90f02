"""Are recorded requests replayed to the nanosecond, and wrong files refused with the line that is wrong?"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import CANARY, IDENTITY, MAIN, NORMAL, THINK, TOOL, WARM_UP, Schedule
from fireassay.traffic.arrivals.traces import replay
from tests.traffic.planned import S, equal, planned

MS = 1_000_000
LONG = 10**18

MOONCAKE = """\
{"timestamp": 27000, "input_length": 1100, "output_length": 52, "hash_ids": [0, 1, 2]}
{"timestamp": 27000, "input_length": 28, "output_length": 445, "hash_ids": [3]}
{"timestamp": 30500, "input_length": 1500, "output_length": 10, "hash_ids": [0, 1, 4]}
{"timestamp": 33001, "input_length": 28, "output_length": 7, "hash_ids": [3]}
"""
BURSTGPT = """\
Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,Conversation log
118.25,GPT-4,417,0,417,API log
"""
AZURE = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:16:00,879,55
"""
AZURE_2024 = "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:00.017335+00:00,2399,6\n"
OWN = """\
{"at_s": 0.5, "tokens_in": 10, "tokens_out": 5, "session": "a"}
{"session": "a", "pause_s": 2.25, "tokens_in": 20}
{"at_s": 0.75}
{"session": "a", "pause_s": 0.125, "pause": "tool", "tokens_in": 30, "tokens_out": 1}

{"at_s": 1.000000001, "session": 7, "turn": 3}
"""


def replayed(folder: Path, text: str, form: str = "auto", speed: float = 1.0, end_ns: int = LONG) -> Schedule:
    (folder / "trace").write_text(text)
    return replay(folder / "trace", form, speed, end_ns)  # type: ignore[arg-type]


def test_mooncake_is_replayed_exactly(tmp_path: Path) -> None:
    schedule = replayed(tmp_path, MOONCAKE)
    assert schedule.due_ns.tolist() == [0, 0, 3500 * MS, 6001 * MS]
    assert schedule.tokens_in.tolist() == [1100, 28, 1500, 28]
    assert schedule.tokens_out.tolist() == [52, 445, 10, 7]
    assert schedule.blocks == {0: (0, 1, 2), 1: (3,), 2: (0, 1, 4), 3: (3,)}
    # The second and the fourth have the same text; the first and the third share two blocks only.
    assert schedule.example.tolist() == [-1, 0, -1, 0]


def test_burstgpt_is_replayed_exactly(tmp_path: Path) -> None:
    schedule = replayed(tmp_path, BURSTGPT)
    assert schedule.due_ns.tolist() == [0, 40 * S, 113 * S + S // 4]
    assert schedule.tokens_in.tolist() == [472, 1087, 417]
    assert schedule.tokens_out.tolist() == [18, 230, 1]
    assert schedule.session.tolist() == [-1, -1, -1]


def test_sessions_of_burstgpt_are_kept(tmp_path: Path) -> None:
    text = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n1,x,3,g,5,6\n2,y,3,g,5,6\n3,x,3,g,7,8\n"
    schedule = replayed(tmp_path, text)
    assert schedule.session.tolist() == [0, 1, 0]
    assert schedule.turn.tolist() == [0, 0, 1]


def test_azure_is_replayed_exactly(tmp_path: Path) -> None:
    schedule = replayed(tmp_path, AZURE)
    assert schedule.due_ns.tolist() == [0, 4_314_579_000, 13_319_410_000]
    assert schedule.tokens_in.tolist() == [374, 396, 879]
    assert schedule.tokens_out.tolist() == [44, 109, 55]
    assert replayed(tmp_path, AZURE_2024).due_ns.tolist() == [0, 7_405_000]


def test_our_own_format_is_replayed_exactly(tmp_path: Path) -> None:
    schedule = replayed(tmp_path, OWN)
    assert schedule.due_ns.tolist() == [0, -1, S // 4, -1, S // 2 + 1]
    assert schedule.session.tolist() == [0, 0, -1, 0, 1]
    assert schedule.turn.tolist() == [0, 1, -1, 2, 3]
    assert schedule.pause_ns.tolist() == [0, 9 * S // 4, 0, S // 8, 0]
    assert schedule.pause_kind.tolist() == [0, THINK, 0, TOOL, 0]
    assert schedule.tokens_in.tolist() == [10, 20, -1, 30, -1]
    assert schedule.tokens_out.tolist() == [5, -1, -1, 1, -1]
    assert make.predecessors(schedule).tolist() == [-1, 0, -1, 1, -1]


def test_speed_divides_the_time_between_requests(tmp_path: Path) -> None:
    assert replayed(tmp_path, MOONCAKE, speed=2.0).due_ns.tolist() == [0, 0, 1750 * MS, 3_000_500_000]
    assert replayed(tmp_path, MOONCAKE, speed=0.5).due_ns.tolist() == [0, 0, 7000 * MS, 12002 * MS]


def test_reading_ends_with_the_load(tmp_path: Path) -> None:
    text = MOONCAKE + "this would be wrong\n"
    assert len(replayed(tmp_path, text, end_ns=6001 * MS)) == 3
    assert len(replayed(tmp_path, text, speed=2.0, end_ns=3001 * MS // 2)) == 2
    with pytest.raises(SpecError, match="line 5: it is not JSON"):
        replayed(tmp_path, text)


def test_a_trace_is_replayed_as_a_load_with_its_warm_up(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_text(MOONCAKE)
    schedule = planned("trace", trace="trace.jsonl", warm_up_s=1.0, duration_s=5.5, base=tmp_path)
    assert schedule.due_ns.tolist() == [0, 0, 3500 * MS, 6001 * MS]
    assert schedule.phase.tolist() == [WARM_UP, WARM_UP, MAIN, MAIN]
    assert schedule.seed[1] == schedule.seed[3]
    assert len(set(schedule.seed.tolist())) == 3
    assert len(planned("trace", trace="trace.jsonl", duration_s=5.0, base=tmp_path)) == 3
    assert len(planned("trace", trace="trace.jsonl", duration_s=9.0, requests=2, base=tmp_path)) == 2


def test_what_a_trace_does_not_say_comes_from_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(OWN)
    schedule = planned("trace", trace="t", base=tmp_path, scenario="D(480,300)")
    assert schedule.tokens_in.tolist() == [10, 20, 480, 30, 480]
    assert schedule.tokens_out.tolist() == [5, 300, 300, 1, 300]


def test_checks_are_added_to_a_trace_and_take_nothing_away(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(MOONCAKE)
    checks = {"identity": 1, "reruns": 1, "canaries": 0.25}
    schedule = planned("trace", trace="t", base=tmp_path, replicas=2, cold=1, correctness=checks)
    ours = np.isin(schedule.kind, [NORMAL, CANARY]) & (schedule.due_ns >= 0)
    assert schedule.due_ns[ours].tolist() == [0, 0, 3500 * MS, 6001 * MS]
    checked = np.flatnonzero(schedule.kind == IDENTITY)
    # In the middles of two halves of the 6.001 s, and a number of its own as an example.
    assert schedule.due_ns[checked].tolist() == [1_500_250_000, 4_500_750_000]
    assert schedule.example[checked].tolist() == [1, 1]
    # Two cold requests come first and a check stands before the third: its blocks have moved along.
    assert schedule.blocks == {2: (0, 1, 2), 3: (3,), 5: (0, 1, 4), 7: (3,)}
    assert (schedule.kind == CANARY).sum() == 1


def test_what_follows_a_request_that_comes_too_late_is_left_out(tmp_path: Path) -> None:
    text = '{"at_s": 0, "session": "a"}\n{"at_s": 1, "session": "b"}\n{"session": "a"}\n{"session": "b"}\n{"at_s": 9}\n{"session": "a"}\n'
    (tmp_path / "t").write_text(text)
    schedule = planned("trace", trace="t", base=tmp_path, duration_s=0.5)
    assert schedule.session.tolist() == [0]


def test_a_schedule_of_a_trace_survives_its_file(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(MOONCAKE)
    schedule = planned("trace", trace="t", base=tmp_path)
    make.write(schedule, tmp_path / "schedule.arrow")
    assert equal(make.read(tmp_path / "schedule.arrow"), schedule)


@pytest.mark.parametrize(
    ("text", "form", "why"),
    [
        ("", "auto", '"trace" without requests'),
        ("\n\n", "auto", "without requests"),
        ("hello\n", "auto", 'a first line "hello"; allowed: JSONL, or CSV with the columns of BurstGPT or Azure'),
        ("a,b\n1,2\n", "azure", 'line 1: "a,b"; allowed: the columns contexttokens, generatedtokens, timestamp'),
        ('{"timestamp": 1, "input_length": 5}\n', "auto", "line 1: no output_length"),
        ('{"timestamp": -1, "input_length": 5, "output_length": 1}\n', "auto", "line 1: a time is not a finite number of at least 0"),
        ('{"timestamp": 1e99, "input_length": 5, "output_length": 1}\n', "auto", "line 1: a time is not a finite"),
        ('{"timestamp": NaN, "input_length": 5, "output_length": 1}\n', "auto", "line 1: a time is not a number"),
        ('{"timestamp": true, "input_length": 5, "output_length": 1}\n', "auto", "line 1: a time is not a number"),
        ('{"timestamp": 1, "input_length": 5.5, "output_length": 1}\n', "auto", "line 1: a number of tokens is not a whole"),
        ('{"timestamp": 1, "input_length": [], "output_length": 1}\n', "auto", "line 1: a number of tokens is not a number"),
        ('{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": "no"}\n', "auto", "hash_ids is not a list of whole"),
        ("[1]\n", "jsonl", "line 1: not an object"),
        ("[" * 100_000, "jsonl", "line 1: "),
        ('{"at_s": 1, "turn": -2}\n', "auto", "line 1: turn is not a whole number"),
        ('{"at_s": 1, "pause": "nap"}\n', "auto", "line 1: pause is not one of none, think, tool, retrieval"),
        (
            '{"tokens_in": 1}\n',
            "auto",
            "line 1: no at_s; allowed: one request per line, of Mooncake with timestamp, input_length, output_length",
        ),
        ('{"at_s": 1, "output_length": 20}\n', "auto", "line 1: the key output_length; allowed: one request per line, of Mooncake with "),
        ('{"timestamp": 1, "prompt_tokens": 20}\n', "auto", "line 1: no input_length; allowed: one request per line, of Mooncake with "),
        ('{"session": "a"}\n', "auto", "line 1: no at_s"),
        ('{"at_s": 2}\n{"at_s": 1}\n', "auto", "line 2: an earlier time than the previous row's; allowed: rows in time order"),
        ("Timestamp,Request tokens,Response tokens\nsoon,1,1\n", "auto", "line 2: a number that cannot be read"),
        ("Timestamp,Request tokens,Response tokens\n1,1\n", "auto", "line 2: no response tokens"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n", "auto", "line 2: Invalid isoformat string"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, text: str, form: str, why: str) -> None:
    with pytest.raises(SpecError) as told:
        replayed(tmp_path, text, form)
    assert why in str(told.value)
    assert told.value.problems[0].where == "serving.arrivals.trace"


def test_a_trace_that_ends_within_the_warm_up_is_refused(tmp_path: Path) -> None:
    """Nothing of it would be measured: 0.75 s of trace, 2 s of warm-up."""
    (tmp_path / "trace").write_text('{"at_s": 1}\n{"at_s": 1.75}\n')
    with pytest.raises(SpecError, match="ends after 0.75 s, within the warm-up of 2 s.*--warm-up 0s"):
        planned("trace", trace="trace", warm_up_s=2.0, base=tmp_path)
    assert len(planned("trace", trace="trace", warm_up_s=0.0, base=tmp_path)) == 2


def test_a_file_that_is_not_there_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match='"none": No such file or directory'):
        replay(tmp_path / "none", "auto", 1.0, LONG)
    (tmp_path / "zip").write_bytes(b"\xff\xfe\x00PK")
    with pytest.raises(SpecError, match="it is not UTF-8 text"):
        replay(tmp_path / "zip", "auto", 1.0, LONG)


@pytest.mark.slow
def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="line 2 with"):
        replayed(tmp_path, '{"at_s": 0}\n{"at_s": ' + "1" * (17 * 2**20))


@given(st.text(max_size=200), st.sampled_from(["auto", "mooncake", "burstgpt", "azure", "jsonl"]))
def test_whatever_a_file_holds_it_is_replayed_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str, form: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    for whole in (text, MOONCAKE + text, BURSTGPT + text, AZURE + text, OWN + text):
        (folder / "any").write_text(whole, encoding="utf-8", errors="replace", newline="")
        with suppress(SpecError):  # anything else is a defect
            assert len(replay(folder / "any", form, 1.0, LONG)) > 0  # type: ignore[arg-type]
