"""Are two replicas equal bit for bit?

A hash over the names, shapes, types and raw bytes of a model's tensors. Parameters and buffers are hashed separately: replicas must
agree in their parameters at every step, while buffers such as BatchNorm's running statistics legitimately differ between the steps of
DistributedDataParallel (rank 0's are broadcast at the next forward pass). Sharded parameters (FSDP, DTensor) differ between ranks by
design, so local shards are hashed under a separate name. So are an optimizer's state, which must agree where the parameters do, and
the state of the generator for dropout: whether that should agree is declared by the script. Reading a state does not change it.
torch is never imported here: the model brings it.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

LARGE = 0.4  # of the parameters' bytes: half precision moves half
OFTEN = 4
_INSIDE = ("module", "_orig_mod", "_forward_module")  # what wrappers call the plain model: torch's and most by hand, torch.compile, Fabric


class Watch:
    """A model whose tensors are hashed after 0, 1, 2, 4, 8, ... finished steps, and after some that may have averaged replicas.

    Covers the parameters that are trained when it is first watched: a frozen part (a rank's own average, a teacher, a target network) is
    not a replica. Cannot see: parameters frozen at that time and trained later.
    """

    def __init__(self, model: Any, *, staged: bool = False, optimizers: Iterable[Any] = ()) -> None:
        """`staged`: it is a pipeline stage, so not a replica, whatever its parameters are called."""
        self._model: Callable[[], Any] = lambda: model
        self.staged = staged
        self.sharded = is_sharded(model)
        self.kept = trained(model, optimizers)
        self._held = held(model, optimizers)
        self._next, self._first = 0, True
        self.hashed: int | None = None  # steps finished at the last hash
        self.device = device_of(model)
        self._optimizer: weakref.ref[Any] | None = None
        self.parameters = parameter_count(model)
        self.nbytes = sum(int(getattr(value, "nbytes", 0)) for value in model.parameters() if getattr(value, "requires_grad", True))
        self._quiet, self._rejoined = False, 0  # the last step moved less than the parameters; steps that did after such a one

    @property
    def model(self) -> Any:
        """The model; None once it is gone, which is impossible before `release`."""
        return self._model()

    def release(self) -> None:
        """Hold only a weak reference from now on."""
        self._model = weakref.ref(self._model())

    def due(self, steps: int) -> bool:
        """True if a hash is due after so many finished steps."""
        return steps >= self._next

    def rejoins(self, nbytes: int) -> bool:
        """True if a step moved as much as the parameters, after one that did not; of many such steps the first, and at powers of two."""
        large = nbytes >= LARGE * self.nbytes > 0
        quiet, self._quiet = self._quiet, not large
        self._rejoined += large and quiet
        return large and quiet and (self._rejoined <= OFTEN or not self._rejoined & (self._rejoined - 1))

    def hash_at(self, steps: int) -> None:
        """Hash after so many finished steps too."""
        self._next = min(self._next, steps)

    def hashes(self, steps: int) -> list[tuple[str, str]]:
        """The hashes after so many finished steps; the next are due at the next power of two."""
        self.hashed = steps
        self._next = 1 << steps.bit_length()  # 0 -> 1 -> 2 -> 4 -> 8
        digests = [*hashes(self.model, self.kept), *random_hashes(self.device)]
        if not self.staged:
            digests += each_parameter(self.model, self.kept, named=self._first)
            digests += [("optimizer_names", "\n".join(self._held))] if self._first and self._held else []
            self._first = False
        optimizer = None if self._optimizer is None else self._optimizer()
        if optimizer is not None:
            digests.append(optimizer_hash(optimizer))
        return [(_of_part(what), text) for what, text in digests] if self.staged else digests

    def trained_by(self, optimizer: Any) -> bool:
        """Hash this optimizer's state from here on; whether it is new."""
        known = None if self._optimizer is None else self._optimizer()
        if known is None:
            self._optimizer = weakref.ref(optimizer)
        return known is None

    def learning_rate(self) -> float | None:
        """The learning rate of the optimizer's first parameter group; None before an optimizer is known."""
        optimizer = None if self._optimizer is None else self._optimizer()
        rate = None if optimizer is None else optimizer.param_groups[0].get("lr")
        return None if rate is None else float(rate)


def unwrap(model: Any) -> Any:
    """The user's own module inside DistributedDataParallel, torch.compile and other wrappers, which only add a prefix to its names."""
    while (inside := next((part for name in _INSIDE if (part := getattr(model, "_modules", {}).get(name)) is not None), None)) is not None:
        if _tensors(inside) != _tensors(model):
            break
        model = inside
    return model


def _tensors(model: Any) -> set[int]:
    return {id(tensor) for own in (model.parameters(), model.buffers()) for tensor in own}


def _of_part(what: str) -> str:
    return what if what.startswith("random") or "_shard_" in what else what.replace("_hash", "_shard_hash")


def is_called_as_a_stage() -> bool:
    """True if torch's own pipeline is calling a module right now."""
    frame = sys._getframe(1)
    while (before := frame.f_back) is not None:
        frame = before
        if frame.f_globals.get("__name__") == "torch.distributed.pipelining.stage":
            return True
    return False


def trained(model: Any, optimizers: Iterable[Any] = ()) -> frozenset[str]:
    """The names of the trained parameters; all names if none is trained.

    Next to a part that DistributedDataParallel reduces, a parameter held neither by it nor by an optimizer is a copy (timm's task keeps an
    average that is not frozen). Without such a part or a known optimizer, a copy cannot be distinguished from a parameter of another rank's
    optimizer.
    """
    named = dict(unwrap(model).named_parameters())
    reduced = {id(parameter) for part in model.modules() if _is_reduced(part) for parameter in getattr(part, "_module_parameters", ())}
    stepped = {id(parameter) for optimizer in optimizers for _, _, parameter in _trained(optimizer)}
    learns = frozenset(name for name, parameter in named.items() if getattr(parameter, "requires_grad", True))
    if not reduced or not stepped:
        return learns or frozenset(named)
    return frozenset(name for name in learns if id(named[name]) in reduced | stepped) or learns or frozenset(named)


def held(model: Any, optimizers: Iterable[Any]) -> list[str]:
    """The names of the parameters that an optimizer holds."""
    stepped = {id(parameter) for optimizer in optimizers for _, _, parameter in _trained(optimizer)}
    return [name for name, parameter in unwrap(model).named_parameters() if id(parameter) in stepped]


def without_optimizer(model: Any, optimizers: Iterable[Any]) -> list[str]:
    """The parameters with a gradient that no optimizer holds; none where no optimizer is known."""
    known = list(optimizers)
    held = {id(parameter) for optimizer in known for _, _, parameter in _trained(optimizer)}
    named = unwrap(model).named_parameters() if known else ()
    return [name for name, parameter in named if parameter.grad is not None and id(parameter) not in held]


def outside(model: Any, optimizers: Iterable[Any]) -> list[tuple[str, Any]]:
    """The whole parameters that are trained beside the model: a second model, a loss's own, or what was left out of a wrapper."""
    own = {id(parameter) for parameter in model.parameters()}
    every = (part for number, optimizer in enumerate(optimizers) for part in ((number, *place) for place in _trained(optimizer)))
    return [
        (f"{number}.{group}.{index}", parameter)
        for number, group, index, parameter in every
        if id(parameter) not in own and parameter.requires_grad and not hasattr(parameter, "to_local")
    ]


def _is_reduced(module: Any) -> bool:
    """True if it is torch's own wrapper for data parallelism, or a subclass."""
    return any(base.__name__ == "DistributedDataParallel" for base in type(module).__mro__)


def hashes(model: Any, kept: frozenset[str] | None = None) -> Iterator[tuple[str, str]]:
    """(name, hash): `parameter_hash`, and `buffer_hash` if the model has buffers; `..._shard_hash` if it is sharded."""
    plain = unwrap(model)
    parameters = _kept(plain, kept)
    buffers = list(plain.named_buffers())
    kind = "shard_hash" if _is_sharded(plain, parameters) else "hash"
    yield f"parameter_{kind}", tensor_hash(parameters)
    if buffers:
        yield f"buffer_{kind}", tensor_hash(buffers)


def _kept(plain: Any, kept: frozenset[str] | None) -> list[tuple[str, Any]]:
    return [(name, parameter) for name, parameter in plain.named_parameters() if kept is None or name in kept]


def each_parameter(model: Any, kept: frozenset[str] | None = None, *, named: bool) -> list[tuple[str, str]]:
    """`parameter_hashes`: eight hexadecimal digits (CRC-32) per parameter, to find one that differs; empty if ranks hold parts.

    `named`: also their names, one per line, in the same order.
    """
    plain = unwrap(model)
    parameters = _kept(plain, kept)
    if _is_sharded(plain, parameters):
        return []
    digests = [("parameter_hashes", "".join(f"{_crc(parameter):08x}" for _, parameter in parameters))]
    return [*digests, ("parameter_names", "\n".join(name for name, _ in parameters))] if named else digests


def optimizer_hash(optimizer: Any) -> tuple[str, str]:
    """(name, hash) of an optimizer's state, parameter by parameter; `optimizer_shard_hash` if every rank has its own part."""
    entries = []
    for group, index, parameter in _trained(optimizer):
        state = optimizer.state.get(parameter) or {}
        entries += [(f"{group}.{index}.{key}", state[key]) for key in sorted(state)]
    tensors = [(name, tensor) for name, value in entries for tensor in (value if isinstance(value, list) else [value])]
    parts = type(optimizer).__name__ == "ZeroRedundancyOptimizer" or any(hasattr(x, "to_local") for _, x in tensors)
    return ("optimizer_shard_hash" if parts else "optimizer_hash"), tensor_hash(tensors)


def _trained(optimizer: Any) -> Iterator[tuple[int, int, Any]]:
    for group, settings in enumerate(optimizer.param_groups):
        for index, parameter in enumerate(settings["params"]):
            yield group, index, parameter


def random_hashes(device: str | None) -> Iterator[tuple[str, str]]:
    """(`random_hash`, hash) of the generator that dropout uses on the model's device.

    For a GPU also the host's (`random_hash_host`), which seeds the data loaders' helpers.
    """
    torch = sys.modules.get("torch")
    if torch is None or device not in ("cpu", "cuda"):
        return
    host = ("random_hash", tensor_hash([("state", torch.random.get_rng_state())]))
    if device == "cuda":
        yield "random_hash", tensor_hash([("state", torch.cuda.get_rng_state())])
        host = ("random_hash_host", host[1])
    yield host


def layers(model: Any) -> tuple[int, int]:
    """(layers that draw random numbers in training, layers that use their own rank's batch statistics).

    The latter are BatchNorm, but neither SyncBatchNorm, which uses all ranks' batches, nor frozen layers.
    """
    modules = list(model.modules())
    draw = sum(1 for module in modules if _draws(module))
    names = [type(module).__name__ for module in modules]
    norms = sum(1 for name in names if "BatchNorm" in name and not name.startswith(("Sync", "Frozen")))
    return draw, norms


def _draws(module: Any) -> bool:
    """Dropout layers, and attention with its own dropout, unless their probability is 0."""
    shares = (getattr(module, name, 0.0) for name in ("p", "dropout", "attention_dropout", "drop_prob"))
    return any(isinstance(share, float) and share > 0.0 for share in shares)


def parameter_count(model: Any) -> int:
    """The number of trained and frozen parameters (of this rank's shard, under FSDP1)."""
    return sum(int(parameter.numel()) for parameter in model.parameters())


def device_of(model: Any) -> str | None:
    """The device type of the first parameter: "cpu", "cuda", ...; None for a model without any."""
    first = next(iter(model.parameters()), None)
    return None if first is None else str(first.device.type)


def tensor_hash(named: Iterable[tuple[str, Any]]) -> str:
    """BLAKE2b (16 bytes, hexadecimal) over names, shapes, types and raw bytes, in the given order."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in named:
        if not hasattr(tensor, "dtype"):
            digest.update(f"{name}|{tensor!r}\n".encode())
            continue
        digest.update(f"{name}|{tuple(tensor.shape)}|{tensor.dtype}\n".encode())
        _feed(digest, tensor)
    return digest.hexdigest()


def _feed(digest: Any, tensor: Any) -> None:
    """Hash the bytes in place: no numpy, no copy for a contiguous tensor in host memory, any element type."""
    plain = _in_host_memory(tensor)
    size = plain.numel() * plain.element_size()
    if size:
        digest.update((ctypes.c_char * size).from_address(plain.data_ptr()))


def _crc(tensor: Any) -> int:
    plain = _in_host_memory(tensor)
    size = plain.numel() * plain.element_size()
    return zlib.crc32((ctypes.c_char * size).from_address(plain.data_ptr())) if size else 0


def _in_host_memory(tensor: Any) -> Any:
    plain = tensor.detach()
    if hasattr(plain, "to_local"):
        plain = plain.to_local()
    return plain.cpu().contiguous()


def is_sharded(model: Any) -> bool:
    """True if every rank has its own part of the model."""
    plain = unwrap(model)
    return _is_sharded(plain, list(plain.named_parameters()))


def is_flat(model: Any) -> bool:
    """True if FSDP1 has concatenated and split its parameters, so that a rank's part belongs to no single parameter."""
    return any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules())


def computed_in(model: Any) -> str | None:
    """The compute precision set in FSDP2 or DistributedDataParallel, if it differs from the parameters' own."""
    for module in model.modules():
        state = getattr(module, "_get_fsdp_state", None)
        policy = getattr(module, "mixed_precision", None) if state is None else getattr(state(), "_mp_policy", None)
        precision = getattr(policy, "param_dtype", None)
        if precision is not None:
            return str(precision).removeprefix("torch.")
    return None


def _is_sharded(model: Any, parameters: list[tuple[str, Any]]) -> bool:
    return any(hasattr(parameter, "to_local") for _, parameter in parameters) or is_flat(model)
