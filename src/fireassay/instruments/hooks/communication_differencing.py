"""How much time does communication add to a step?

E = T_sync - T_nosync, in a separate launch with interleaved steps, plus a replay of the collectives alone.
From step WARM on, blocks of LENGTH steps alternate: in one DistributedDataParallel leaves its gradients alone (as inside `no_sync`), in
the next it synchronises. Parameters, buffers and the optimizers' state are saved before an unsynchronised block and restored after it,
so that the ranks' models stay equal; random numbers and data continue. Before each of the first REPLAYS such blocks the collectives of
the previous step run again with nothing else running. All of this is excluded from step times.
Rows: `communication` with method `unsynchronised` marks a step without; `replay` gives the collectives' time alone; each of them is in
`collectives` with phase `replay`. `fireassay.frames.training.communication.step_communication` evaluates them.

The launch's training result is useless, since half of its batches were undone; only its times are comparable.
Does not work with: gradients of FSDP (skipping its all-gathers would change the computation), a model compiled as a whole, a static
graph. The script's own collectives run in every step. All ranks must make the same number of steps, else they would disagree on which
steps synchronise.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from fireassay.instruments.hooks.collective_calls import Call
from fireassay.instruments.hooks.steps import Attached
from fireassay.instruments.recorder.recorder import Recorder

VARIABLE: Final = "FIREASSAY_CALIBRATE_COMMUNICATION"
WARM: Final = 10  # steps before the first block: DDP rebuilds its buckets in the first, caches and clocks settle
LENGTH: Final = 4  # steps per block; the first absorbs the switch and is not counted
MAX_BLOCKS: Final = 50  # blocks without synchronisation
REPLAYS: Final = 5


def is_free(step: int) -> bool:
    """True if a step is unsynchronised; equal on every rank."""
    block, _ = divmod(step - WARM, LENGTH)
    return block >= 0 and block % 2 == 0 and block < 2 * MAX_BLOCKS


def install(torch: Any, attached: Attached, recorder: Recorder, undo: list[Callable[[], None]]) -> None:
    """Alternate steps from now on, until the entries added to `undo` are called."""
    taking = _Turns(torch, attached, recorder)
    parallel, distributed = torch.nn.parallel.DistributedDataParallel, torch.distributed
    if not distributed.is_available():
        return
    forward = parallel.forward

    def in_turn(self: Any, *arguments: Any, **words: Any) -> Any:
        if torch.compiler.is_compiling() or not taking.leaves_alone(self):
            return forward(self, *arguments, **words)
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:  # only the forward pass reads the flag: it prepares the reducer for the backward pass
            return forward(self, *arguments, **words)
        finally:
            self.require_backward_grad_sync = before

    def back() -> None:
        parallel.forward, attached.turn_observer = forward, None

    parallel.forward, attached.turn_observer = in_turn, taking
    optimizers = importlib.import_module("torch.optim.optimizer")  # the package hides it
    undo.extend((optimizers.register_optimizer_step_pre_hook(taking.steps).remove, back))


class _Turns:
    """Decides which steps synchronise, and keeps the saved state."""

    def __init__(self, torch: Any, attached: Attached, recorder: Recorder) -> None:
        self._torch, self._attached, self._recorder = torch, attached, recorder
        self._free = self._told = self._over = False
        self._optimizers: dict[int, Any] = {}
        self._saved: list[tuple[Any, Any]] = []  # tensor, saved value
        self._before: list[Call] = []  # collectives of the previous step
        self._replayed = 0

    def steps(self, optimizer: Any, *_: Any) -> None:
        """Save this optimizer's state too."""
        self._optimizers[id(optimizer)] = optimizer

    def leaves_alone(self, model: Any) -> bool:
        """True if this forward pass belongs to an unsynchronised step; the first of a step marks it."""
        if not self._free or not self._torch.is_grad_enabled() or model.static_graph:
            return False
        if not self._told and self._recorder.active:
            self._told = True
            self._recorder.communicated("unsynchronised")
        return True

    def ends(self) -> None:
        """A step ends: keep its collectives before they are recorded."""
        step = self._recorder.step_number
        self._before = [call for call in self._attached.calls.pending if call.step in (None, step)]

    def ended(self) -> None:
        """The next step has begun."""
        if self._over or not self._recorder.active:
            return
        begin = self._recorder.now()
        before, self._free, self._told = self._free, is_free(self._recorder.step_number), False
        if before == self._free:
            return
        try:
            self._change()
        except Exception as error:  # ranks may now disagree; training continues
            self._over, self._free = True, False
            print(f"assay: the calibration of communication has stopped: {type(error).__name__}: {error}", file=sys.stderr)
        self._attached.calls.waits.taken()
        self._recorder.set_aside("calibration", begin, self._recorder.now() - begin)

    def _change(self) -> None:
        if not self._free:
            self._put_back()
            return
        if self._replayed < REPLAYS and self._torch.distributed.is_initialized():
            self._replayed += 1
            blocked = self._attached.calls.blocked_ns
            _Replay(self._torch, self._attached, self._recorder).make(self._before)
            self._attached.calls.blocked_ns = blocked
        self._keep()

    def _keep(self) -> None:
        tensors = [tensor for model in self._attached.communication.reducers for tensor in (*model.parameters(), *model.buffers())]
        for optimizer in self._optimizers.values():
            state_values = (value for state in optimizer.state.values() if isinstance(state, dict) for value in state.values())
            tensors += [value for value in state_values if isinstance(value, self._torch.Tensor)]
        with self._torch.no_grad():
            self._saved = [(tensor, tensor.detach().clone()) for tensor in tensors]

    def _put_back(self) -> None:
        with self._torch.no_grad():
            for tensor, saved in self._saved:
                if tensor.shape == saved.shape:
                    tensor.copy_(saved)
        self._saved = []


class _Replay:
    """Replays a step's collectives with nothing else running."""

    def __init__(self, torch: Any, attached: Attached, recorder: Recorder) -> None:
        self._torch, self._attached, self._recorder = torch, attached, recorder
        self._cuda = torch.distributed.get_backend() == "nccl"

    def make(self, calls: list[Call]) -> None:
        """Request all of them at once, as a backward pass does; only if every rank can."""
        distributed, now = self._torch.distributed, self._recorder.now
        replayed = [call for call in calls if call.op != "barrier"]
        requests = [self._asking(call) for call in replayed]
        replayable = self._torch.tensor([float(bool(replayed) and None not in requests)], device="cuda" if self._cuda else "cpu")
        world, agreed = distributed.group.WORLD, distributed.AllreduceOptions()
        agreed.reduceOp = distributed.ReduceOp.MIN
        world.allreduce([replayable], agreed).wait()
        if not replayable.item():
            return
        for warm in (True, False):  # the first round allocates buffers
            world.barrier().wait()
            self._still()
            begin, works = now(), []
            for call, ask in zip(replayed, requests, strict=True):
                assert ask is not None
                works.append((call, now(), ask()))
            rows = [(call, requested_ns, self._end(work)) for call, requested_ns, work in works]
            self._still()
            end = now()
            if not warm:
                self._tell(rows, end - begin)

    def _tell(self, rows: list[tuple[Call, int, int | None]], whole: int) -> None:
        calls = self._attached.calls
        for call, begin, end in rows:
            again = replace(call, number=calls.next_number(call.group), step=None, begin=begin, end=end, blocked=None)
            self._recorder.collective(again, "replay", "host")
        self._recorder.communicated("replay", total=whole, nbytes=sum(call.nbytes for call, _, _ in rows))

    def _end(self, work: Any) -> int | None:
        work.wait()
        return None if self._cuda else self._recorder.now()  # on a GPU the call is only enqueued

    def _still(self) -> None:
        if self._cuda:
            self._torch.cuda.synchronize()

    def _asking(self, call: Call) -> Callable[[], Any] | None:
        """A function that requests the same call again, with the same size and type; None if it cannot be replayed."""
        torch, distributed = self._torch, self._torch.distributed
        dtype = getattr(torch, call.dtype, None)
        if not isinstance(dtype, torch.dtype):
            return None
        group = distributed.distributed_c10d._resolve_process_group(call.group)
        elements = call.nbytes // torch.empty(0, dtype=dtype).element_size()

        def tensor(count: int) -> Any:
            return torch.zeros(count, dtype=dtype, device="cuda" if self._cuda else "cpu")

        whole = tensor(elements)
        if call.op == "all_reduce":
            return lambda: group.allreduce([whole], distributed.AllreduceOptions())
        if call.op == "broadcast":
            return lambda: group.broadcast([whole], distributed.BroadcastOptions())
        part = tensor(elements // max(call.size, 1))
        if call.op == "all_gather":
            return lambda: group._allgather_base(whole, part)
        if call.op == "reduce_scatter":
            return lambda: group._reduce_scatter_base(part, whole, distributed.ReduceScatterOptions())
        return None
