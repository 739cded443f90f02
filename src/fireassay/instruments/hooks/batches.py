"""Which fetched batches does a call receive, and which of their rows?

By identity: the tensors of a batch and the inputs of the call share a storage, whatever views lie between them (`.to` the same device,
slices, reshaping). The storages are referenced weakly: nothing is kept in memory, and an address is not reused while it is known.
Copies are matched by their order (`fireassay.steps.order`).
Which forward passes a backward pass reaches is read from its graph, by autograd's sequence numbers.

Cannot tell: the rows of a non-contiguous slice (then the whole batch counts).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Final
from weakref import ref

from fireassay.steps.events import TOO_LARGE, Batch

MAX_TENSORS: Final = 8  # in a batch or a call
MAX_SHARED: Final = 4096  # batches that are views of one storage
MAX_NODES: Final = 20_000  # searched in a graph
Match = tuple[Batch, range | None]


class Piece:
    """A tensor of a batch, by its weakly referenced storage."""

    __slots__ = ("_free", "batch", "bytes", "contiguous", "numel", "ptr", "shape", "storage")

    def __init__(self, batch: Batch, tensor: Any, storage: Any) -> None:
        self.batch, self.shape, self.numel, self.bytes = batch, tensor.shape, tensor.numel(), tensor.element_size()
        self.ptr, self.contiguous = tensor.data_ptr(), tensor.is_contiguous()
        self.storage, self._free = storage._weak_ref(), storage._free_weak_ref

    def __del__(self) -> None:
        self._free(self.storage)

    def slice_of(self, tensor: Any) -> range | None:
        """The rows that a tensor of the same storage covers; None: all of them."""
        batch, numel, rows = self.batch, tensor.numel(), self.shape[0] if self.shape else 0
        if numel >= self.numel or batch.items != rows or (batch.ids is not None and len(batch.ids) != rows):
            return None  # all of them, or rows that are not samples
        row_bytes = self.numel // rows * self.bytes if rows and self.contiguous else 0
        if not row_bytes or not tensor.is_contiguous():
            return None
        first, misaligned = divmod(tensor.data_ptr() - self.ptr, row_bytes)
        number, rest = divmod(numel * tensor.element_size(), row_bytes)
        if misaligned or rest or not 0 <= first < first + number <= rows:
            return None
        return range(first, first + number)


class Storages:
    """The batches of this process, by storage."""

    def __init__(self, torch: Any) -> None:
        self._tensor, self._strided, self._expired = torch.Tensor, torch.strided, torch.UntypedStorage._expired
        self._pieces: dict[int, Piece | dict[int, Piece]] = {}
        self._others: list[tuple[Batch, tuple[Any, ...]]] = []  # a batch's tensors but the first, weakly, until one may be asked for
        self._sweep = 64

    def add(self, batch: Batch, content: Any) -> None:
        """Index a batch's tensors."""
        kind = type(content)
        if (kind is list or kind is tuple) and content and type(first := content[0]) is self._tensor:
            self._add(batch, first)
            if len(content) > 1:
                self._others.append((batch, tuple([ref(other) for other in tensors(content[1:], self._tensor)])))
        else:
            for tensor in tensors(content, self._tensor):
                self._add(batch, tensor)
        if len(self._pieces) > self._sweep:
            self._add_others()
            for storage in [storage for storage in self._pieces if self._expired(storage)]:
                del self._pieces[storage]
            self._sweep = max(64, 2 * len(self._pieces))

    def _add_others(self) -> None:
        others, self._others = self._others, []
        for batch, references in others:
            for reference in references:
                if (tensor := reference()) is not None:
                    self._add(batch, tensor)

    def _add(self, batch: Batch, tensor: Any) -> None:
        try:
            piece = Piece(batch, tensor, tensor.untyped_storage())
        except (RuntimeError, NotImplementedError):  # sparse, or without storage
            return
        known = self._pieces.setdefault(piece.storage, piece)
        if known is piece:
            return
        shared = known if isinstance(known, dict) else {known.ptr: known}
        shared.pop(piece.ptr, None)  # the same rows, fetched again
        shared[piece.ptr] = piece
        if len(shared) > MAX_SHARED:
            shared.pop(next(iter(shared)))
        self._pieces[piece.storage] = shared

    def matches(self, inputs: Any) -> tuple[Sequence[Match], bool]:
        """(batches passed to a call, whether it may also receive an unidentifiable one)."""
        if (
            type(inputs) is tuple and len(inputs) == 1 and type(tensor := inputs[0]) is self._tensor and tensor.layout is self._strided
        ):  # the usual
            piece = self._pieces.get(tensor.untyped_storage()._cdata)
            if type(piece) is Piece and tensor.numel() >= piece.numel:
                return ((piece.batch, None),), False
            match = None if piece is None else self._match(tensor)
            if match is not None:
                return (match,), False
            if tensor.requires_grad or not self._others:
                return (), not tensor.requires_grad
        if self._others:
            self._add_others()
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
            piece = self._pieces.get(tensor.untyped_storage()._cdata)
        except (RuntimeError, NotImplementedError):
            return None
        if piece is None:
            return None
        if type(piece) is dict:
            piece = piece.get(tensor.data_ptr())
            if piece is None or tensor.numel() > piece.numel:
                return None
        return piece.batch, None if tensor.numel() >= piece.numel else piece.slice_of(tensor)  # type: ignore[union-attr]


class Passes:
    """The forward passes with gradients since the last backward pass, by autograd's sequence numbers."""

    def __init__(self, torch: Any) -> None:
        self.sequence = torch._C._autograd._get_sequence_nr
        self.open: list[tuple[int, Batch | None]] = []  # where each began, and its batch if there is one
        self.ends: list[int] = []

    def reached(self, roots: Any) -> Any:
        """The sequence numbers of the passes in the backward graph; None if there is nothing to tell apart, or the roots are unknown.

        Later passes may still get their own backward pass; earlier ones were discarded.
        """
        passes, ends = self.open, self.ends
        if not roots or (passes[0][1] is not None and all(batch is passes[0][1] for _, batch in passes)):
            self.open, self.ends = [], []
            return None
        begins = [number for number, _ in passes]
        found = _search(roots, begins, ends)
        last = (
            len(begins)
            if found == TOO_LARGE
            else max((index for index, number in enumerate(begins) if number in found), default=len(begins))
        )
        left = range(last + 1, len(begins))
        self.open, self.ends = [passes[index] for index in left], [ends[index] for index in left if index < len(ends)]
        return found


def _search(roots: Any, begins: list[int], ends: list[int]) -> Any:
    sought, reached = set(begins), set[int]()
    nodes = [node for root in roots if (node := getattr(root, "grad_fn", None) or getattr(root, "node", None)) is not None]
    seen = set(nodes)
    while nodes and reached != sought:
        node = nodes.pop()
        number = node._sequence_nr()
        index = bisect_right(begins, number) - 1
        if index >= 0 and (index >= len(ends) or number < ends[index]):
            reached.add(begins[index])
        fresh = [item for item, _ in node.next_functions if item is not None and item not in seen]
        seen.update(fresh)
        nodes.extend(fresh)
        if len(seen) > MAX_NODES:
            return TOO_LARGE
    return reached


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
