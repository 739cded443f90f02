"""Which fetched batches does a call receive, and which of their rows?

By identity: the tensors of a batch and the inputs of the call share a storage, whatever views lie between them (`.to` the same device,
slices, reshaping). The storages are referenced weakly: nothing is kept in memory, and an address that is used again is not mistaken.
Copies are matched by their order (`fireassay.steps.order`).

Cannot tell: the rows of a non-contiguous slice (then the whole batch counts).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from weakref import ref

from fireassay.steps.events import Fetched

MAX_TENSORS: Final = 8  # in a batch or a call
MAX_SHARED: Final = 4096  # batches that are views of one storage
Match = tuple[Fetched, range | None]
# A tensor of a batch: the batch, its storage (weakly), shape, address, bytes of an element, whether it is contiguous.
# Or several that are views of one storage: None, the storage, None, and those tensors by address.
Piece = tuple[Any, ...]
BATCH, STORAGE, SHAPE, ADDRESS = range(4)


class Storages:
    """The batches of this process, by storage."""

    def __init__(self, torch: Any) -> None:
        self._tensor = torch.Tensor
        # by the id of the storage's object, which torch keeps as long as the storage
        self.pieces: dict[int, Piece] = {}
        self.max_pieces = 64  # before expired ones are dropped

    def add(self, batch: Fetched, content: Any) -> None:
        """Index a batch's tensors."""
        kind, pieces = type(content), self.pieces
        if not ((kind is list or kind is tuple) and len(content) == 1 and type(content[0]) is self._tensor):
            content = tensors(content, self._tensor)
        for tensor in content:
            try:
                storage = tensor.untyped_storage()
                piece = (batch, ref(storage), tensor.shape, tensor.data_ptr(), tensor.element_size(), tensor.is_contiguous())
            except (RuntimeError, NotImplementedError):  # sparse, or without storage
                continue
            key = id(storage)
            known = pieces.get(key)
            if known is None or known[STORAGE]() is None:
                pieces[key] = piece
            else:
                self._share(key, known, piece)
        if len(pieces) > self.max_pieces:
            for key in [key for key, piece in pieces.items() if piece[STORAGE]() is None]:
                del pieces[key]
            self.max_pieces = max(64, 2 * len(pieces))

    def _share(self, key: int, known: Piece, piece: Piece) -> None:
        """Several batches may be views of one storage."""
        views = {known[ADDRESS]: known} if known[SHAPE] is not None else known[ADDRESS]
        views.pop(piece[ADDRESS], None)  # the same rows, fetched again
        views[piece[ADDRESS]] = piece
        if len(views) > MAX_SHARED:
            views.pop(next(iter(views)))
        self.pieces[key] = (None, piece[STORAGE], None, views)

    def matches(self, inputs: Any) -> tuple[Sequence[Match], bool]:
        """(batches passed to a call, whether it may also receive an unidentifiable one)."""
        found: list[Match] = []
        computed = first = True
        for tensor in tensors(inputs, self._tensor):
            match = self._match(tensor)
            if match is not None and all(batch is not match[0] for batch, _ in found):
                found.append(match)
            if first:
                computed, first = tensor.requires_grad, False
        return found, not found and (first or not computed)

    def _match(self, tensor: Any) -> Match | None:
        try:
            storage = tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):
            return None
        piece = self.pieces.get(id(storage))
        if piece is None or piece[STORAGE]() is not storage:
            return None
        if piece[SHAPE] is None:
            piece = piece[ADDRESS].get(tensor.data_ptr())
            if piece is None or tensor.numel() > piece[SHAPE].numel():
                return None
        return piece[BATCH], _rows(piece, tensor)


def _rows(piece: Piece, tensor: Any) -> range | None:
    """The rows that a tensor of the same storage covers; None: all of them."""
    (items, ids, *_), _, shape, address, element_bytes, contiguous = piece
    whole, numel, rows = shape.numel(), tensor.numel(), shape[0] if shape else 0
    if numel >= whole or items != rows or (ids is not None and len(ids) != rows):
        return None  # all of them, or rows that are not samples
    row_bytes = whole // rows * element_bytes if rows and contiguous else 0
    if not row_bytes or not tensor.is_contiguous():
        return None
    first, misaligned = divmod(tensor.data_ptr() - address, row_bytes)
    number, rest = divmod(numel * tensor.element_size(), row_bytes)
    if misaligned or rest or not 0 <= first < first + number <= rows:
        return None
    return range(first, first + number)


def tensors(value: Any, kind: type) -> Sequence[Any]:
    """The tensors of a batch or of a call's inputs, two levels deep."""
    if type(value) in (list, tuple) and 0 < len(value) <= MAX_TENSORS:
        for item in value:
            if type(item) is not kind:
                break
        else:
            flat: Sequence[Any] = value
            return flat
    found: list[Any] = []
    _collect(value, kind, found, 3)
    return found


def _collect(value: Any, kind: type, found: list[Any], depth: int) -> None:
    if isinstance(value, kind):
        found.append(value)
    elif depth and isinstance(value, (list, tuple)):
        for item in value[:MAX_TENSORS]:
            _collect(item, kind, found, depth - 1)
            if len(found) >= MAX_TENSORS:
                return
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            _collect(item, kind, found, depth - 1)
            if len(found) >= MAX_TENSORS:
                return
