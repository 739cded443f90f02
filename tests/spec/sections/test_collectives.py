"""Are sizes those of nccl-tests, and cells what they say?"""

from __future__ import annotations

import pytest

from fireassay.frames.links import network_probe
from fireassay.spec.sections.collectives import OPERATIONS, WHOLE, Collectives, cell, cells, one_size, sizes_of


@pytest.mark.parametrize(
    ("text", "size"), [("8", 8), ("1K", 1024), ("1k", 1024), ("64KiB", 65536), ("16M", 2**24), ("1G", 2**30), ("1000B", 1000)]
)
def test_a_size_is_read_as_nccl_tests_reads_it(text: str, size: int) -> None:
    assert one_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "0", "-1", "1.5M", "1T", "1e6", "128G"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a size such as 1K"):
        one_size(text)


def test_a_range_goes_up_by_its_factor() -> None:
    assert sizes_of("8:64", 2) == (8, 16, 32, 64)
    assert sizes_of("1K:5K", 2) == (1024, 2048, 4096)
    with pytest.raises(ValueError, match="from the smaller to the larger"):
        sizes_of("2K:1K", 2)


def test_operations_are_those_that_bandwidths_are_defined_for() -> None:
    assert set(OPERATIONS) == set(network_probe.OPERATIONS)
    assert set(WHOLE) == set(network_probe.WHOLE)


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_the_bytes_of_a_cell_are_the_amount_of_its_elements(op: str, n: int) -> None:
    for size in (4, 1000, 2**20):
        made = cell(op, size, "out", n, 4)
        assert made.nbytes == 4 * made.count * (n if op in WHOLE else 1)
        assert made.nbytes <= max(size, 4 * (n if op in WHOLE else 1))


def test_names_of_cells_are_their_own() -> None:
    asked = Collectives(operations=OPERATIONS, sizes=("1K:1M",))  # type: ignore[arg-type]
    names = [made.name for level in (2, 4) for made in cells(asked, level)]
    assert len(set(names)) == len(names)
    assert names[0] == "workers=2 op=all_reduce place=in bytes=1024"
