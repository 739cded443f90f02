"""Which words describe a fleet's tests?"""

from __future__ import annotations

import pytest

from fireassay.errors import SpecError
from fireassay.spec.fleet import DEFAULT, FIND_SHARE, FleetRequest, fleet_arguments, link_device, matchings, nodes_of


def test_the_words_are_tests_and_the_slowness_to_find() -> None:
    assert fleet_arguments(("disk", "find=0.1", "matrix")) == FleetRequest(tests=("disk", "matrix"), find=0.1)
    assert fleet_arguments(()) == FleetRequest(tests=DEFAULT, find=FIND_SHARE)
    asked = fleet_arguments(("bandwidth", "latency", "ring", "disk", "pairs=all", "transport=nccl", "parallel=yes"))
    assert (asked.of("node"), asked.of("direction", "pair"), asked.of("ring")) == (("disk",), ("bandwidth", "latency"), ("ring",))
    assert (asked.pairs > 100_000, asked.transport, asked.parallel) == (True, "nccl", True)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("disks",), "Did you mean"),
        (("disk", "disk"), "every test once"),
        (("find=x",), "between 0 and 1"),
        (("find=1",), "between 0 and 1"),
        (("pairs=2",), "3 or more pairs"),
        (("transport=rdma",), "tcp, gloo, nccl"),
        (("parallel=maybe",), "yes or no"),
    ],
)
def test_other_words_are_refused(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        fleet_arguments(words)


@pytest.mark.parametrize(("count", "each"), [(4, 3), (5, 4), (5, 2), (16, 5), (17, 16), (2, 16), (1, 3)])
def test_every_node_is_in_as_many_disjoint_pairs_and_no_pair_comes_twice(count: int, each: int) -> None:
    names = [f"n{number}" for number in range(count)]
    every = matchings(names, each, seed=7)
    pairs = [frozenset(pair) for matching in every for pair in matching]
    assert all(len({name for pair in matching for name in pair}) == 2 * len(matching) for matching in every)
    assert len(set(pairs)) == len(pairs)
    degrees = {sum(name in pair for pair in pairs) for name in names}
    assert degrees <= ({count - 1} if each >= count - 1 else {each} if count % 2 == 0 else {each, each - 1})
    assert every == matchings(names, each, seed=7)
    assert count < 4 or every != matchings(names, each, seed=8)


def test_a_links_device_names_its_ends() -> None:
    assert nodes_of(link_device("a-b", "c.d", directed=True)) == nodes_of(link_device("a-b", "c.d", directed=False)) == ("a-b", "c.d")
