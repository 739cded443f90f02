"""What does torch's flight recorder list, and is it what the hooks saw?  NCCL by entries in the form that torch documents, gloo for
real.
"""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.instruments.recorder.flight_recorder import APART_NS, Flights, listed, read_at_end
from fireassay.record.tables import TABLES
from tests.instruments import two_ranks

WALL = 1_724_779_239_000_000_000  # nanoseconds since 1970, when our clock showed 0
MS = 1_000_000


def entry(number: int, at_ms: float, name: str = "nccl:all_reduce", **changes: Any) -> dict[str, Any]:
    """As in PyTorch's documents and its test of the JSON form (`test_c10d_nccl.py`), of version 2.10."""
    return {
        "record_id": number,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": number + 1,
        "p2p_seq_id": 0,
        "op_id": number + 1,
        "profiling_name": name,
        "time_created_ns": WALL + round(at_ms * MS),
        "input_sizes": [[3, 4]],
        "input_dtypes": ["Float"],
        "output_sizes": [[3, 4]],
        "output_dtypes": ["Float"],
        "state": "completed",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": WALL + round(at_ms * MS) + 39 * MS,
        "retired": True,
        "timeout_ms": 600_000,
        "is_p2p": False,
        **changes,
    }


def torch_of(*entries: dict[str, Any], name: str = "_dump_nccl_trace_json", **others: Any) -> Any:
    content = {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "pg_status": {}, **others}
    if entries:
        content["entries"] = list(entries)
    own = SimpleNamespace(**{name: lambda: json.dumps(content).encode()})
    return SimpleNamespace(_C=SimpleNamespace(_distributed_c10d=own))


def flights(*steps: tuple[int, float, float], workers: int = 2, set_by: int = 0) -> Flights:
    """Steps (number, begin, end in ms); `set_by`: by how much the wall clock is set meanwhile."""
    walls = iter((WALL, WALL + set_by))
    found = Flights(lambda: 0, workers, lambda: next(walls))
    for step, begin, end in steps:
        found.ended((step, round(begin * MS), round(end * MS)))
    return found


def test_a_call_belongs_to_the_step_in_which_it_was_made_and_one_outside_to_none() -> None:
    """Before the first step, in each of two, between them (a checkpoint's), after the last."""
    torch = torch_of(*(entry(n, at) for n, at in enumerate((1, 11, 12, 21, 31, 41))))
    rows, told = flights((7, 10, 20), (8, 30, 40)).listing(torch, {}) or ([], {})
    assert rows == [(7, "0", "all_reduce", "float32", 2, 2, 96, None), (8, "0", "all_reduce", "float32", 2, 1, 48, None)]
    assert told == {"version": "2.10", "entries": 6, "in_steps": 3, "lost": False, "absent": ""}


def test_a_step_of_which_the_ring_has_lost_calls_is_left_out() -> None:
    """Its oldest call is the 500th: others of the same step may have been before it."""
    torch = torch_of(entry(500, 15), entry(501, 31))
    rows, told = flights((7, 10, 20), (8, 30, 40)).listing(torch, {}) or ([], {})
    assert [row[0] for row in rows] == [8]
    assert told["lost"]


def test_ncclts_durations_are_summed_where_all_are_there_and_absent_where_one_is_not() -> None:
    torch = torch_of(entry(0, 11, duration_ms=1.5), entry(1, 12, duration_ms=0.25), entry(2, 31, duration_ms=2.0), entry(3, 32))
    rows, _ = flights((7, 10, 20), (8, 30, 40)).listing(torch, {}) or ([], {})
    assert [row[-1] for row in rows] == [1_750_000, None]


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "op", "nbytes"),
    [
        ("nccl:all_reduce", [[3, 4]], [[3, 4]], "all_reduce", 48),
        ("nccl:_all_gather_base", [[6]], [[12]], "all_gather", 48),
        ("gloo:all_gather", [[3]], [[2, 3]], "all_gather", 24),
        ("nccl:_reduce_scatter_base", [[12]], [[6]], "reduce_scatter", 48),
        ("nccl:reduce_scatter_tensor_coalesced", [[12], [4]], [[6], [2]], "reduce_scatter", 64),
        ("nccl:all_to_all", [[12]], [[12]], "all_to_all", 48),
        ("nccl:_broadcast_oop", [[5]], [[5]], "broadcast", 20),
        ("nccl:_reduce_oop", [[5]], [[5]], "reduce", 20),
        ("nccl:gather", [[6]], [], "gather", 48),
        ("nccl:scatter", [], [[6]], "scatter", 48),
        ("nccl:all_reduce_barrier", [[1]], [[1]], "barrier", 4),
        ("gloo:barrier", [], [], "barrier", 0),
        ("nccl:send 0->1", [[6]], [[6]], "send", 24),
        ("nccl:recv 0<-1", [[6]], [[6]], "recv", 24),
    ],
)
def test_operations_and_amounts_are_as_nccl_tests_counts_them(name: str, inputs: Any, outputs: Any, op: str, nbytes: int) -> None:
    """Elements of 4 bytes, 2 ranks; of gathering and scattering all that is moved, on every rank."""
    types = {"input_dtypes": ["Float"] * len(inputs), "output_dtypes": ["Float"] * len(outputs)}
    found = listed(entry(0, 0, name, input_sizes=inputs, output_sizes=outputs, **types), {"0": 2}, 2)
    assert found is not None
    assert (found.op, found.nbytes) == (op, nbytes)


def test_what_is_not_known_is_absent() -> None:
    """The size of a type, and of a group's ranks; the bracket round several calls is none itself."""
    unknown = listed(entry(0, 0, input_dtypes=["QInt7"]), {"0": 2}, 2)
    assert unknown is not None
    assert unknown.nbytes is None
    other = listed(entry(0, 0, "nccl:gather", process_group=["5", "undefined"]), {}, 2)
    assert other is not None
    assert (other.size, other.nbytes) == (None, None)
    assert listed(entry(0, 0, "nccl:coalesced"), {}, 2) is None


@pytest.mark.parametrize(
    ("torch", "environ", "set_by", "why"),
    [
        (torch_of(), {"TORCH_FR_BUFFER_SIZE": "0"}, 0, "it is switched off: TORCH_FR_BUFFER_SIZE=0"),
        (torch_of(), {}, 0, "it lists no call"),
        (torch_of(entry(0, 11)), {"TORCH_NCCL_TRACE_BUFFER_SIZE": "1000000"}, 0, "room for 1000000 calls"),
        (torch_of(entry(0, 11)), {}, 2 * APART_NS, "the wall clock was adjusted by 0.002 s"),
    ],
    ids=["off", "empty", "too large", "clock set"],
)
def test_nothing_is_told_of_it_but_why(torch: Any, environ: dict[str, str], set_by: int, why: str) -> None:
    rows, told = flights((7, 10, 20), set_by=set_by).listing(torch, environ) or ([], {"absent": ""})
    assert rows == []
    assert why in told["absent"]


def test_of_a_process_that_never_had_a_group_nothing_is_said() -> None:
    assert flights((7, 10, 20)).listing(torch_of(pg_config={}), {}) is None


def test_an_error_of_the_recorder_is_a_reason() -> None:
    torch = torch_of(name="_dump_fr_trace_json")
    torch.distributed = SimpleNamespace(is_available=lambda: True)
    torch._C._distributed_c10d._dump_fr_trace_json = lambda: b"{"
    _, told = read_at_end(flights(), torch) or ([], {})
    assert "JSONDecodeError" in told["absent"]


# ---- for real ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    """What two ranks recorded that communicate in every way that gloo has."""
    folder = tmp_path_factory.mktemp("listed")
    two_ranks.run("tests.instruments.listed_by_torch", folder)
    return [json.loads((folder / str(rank)).read_text()) for rank in (0, 1)]


def of(rows: list[Any], table: str) -> list[dict[str, Any]]:
    names = TABLES[table].column_names
    return [dict(zip(names, row, strict=True)) for name, row in rows if name == table]


@pytest.mark.deep
@pytest.mark.torch
@pytest.mark.slow
def test_the_hooks_see_the_calls_that_torch_lists_no_less_and_no_more(ranks: list[list[Any]]) -> None:
    """Also those that one of torch's functions makes by another of them, arguments by name, and a model's buffers: operations, groups
    and amounts, step by step."""
    for rows in ranks:
        seen, told = Counter[Any](), Counter[Any]()
        for call in of(rows, "collectives"):
            if call["step"] is not None:
                seen.update({(call["step"], call["group"], call["op"], "calls"): 1})
                seen.update({(call["step"], call["group"], call["op"], "bytes"): call["bytes"]})
        for one in of(rows, "inventory"):
            told.update({(one["step"], one["group"], one["op"], "calls"): one["calls"]})
            told.update({(one["step"], one["group"], one["op"], "bytes"): one["bytes"]})
        assert {step for step, *_ in told} == {0, 1, 2, 3}
        assert len({op for _, _, op, _ in told}) == 8
        assert seen == told


@pytest.mark.deep
@pytest.mark.torch
@pytest.mark.slow
def test_what_the_recorder_held_is_an_event_of_the_rank(ranks: list[list[Any]]) -> None:
    for rows in ranks:
        (event,) = (one for one in of(rows, "events") if one["kind"] == "flight_recorder")
        told = json.loads(event["detail"])
        assert told["absent"] == ""
        assert event["value"] == told["entries"] > told["in_steps"] == sum(one["calls"] for one in of(rows, "inventory"))
