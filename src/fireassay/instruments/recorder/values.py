"""How do we read a script's losses, ids and batches?

Duck-typed: importing torch or numpy here would break the probe's promise of low cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def on_cuda(value: Any) -> bool:
    """True if reading the value would synchronise a GPU."""
    return bool(getattr(value, "is_cuda", False))


def as_number(value: Any) -> float:
    """A float, an int, or a tensor or array of one element.

    Raises:
        TypeError, ValueError, RuntimeError: it is not one number.
    """
    return float(value.item() if hasattr(value, "item") else value)


def as_count(name: str, value: Any) -> float:
    """A count: finite and not below 0.

    Raises:
        ValueError: it is below 0, infinite or not a number.
        TypeError, RuntimeError: it is not one number.
    """
    count = as_number(value)
    if not 0.0 <= count < float("inf"):
        raise ValueError(f"{name} is {count:g}; it must be a finite number of 0 or more")
    return count


def as_list(values: Any) -> list[Any]:
    """A list, range, tensor, array or any other iterable as a new list of plain Python values."""
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    return plain if isinstance(plain, list) else [plain]


def as_ids(values: Any) -> Any:
    """Integers, flattened: as an array copy if the values are a tensor or an array, else as a list.

    An array is copied in a microsecond and written in half of one; a list of 256 numbers costs five times as much.

    Raises:
        TypeError, ValueError: they are not integers.
    """
    array = _as_array(values)
    if array is None:
        ids = as_list(values)
        return ids if ids and type(ids[0]) is int else [_whole(value) for value in _flat(ids)]
    if array.dtype.kind not in "iu":
        raise TypeError(f"sample ids must be whole numbers, not {array.dtype}")
    return array.reshape(-1).astype("int64")


def as_text(value: Any) -> str | None:
    """A prediction or target as stored text; None stays None."""
    if value is None:
        return None
    return str(value.item() if hasattr(value, "item") else value)


def batch_items(batch: Any) -> float | None:
    """The first dimension of the batch: of the tensor, or of the first tensor in a sequence or mapping; else None."""
    first = batch
    if type(batch) is list or type(batch) is tuple:  # the common case; the check for a mapping costs more than the rest
        first = batch[0] if batch else None
    elif isinstance(batch, Mapping):
        first = next(iter(batch.values()), None)
    elif isinstance(batch, (list, tuple)):
        first = batch[0] if batch else None
    shape = getattr(first, "shape", None)
    return float(shape[0]) if shape else None


def _as_array(values: Any) -> Any:
    """The numpy view of a tensor in host memory, or the array itself; None for anything else, or without numpy."""
    if hasattr(values, "is_cuda"):
        try:
            return values.detach().numpy()
        except (RuntimeError, TypeError):  # torch without numpy, or a type that numpy does not have
            return None
    return values if hasattr(values, "astype") and hasattr(values, "dtype") else None


def _whole(value: Any) -> int:
    if isinstance(value, float):
        raise TypeError(f"sample ids must be whole numbers, not {value!r}")
    return int(value)


def _flat(values: list[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        elif hasattr(value, "item"):
            yield value.item()
        else:
            yield value


def example_row(id: Any, score: Any, prediction: Any, target: Any, metric: str, cluster: Any) -> tuple[Any, ...]:
    """A row of the table `examples`, without its key."""
    return metric, str(as_text(id)), as_text(prediction), as_text(target), as_number(score), as_text(cluster)


def aligned(ids: Any, scores: Any, predictions: Any, targets: Any, cluster: Any) -> Iterator[tuple[Any, ...]]:
    """The examples' columns, one example after the other; a single cluster is that of all.

    Raises:
        ValueError: a column is shorter or longer than the ids.
    """
    ids = as_list(ids)
    clusters = [cluster] * len(ids) if isinstance(cluster, str | int) else cluster
    columns = [as_list(column) if column is not None else [None] * len(ids) for column in (scores, predictions, targets, clusters)]
    # Check before the first write: a part of a held-out set must not be taken for the whole.
    if any(len(column) != len(ids) for column in columns):
        lengths = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"{len(ids)} ids, but {lengths} scores, predictions, targets, clusters; give as many of each")
    return zip(ids, *columns, strict=True)
