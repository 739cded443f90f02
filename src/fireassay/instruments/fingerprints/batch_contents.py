"""Did two ranks, or one worker, get the same samples, whatever their ids say?

Digests of a batch's rows, tensor by tensor, taken in the steps 0, 1, 2, 4, 8, ...: of a batch as fetched, with the ids of its samples, and
of what the model and the loss were called with, after the script's own changes. Equal digests: equal rows. Only some elements of a long row
are read, so that an image costs what a short vector costs.

The labels of a loss that is a function, not a module, are read from its graph.

Cannot tell: rows that differ only between those elements; what reaches a loss whose graph does not keep it.
"""

from __future__ import annotations

import ctypes
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

BATCH: Final = "batch_contents"
INPUT, CHANGE = "input_contents", "input_change"  # what was called; what the script has added to the batch
MAX_ROWS: Final = 64  # of a batch
MAX_BYTES: Final = 1 << 24  # of these rows: those of another memory layout are copied
MAX_ELEMENTS: Final = 512  # of a row, evenly spaced
MAX_TENSORS: Final = 4  # of a batch or a call
MAX_CHANGED: Final = 16  # elements
MAX_NODES: Final = 16  # of a loss's graph


def text(
    tensors: Iterable[Any], *, ids: Sequence[int] | None = None, of: int | None = None, module: str = "", drawn: str = ""
) -> str | None:
    """JSON: the digests of the rows of each tensor; ids, size and random state (`drawn`) of the data set, or the called module. None
    without any row.
    """
    usable = [(tensor, digests) for tensor in list(tensors)[:MAX_TENSORS] if (digests := row_digests(tensor))]
    if not usable:
        return None
    told: dict[str, Any] = {"tensors": [digests for _, digests in usable], "rows": int(usable[0][0].shape[0])}
    told["sizes"] = [int(tensor[0].numel()) for tensor, _ in usable]  # of a row: padded otherwise, a sample is not comparable
    if module:
        told["module"] = module
    if of is not None:
        told["of"] = of
    if drawn:
        told["drawn"] = drawn
    if ids is not None:
        told["ids"] = [int(id) for id in ids[:MAX_ROWS]]
    return json.dumps(told, separators=(",", ":"))


def row_digests(tensor: Any) -> list[str]:
    """Eight hexadecimal digits (CRC-32) per row; empty for a tensor without rows, or one that is sparse or sharded."""
    if not tensor.dim() or not tensor.numel() or hasattr(tensor, "to_local") or str(tensor.layout) != "torch.strided":
        return []
    rows = tensor.detach()[: min(MAX_ROWS, max(1, MAX_BYTES * len(tensor) // (tensor.numel() * tensor.element_size())))]
    flat = rows.flatten(1) if rows.dim() > 1 else rows[:, None]
    some = flat[:, :: -(-flat.shape[1] // MAX_ELEMENTS)].cpu().contiguous()
    width = some.shape[1] * some.element_size()
    content = bytes((ctypes.c_char * some.numel() * some.element_size()).from_address(some.data_ptr()))
    return [f"{zlib.crc32(content[at : at + width]):08x}" for at in range(0, len(content), width)]


def change(before: Iterable[Any], given: Iterable[Any]) -> str | None:
    """JSON: what was added to some elements of the first row of a batch; None if nothing of that shape was, or nothing at all."""
    fetched = [tensor for tensor in before if tensor.dim() and tensor.numel() and tensor.is_floating_point()]
    for tensor in given:
        for other in fetched:
            if tensor.is_floating_point() and tensor.shape == other.shape:
                added = tensor[:1].detach().cpu().double().flatten() - other[:1].detach().cpu().double().flatten()
                some = added[:: -(-len(added) // MAX_CHANGED)].tolist()
                return json.dumps([float(f"{value:.6g}") for value in some]) if any(some) else None
    return None


def targets(roots: Iterable[Any], rows: int | None) -> Iterator[tuple[str, Any]]:
    """(name, labels) of the losses next to the roots of a backward pass; labels that were flattened get their rows again."""
    nodes = [node for root in roots if (node := getattr(root, "grad_fn", None)) is not None]
    for node in nodes:  # grows
        target = getattr(node, "_saved_target", None)
        if target is not None:
            flat = target.dim() == 1 and rows and len(target) > rows and not len(target) % rows
            yield f"target of {node.name().partition('Backward')[0]}", target.view(rows, -1) if flat else target
        elif len(nodes) < MAX_NODES:
            nodes += [item for item, _ in node.next_functions if item is not None]
