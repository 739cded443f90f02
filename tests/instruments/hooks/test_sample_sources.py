"""Which samples an unmodified script uses: the ledger must say what happened, and raise no alarm where nothing did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fireassay.instruments.hooks.sample_sources import Sources

pytestmark = pytest.mark.torch


@pytest.fixture
def torch() -> Any:
    import torch

    return torch


def sources(torch: Any) -> Sources:
    from fireassay.instruments.hooks.sample_sources import Sources

    return Sources(torch, lambda _: None, iter(range(1, 1000)).__next__)


def loader(torch: Any, data: Any, **words: Any) -> Any:
    return torch.utils.data.DataLoader(data, batch_size=4, **words)


class Found:
    """Loaders of a script, and the ledger of their samples."""

    def __init__(self, torch: Any) -> None:
        from fireassay.steps.ledger import Ledger

        self.sources, self.ledger = sources(torch), Ledger()
        self.opened, self.used = self.sources.opened, self.ledger.used

    def ended(self, source: Any) -> int | None:
        return self.ledger.ended(source, self.sources._now())


def test_an_epoch_is_one_iteration_over_the_data_by_whichever_loader(torch: Any) -> None:
    data, found = list(range(8)), Found(torch)
    one, other = loader(torch, data), loader(torch, data)  # a loader made anew, or two over the same data
    assert [found.used(found.opened(each)) for each in (one, one, other, one)] == [0, 1, 2, 3]


def test_other_data_beside_it_are_no_part_of_the_ledger(torch: Any) -> None:
    labelled, unlabelled, found = list(range(8)), list(range(100, 108)), Found(torch)
    first, second = found.opened(loader(torch, labelled)), found.opened(loader(torch, unlabelled))
    assert [found.used(one) for one in (first, second, first, second)] == [0, None, 0, None]


def test_data_made_anew_go_on_where_the_ones_before_ended(torch: Any) -> None:
    found, told, sizes = Found(torch), [], []
    kept = [[0] * 8 for _ in range(3)]
    for data in kept:
        source = found.opened(loader(torch, data))
        told += [found.used(source), found.used(source)]
        sizes.append(found.ended(source))
    assert told == [0, 0, 1, 1, 2, 2]
    assert sizes == [8, None, None], "told once"


def test_the_size_is_told_only_when_an_epoch_was_read_to_its_end(torch: Any) -> None:
    """Who always leaves the loop early never wanted all samples; and an evaluation's data are no part of it."""
    found = Found(torch)
    train, held_out = found.opened(loader(torch, list(range(8)))), found.opened(loader(torch, list(range(4))))
    found.used(train)
    assert found.ended(held_out) is None


@pytest.mark.parametrize("shuffle", [True, False])
def test_torchs_own_samplers_name_samples(torch: Any, shuffle: bool) -> None:
    from fireassay.instruments.hooks.sample_sources import gives_ids

    data = list(range(8))
    assert gives_ids(torch, loader(torch, data, shuffle=shuffle))
    shards = torch.utils.data.DistributedSampler(data, num_replicas=2, rank=0, shuffle=shuffle)
    assert gives_ids(torch, loader(torch, data, sampler=shards))


def test_samplers_that_repeat_or_leave_out_do_not(torch: Any) -> None:
    from fireassay.instruments.hooks.sample_sources import gives_ids

    tools, data = torch.utils.data, list(range(8))
    wrong = (
        tools.RandomSampler(data, replacement=True),
        tools.RandomSampler(data, num_samples=4),
        tools.SequentialSampler(data[:4]),
        tools.WeightedRandomSampler([1.0] * 8, 8),
        tools.SubsetRandomSampler([1, 2]),
    )
    assert not any(gives_ids(torch, loader(torch, data, sampler=sampler)) for sampler in wrong)
    assert not gives_ids(torch, tools.DataLoader(data, batch_size=None))

    class Stream(tools.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return iter(range(8))

        def __len__(self) -> int:
            raise NotImplementedError

    streamed = loader(torch, Stream())
    assert not gives_ids(torch, streamed)
    assert (found := Found(torch)).used(found.opened(streamed)) is None


def test_a_loader_that_goes_on_in_the_middle_of_an_epoch_tells_no_samples(torch: Any) -> None:
    """torchdata's StatefulDataLoader has samplers of its own, by the same names, and skips what it gave before it was given a state."""
    from fireassay.instruments.hooks.sample_sources import gives_ids

    class StatefulDataLoader(torch.utils.data.DataLoader):  # type: ignore[misc]
        __module__ = "torchdata.stateful_dataloader.stateful_dataloader"
        next_iter_state: Any = None

    class RandomSampler(torch.utils.data.RandomSampler):  # type: ignore[misc]
        __module__ = "torchdata.stateful_dataloader.sampler"

    class OneOfSomebodysOwn(torch.utils.data.RandomSampler):  # type: ignore[misc]
        pass

    data = list(range(8))
    loader = StatefulDataLoader(data, batch_size=4, sampler=RandomSampler(data))
    assert gives_ids(torch, loader)
    loader.next_iter_state = {"_num_yielded": 1}
    assert not gives_ids(torch, loader)
    assert not gives_ids(torch, StatefulDataLoader(data, batch_size=4, sampler=RandomSampler(data, replacement=True)))
    assert not gives_ids(torch, StatefulDataLoader(data, batch_size=4, sampler=OneOfSomebodysOwn(data)))
