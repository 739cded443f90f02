"""Digests of rows: equal rows, equal digests, whatever tensor they lie in; others differ."""

from __future__ import annotations

import json

import pytest

from fireassay.instruments.fingerprints import batch_contents
from fireassay.instruments.fingerprints.batch_contents import MAX_BYTES, MAX_ROWS, change, row_digests

pytestmark = pytest.mark.torch


def test_rows_are_told_apart_by_their_values_only() -> None:
    import torch

    rows = torch.arange(12.0).reshape(4, 3)
    digests = row_digests(rows)
    assert len(set(digests)) == 4
    assert row_digests(rows.T.contiguous().T) == digests  # another layout in memory
    assert row_digests(rows[1:3]) == digests[1:3]
    assert row_digests(rows.reshape(4, 3, 1)) == digests
    assert row_digests(rows + 1.0) != digests


def test_labels_are_rows_of_one_number() -> None:
    import torch

    assert len(set(row_digests(torch.tensor([3, 1, 3])))) == 2


def test_what_has_no_rows_has_no_digests() -> None:
    import torch

    assert row_digests(torch.tensor(1.0)) == row_digests(torch.zeros(0, 3)) == row_digests(torch.eye(2).to_sparse()) == []
    assert batch_contents.text([torch.tensor(1.0)]) is None


def test_long_rows_and_large_batches_cost_little() -> None:
    """Of a million elements 512 are read: the first is one of them."""
    import torch

    long = torch.zeros(2 * MAX_ROWS, 10_000)
    changed = long.clone()
    changed[:, 0] = 1.0
    assert len(row_digests(long)) == MAX_ROWS
    assert row_digests(long)[0] != row_digests(changed)[0]
    told = json.loads(str(batch_contents.text([long], ids=range(2 * MAX_ROWS), of=1000)))
    assert (told["rows"], len(told["ids"]), told["of"]) == (2 * MAX_ROWS, MAX_ROWS, 1000)


def test_the_memory_for_digests_is_bounded_by_the_size_of_a_row() -> None:
    """Rows of 8 MiB: two of them, in whatever layout; of larger ones the first."""
    import torch

    images = torch.zeros(8, 2, 1024, 1024)
    assert len(row_digests(images)) == len(row_digests(images.to(memory_format=torch.channels_last))) == MAX_BYTES // (8 << 20)
    assert len(row_digests(torch.zeros(3, 5 << 20))) == 1


def test_what_the_script_adds_to_a_batch_is_told() -> None:
    import torch

    batch, labels = torch.ones(4, 2), torch.tensor([1, 0, 1, 0])
    assert json.loads(str(change([batch, labels], [batch + torch.tensor([0.5, 0.0])]))) == [0.5, 0.0]
    assert change([batch, labels], [batch]) is None
    assert change([batch], [torch.ones(4, 3)]) is None
