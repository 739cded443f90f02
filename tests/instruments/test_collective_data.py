"""Every corruption of a result is caught and named, and a right result never is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments.collectives.corruption import check
from fireassay.instruments.collectives.data import PERIOD, RankCall, expected, numbers, poison, right, sent, sums, whole
from fireassay.spec.sections.collectives import DTYPES, OPERATIONS, PLACEMENTS
from tests.lazy import torch
from tests.tiers import examples

COUNT = 60


def asked(op: str, n: int = 3, rank: int = 1, *, dtype: str = "float32", call: int = 5, root: int = 0, count: int = COUNT) -> RankCall:
    return RankCall(op=op, ranks=n, rank=rank, count=count, dtype=dtype, call=call, root=root, in_place=PLACEMENTS[op] == ("in",))


def result_of(one: RankCall) -> torch.Tensor:
    """The right result by the operation's own definition, from what every rank sends: not by `expected`."""
    each = one.count * (one.ranks if one.op in ("reduce_scatter", "all_to_all", "scatter") else 1)
    inputs = []
    for rank in range(one.ranks):
        tensor = torch.zeros(each, dtype=getattr(torch, one.dtype))
        sent(RankCall(op=one.op, ranks=one.ranks, rank=rank, count=one.count, dtype=one.dtype, call=one.call, root=one.root), tensor)
        inputs.append(tensor)
    added = torch.stack(inputs).sum(dim=0).to(inputs[0].dtype)
    match one.op:
        case "all_reduce" | "reduce":
            return added
        case "all_gather" | "gather":
            return torch.cat(inputs)
        case "reduce_scatter":
            return added.chunk(one.ranks)[one.rank].clone()
        case "all_to_all":
            return torch.cat([tensor.chunk(one.ranks)[one.rank] for tensor in inputs])
        case "broadcast":
            return inputs[one.root].clone()
        case "scatter":
            return inputs[one.root].chunk(one.ranks)[one.rank].clone()
        case _:
            return inputs[(one.rank - 1) % one.ranks].clone()


def own(one: RankCall, rank: int) -> torch.Tensor:
    """What a rank sends, as far as one element of each of `count`."""
    tensor = torch.zeros(one.count, dtype=getattr(torch, one.dtype))
    sent(RankCall(op=one.op, ranks=one.ranks, rank=rank, count=one.count, dtype=one.dtype, call=one.call), tensor)
    return tensor


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_a_right_result_is_right_in_every_element_type(op: str, n: int, dtype: str) -> None:
    for rank in range(n):
        one = asked(op, n, rank, dtype=dtype)
        if one.op in ("reduce", "gather") and rank != one.root:
            assert check(one, torch.zeros(one.count)).wrong is None  # nobody's business
            continue
        assert check(one, result_of(one)).wrong == 0


def test_numbers_are_whole_exact_in_sum_and_never_the_poison() -> None:
    for dtype, (_, largest) in DTYPES.items():
        for n in (1, 2, 7):
            most = max(int(numbers(rank, n, dtype).double().max()) for rank in range(n))
            least = min(int(numbers(rank, n, dtype).double().min()) for rank in range(n))
            assert least >= 1
            assert most * n <= largest
            assert int(sums(n, dtype).double().max()) <= largest
            assert poison(dtype) not in (least, most)
            assert poison(dtype) < least or poison(dtype) > largest


@given(st.integers(1, 3 * PERIOD), st.integers(0, 10_000), st.integers(0, 10_000))
@examples(40)
@pytest.mark.slow
def test_no_element_of_a_long_result_may_be_wrong_unseen(count: int, call: int, place: int) -> None:
    one = asked("all_reduce", 2, 0, count=count, call=call)
    result = whole(list(expected(one)))
    assert right(one, result)
    result[place % count] += 1
    assert not right(one, result)
    assert check(one, result).wrong == 1


# ---- the eight corruptions, and those that are close to them -------------------------------------------------------------

Spoil = Callable[[RankCall, "torch.Tensor"], "torch.Tensor"]


def _without(rank: int) -> Spoil:
    return lambda one, right: right - own(one, rank)


def _swapped(one: RankCall, right: torch.Tensor) -> torch.Tensor:
    parts = list(right.clone().tensor_split(one.ranks))
    parts[0], parts[1] = parts[1], parts[0]
    return torch.cat(parts)


def _flipped(one: RankCall, right: torch.Tensor) -> torch.Tensor:
    found = right.clone()
    raw = found.view(torch.uint8)
    raw[4 * 17 + 2] ^= 8  # of float32: bit 19 of element 17
    return found


def _unwritten(one: RankCall, right: torch.Tensor) -> torch.Tensor:
    return own(one, one.rank) if one.in_place else torch.full_like(right, poison(one.dtype))


def _earlier(one: RankCall, right: torch.Tensor) -> torch.Tensor:
    return result_of(
        RankCall(op=one.op, ranks=one.ranks, rank=one.rank, count=one.count, dtype=one.dtype, call=one.call - 1, root=one.root)
    )


def _late(one: RankCall, right: torch.Tensor) -> torch.Tensor:
    return torch.cat([right[:1], right[:-1]])


def _last_left_out(one: RankCall, right: torch.Tensor) -> torch.Tensor:
    found = right.clone()
    found[-1] = _unwritten(one, right)[-1]
    return found


def _rounded(one: RankCall, right: torch.Tensor) -> torch.Tensor:
    return right.to(torch.bfloat16).to(right.dtype)


def _as_integers(one: RankCall, right: torch.Tensor) -> torch.Tensor:
    added = own(one, 0).view(torch.int32)
    for rank in range(1, one.ranks):
        added = added + own(one, rank).view(torch.int32)
    return added.view(right.dtype)


def _stacked(one: RankCall) -> torch.Tensor:
    return torch.stack([own(one, rank) for rank in range(one.ranks)])


CASES: list[tuple[str, str, Spoil, str]] = [
    ("drop a rank", "all_reduce", _without(2), "rank_missing: rank 2"),
    ("drop a rank", "reduce", _without(2), "rank_missing: rank 2"),
    ("count a rank twice", "all_reduce", lambda one, right: right + own(one, 0), "rank_twice: rank 0"),
    (
        "drop a rank",
        "all_gather",
        lambda one, right: torch.cat([*right[:-COUNT].chunk(2), torch.full((COUNT,), -3.0)]),
        "rank_missing: rank 2",
    ),
    ("swap shards", "all_gather", _swapped, "shards_swapped: that of 1 lies at 0, that of 0 lies at 1"),
    ("swap shards", "gather", _swapped, "shards_swapped: that of 1 lies at 0, that of 0 lies at 1"),
    ("swap shards", "all_to_all", _swapped, "shards_swapped: that of 1 lies at 0, that of 0 lies at 1"),
    ("swap shards", "all_reduce", _swapped, "shards_swapped: that of 1 lies at 0, that of 0 lies at 1"),
    ("another's shard", "reduce_scatter", lambda one, _: result_of(asked("reduce_scatter", rank=2)), "shards_swapped: that of rank 2"),
    ("another's shard", "scatter", lambda one, _: result_of(asked("scatter", rank=2)), "shards_swapped: that of rank 2"),
    ("off by one", "all_reduce", _late, "off_by_one: one element too late"),
    ("off by one", "broadcast", lambda one, right: torch.cat([right[1:], right[-1:]]), "off_by_one: one element too early"),
    ("off by one", "all_reduce", lambda one, right: right + 1, "off_by_one: 60 elements by 1"),
    ("off by one", "all_gather", _last_left_out, "off_by_one: the last element was left out"),
    ("off by one", "all_reduce", _last_left_out, "off_by_one: the last element was left out"),
    ("stale buffer", "all_reduce", _unwritten, "stale: the input"),
    ("stale buffer", "all_to_all", _unwritten, "stale: nothing was written"),
    ("stale buffer", "reduce_scatter", _earlier, "stale: the result of 1 call earlier"),
    ("stale buffer", "broadcast", _earlier, "stale: the result of 1 call earlier"),
    ("bit flip", "all_reduce", _flipped, "bit_flip: bit 19 of element 17"),
    ("bit flip", "send_recv", _flipped, "bit_flip: bit 19 of element 17"),
    ("wrong dtype", "all_reduce", _rounded, "wrong_dtype: rounded to bfloat16"),
    ("wrong dtype", "broadcast", _rounded, "wrong_dtype: rounded to bfloat16"),
    ("wrong dtype", "all_reduce", _as_integers, "wrong_dtype: its bytes were added as int32"),
    ("wrong dtype", "all_reduce", lambda one, right: right.double(), "wrong_dtype: float64 of 60 elements"),
    ("wrong root", "broadcast", lambda one, right: own(one, 2), "wrong_root: the data of rank 2"),
    ("wrong root", "scatter", lambda one, _: result_of(asked("scatter", root=2)), "wrong_root: the data of rank 2"),
    ("wrong root", "send_recv", lambda one, right: own(one, 2), "wrong_root: the data of rank 2"),
    ("wrong op", "all_reduce", lambda one, _: _stacked(one).max(dim=0).values, "wrong_op: the maximum"),
    ("wrong op", "all_reduce", lambda one, _: _stacked(one).min(dim=0).values, "wrong_op: the minimum"),
    ("wrong op", "all_reduce", lambda one, _: _stacked(one).prod(dim=0), "wrong_op: the product"),
    ("wrong op", "all_reduce", lambda one, right: right / one.ranks, "wrong_op: the mean"),
    ("half of it", "broadcast", lambda one, right: torch.cat([right[:30], right[30:] * 0]), "partial: 30 elements from 30 to 59 are wrong"),
    ("noise", "all_gather", lambda one, right: right * 0 - 7, "unknown"),
]


@pytest.mark.parametrize(("what", "op", "spoil", "name"), CASES, ids=[f"{what}, {op}: {name}" for what, op, _, name in CASES])
def test_a_corruption_is_caught_and_named(what: str, op: str, spoil: Spoil, name: str) -> None:
    one = asked(op, rank=0 if op in ("reduce", "gather") else 1)
    found = check(one, spoil(one, result_of(one)))
    assert found.wrong
    assert found.fault.startswith(name), what


def test_a_sum_on_the_wrong_root_is_seen_where_it_is_and_where_it_is_not() -> None:
    """Root 0 keeps its own input, and rank 1 holds the sum."""
    at_root, elsewhere = asked("reduce", rank=0), asked("reduce", rank=1)
    assert check(at_root, own(at_root, 0)).fault == "stale: the input"
    assert check(elsewhere, result_of(elsewhere)).fault == "sum_is_here"
    assert check(elsewhere, own(elsewhere, 1)).fault == ""


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("n", [2, 4])
def test_every_element_type_sees_the_eight(dtype: str, n: int) -> None:
    """Caught in every type; names are as sure as the type's range allows."""
    one = asked("all_reduce", n, 1, dtype=dtype, count=500)
    right_one = result_of(one)
    flipped = right_one.clone()
    flipped.view(torch.uint8)[0] ^= 1
    spoiled = {
        "drop a rank": right_one - own(one, 0),
        "swap": _swapped(one, right_one),
        "off by one": _late(one, right_one),
        "stale": _earlier(one, right_one),
        "flip": flipped,
        "root": own(one, 0),
        "op": _stacked(one).max(dim=0).values,
    }
    for what, result in spoiled.items():
        found = check(one, result)
        assert found.wrong, what
        assert found.fault not in ("", "unknown"), what
