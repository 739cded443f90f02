"""Which parallelism does an unmodified script use?

The visible evidence, recorded once at the end of a rank's recording:

| evidence | from |
|---|---|
| whether a process group exists, and how many collectives the engine counted so far | the process group, at each step that is a power of two |
| DistributedDataParallel, its group, comm hooks, ignored parameters | its attributes |
| FSDP, DTensor: over how many ranks the parameters are sharded or replicated | the modules and the placements |
| a stage of torch's pipeline, layers of tensor parallelism, an optimizer that shards its state | their classes |
| batches of point-to-point calls | `batch_isend_irecv`, counted by step |
| a sampler that shards the data | the first loaders |
| size of the gradients, names of the parameters | the watched model |

Each step's communication is in the tables `collectives` and `waits`; `fireassay.frames.training.parallelism` draws the conclusion.
A step costs nothing extra, except where it calls `batch_isend_irecv`.
Cannot see: libraries that communicate in other ways (named if imported); functional collectives (the engine counts them).
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from fireassay.instruments.fingerprints import model_hash

KIND: Final = "parallelism"  # of the event
OTHER_WAYS: Final = ("horovod", "mpi4py", "deepspeed.comm", "bagua", "hivemind", "colossalai", "oneccl_bindings_for_pytorch", "torch_xla")
LAYERS: Final = ("ColumnParallel", "RowParallel", "ParallelEmbedding")  # prefixes of Megatron's and fairscale's classes


class Evidence:
    """Collects one rank's evidence."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._group = 0  # ranks in the process group
        self._rpc = False  # uses torch's RPC
        self.watch: model_hash.Watch | None = None  # of the model, if no other remains at the end
        self._settled: dict[str, Any] = {}  # evidence kept when the model was released
        self._engine: list[tuple[int, int]] = []  # step, collectives of the default group so far
        self._sharing = 0  # number of shards of the sampler
        self._p2p: set[int] = set()  # steps with batches of point-to-point calls

    def note_ranks(self, step: int, *, counts: bool = True) -> None:
        """Check whether the process group exists; errors count as no. `counts`: every engine call was recorded."""
        with suppress(Exception):
            self._rpc = self._rpc or bool(self._torch._C._distributed_rpc._is_current_rpc_agent_set())
        with suppress(Exception):
            distributed = self._torch.distributed
            if distributed.is_available() and distributed.is_initialized():
                self._group = max(self._group, int(distributed.get_world_size()))
                if counts:
                    self._engine.append((step, int(distributed.group.WORLD._get_sequence_number_for_group())))

    def trains(self, model: Any) -> None:
        """Note the trained model, so that its evidence does not depend on whether it can be hashed."""
        with suppress(Exception):
            self.watch = model_hash.Watch(model, staged=model_hash.is_called_as_a_stage())

    def settle(self, watch: model_hash.Watch) -> None:
        """Keep the evidence, since the model may be freed from now on."""
        with suppress(Exception):
            self._settled, self.watch = _of_model(watch), None

    def opened(self, loader: Any) -> None:
        """A loader is iterated over: does its sampler shard the data?"""
        with suppress(Exception):
            for sampler in (loader.sampler, loader.batch_sampler):
                for name in ("num_replicas", "num_processes"):
                    ranks = getattr(sampler, name, None)
                    if isinstance(ranks, int):
                        self._sharing = max(self._sharing, ranks)

    def sent(self, step: int | None) -> None:
        """A step made a batch of point-to-point calls."""
        if step is not None:
            self._p2p.add(step)

    def detail(self, watch: model_hash.Watch | None, reducers: Iterable[Any]) -> dict[str, Any]:
        """All evidence, as the event's detail."""
        watch = watch or self.watch
        evidence: dict[str, Any] = {"group": self._group, "engine": self._engine[:1] + self._engine[1:][-1:]}
        evidence |= {"sharing": self._sharing, "p2p_steps": len(self._p2p)}
        other = ["torch.distributed.rpc"] if self._rpc else []
        evidence["libraries"] = other + [name for name in OTHER_WAYS if name in sys.modules]
        with suppress(Exception):
            evidence |= _of_reducers(reducers)
        with suppress(Exception):
            evidence |= self._settled or ({} if watch is None else _of_model(watch))
        return evidence


def _of_reducers(reducers: Iterable[Any]) -> dict[str, Any]:
    """The attributes of the DistributedDataParallels."""
    known = list(reducers)
    hooks = [getattr(hook[0], "__qualname__", "") for model in known for hook in getattr(model, "_comm_hooks", ())]
    return {
        "ddp": [int(model.process_group.size()) for model in known],
        "bucket_bytes": min((int(size) for model in known if (size := getattr(model, "bucket_bytes_cap", 0))), default=0),
        "ddp_ignored": sum(map(_left_alone, known)),
        "ddp_hooks": sorted(set(hooks)),
    }


def _left_alone(wrapper: Any) -> int:
    """Trained parameters that each rank keeps for itself; buffers, frozen parameters and names of nothing may be listed too."""
    left = getattr(wrapper, "parameters_to_ignore", ())
    return sum(parameter.requires_grad and name in left for name, parameter in wrapper.module.named_parameters()) if left else 0


def _of_model(watch: model_hash.Watch) -> dict[str, Any]:
    """The watched model's parameters and modules."""
    model = watch.model
    named = [(name, parameter) for name, parameter in model_hash.unwrap(model).named_parameters() if parameter.requires_grad]
    local = [(name, value.to_local() if hasattr(value, "to_local") else value) for name, value in named]
    shapes = "\n".join(f"{name}|{tuple(value.shape)}" for name, value in local)
    optimizer = None if watch._optimizer is None else watch._optimizer()
    return {
        "stage": watch.staged,
        "bytes": sum(int(value.numel()) * int(value.element_size()) for _, value in local),
        "shapes": hashlib.blake2b(shapes.encode(), digest_size=8).hexdigest(),
        "fsdp": max((_fsdp_ranks(module) for module in model.modules()), default=0),
        "dtensor": max((_mesh_size(value) for _, value in named), default=0),
        "layers": sorted({type(value).__name__ for value in model.modules() if any(x in type(value).__name__ for x in LAYERS)}),
        "optimizer": "" if optimizer is None else type(optimizer).__name__,
    }


def _fsdp_ranks(module: Any) -> int:
    """The number of ranks over which FSDP shards and replicates this module's parameters; 0 without FSDP."""
    if type(module).__name__ == "FullyShardedDataParallel":
        inter = getattr(module, "_inter_node_pg", None)
        return int(module.process_group.size()) * (1 if inter is None else int(inter.size()))
    state = getattr(module, "_get_fsdp_state", None)
    return 0 if state is None else max((_ranks_of(group) for group in _groups_of(state())), default=0)


def _groups_of(state: Any) -> list[Any]:
    """A single group before torch 2.11, a list since."""
    groups = getattr(state, "_fsdp_param_groups", None)
    group = getattr(state, "_fsdp_param_group", None)
    return list(groups) if groups else [] if group is None else [group]


def _ranks_of(group: Any) -> int:
    info = group.mesh_info
    return int(getattr(info, "shard_mesh_size", 1)) * int(getattr(info, "replicate_mesh_size", 1))


def _mesh_size(parameter: Any) -> int:
    """The size of a DTensor's mesh; 0 if it is replicated over every dimension."""
    mesh = getattr(parameter, "device_mesh", None)
    if mesh is None or all(type(placement).__name__ == "Replicate" for placement in parameter.placements):
        return 0
    return math.prod(int(size) for size in mesh.shape)


def point_to_point(torch: Any, evidence: Evidence, step: Callable[[], int | None]) -> list[tuple[str, Any]]:
    """(name, maker of the replacement); `isend` and `irecv` stay, because torch compares them by identity."""

    def make(original: Any) -> Any:
        def batch_isend_irecv(*arguments: Any, **words: Any) -> Any:
            evidence.sent(step())
            return original(*arguments, **words)

        return batch_isend_irecv

    return [("batch_isend_irecv", make)] if hasattr(torch.distributed, "batch_isend_irecv") else []
