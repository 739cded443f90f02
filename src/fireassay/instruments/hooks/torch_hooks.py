"""Where do we patch torch to measure an unmodified script, and how is it restored?

| patched | records | does not cover |
|---|---|---|
| `_BaseDataLoaderIter.__next__`, `__init__`, `_reset` | waiting for a batch, its samples, the epoch | iterators other than DataLoader |
| `nn.Module.__call__`, later of some classes (`outermost_modules`) | the outermost module's call, the loss too | functions, compiled code |
| `autograd.graph._engine_run_backward` | every backward pass, with DDP's reduction | |
| optimizer hooks, `Optimizer.__init__`, `GradScaler.step`, `.scale` | every step, also a skipped one | optimizers outside torch |

Only the main thread is measured: recomputing activations in a backward thread is part of that backward pass. Under torch.compile
`is_compiling` is constant, so no measuring code is traced into a graph and no graph breaks for it.
Source: torch 2.13; each limit has a test with a script of its kind.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from fireassay.instruments.hooks import checkpoints, parallelism, process_groups
from fireassay.instruments.hooks.collective_calls import Calls
from fireassay.instruments.hooks.exposed_communication import ExposedCommunication
from fireassay.instruments.hooks.sample_sources import tap
from fireassay.instruments.hooks.steps import Attached
from fireassay.steps.events import LOST

Undo = Callable[[], None]


class Observer(Protocol):
    """Observes backward passes and collectives."""

    communication: ExposedCommunication
    calls: Calls

    @property
    def active(self) -> bool:
        """True if anything is recorded."""

    def shielded(self, call: Callable[..., None], *arguments: Any) -> bool:
        """Run a hook's work; whether it succeeded."""

    def backward(self, roots: Any, accumulates: bool) -> bool:
        """Gradients are requested; whether their end is recorded too."""

    def backwarded(self) -> None:
        """The gradients are ready."""


def install(torch: Any, attached: Attached, undo: list[Undo]) -> None:
    """Install the hooks; the entries added to `undo` remove them, the last first."""
    for part in (_loaders, _modules, _backward, _optimizers, _scalers, _collectives, checkpoints.install, _ending):
        undo.extend(part(torch, attached))


def install_communication(torch: Any, attached: Observer, undo: list[Undo]) -> None:
    """Install only the hooks for communication, for a script that marks its own steps."""
    for part in (_backward, _collectives):
        undo.extend(part(torch, attached))


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> Undo:
    original = getattr(owner, name)
    replaced = functools.wraps(original)(make(original))
    setattr(owner, name, replaced)

    def undo() -> None:
        if getattr(owner, name, None) is replaced:  # unless other code has patched it since
            setattr(owner, name, original)

    return undo


# ---- data --------------------------------------------------------------------------------------------------------------


def _loaders(torch: Any, attached: Attached) -> list[Undo]:
    iterators = torch.utils.data.dataloader._BaseDataLoaderIter
    return [*_epochs(torch, attached, iterators), *_batches(attached, iterators)]


def _epochs(torch: Any, attached: Attached, iterators: Any) -> list[Undo]:
    """An iterator's epoch and data, and whether its indices are samples."""
    data = torch.utils.data.dataloader
    torch_iterators = (data._SingleProcessDataLoaderIter, data._MultiProcessingDataLoaderIter)

    def opened(iterator: Any, loader: Any) -> None:
        if (before := iterator._assay_source) is not None:  # the iterator restarts and drops its pending batches
            attached.sources.gone(before)
        iterator._assay_source = attached.sources.opened(loader, iterator)
        attached.communication.evidence.opened(loader)

    def begun(iterator: Any) -> None:
        """The iterator is about to request its first indices."""
        iterator._assay_ids = tap(iterator._assay_source, iterator, torchs=type(iterator) in torch_iterators)

    def init(original: Any) -> Any:
        def __init__(self: Any, loader: Any, *arguments: Any, **words: Any) -> None:
            attached.shielded(opened, self, loader)
            attached.outermost.search_again()
            original(self, loader, *arguments, **words)
            attached.shielded(begun, self)

        return __init__

    def reset(original: Any) -> Any:
        def _reset(self: Any, loader: Any, first_iter: bool = False) -> Any:
            if not first_iter:  # the same helper processes continue with another epoch
                attached.shielded(opened, self, loader)
            original(self, loader, first_iter)
            attached.shielded(begun, self)

        return _reset

    return [_replace(iterators, "__init__", init), _replace(iterators, "_reset", reset)]


def _batches(attached: Attached, iterators: Any) -> list[Undo]:
    """Waiting for a batch, and its samples."""
    main, current = threading.main_thread().ident, threading.get_ident

    def lost(iterator: Any) -> None:
        if (source := iterator._assay_source) is not None:
            source.indexed = False  # from here on its samples are unknown
            attached.append((LOST, attached.now(), source))
            iterator._assay_ids = tap(source, iterator, torchs=False)

    def following(original: Any) -> Any:
        def __next__(self: Any) -> Any:
            if not attached.active or current() != main:
                attached.shielded(lost, self)
                return original(self)
            try:
                attached.ask()
            except Exception as error:
                attached.failed(error)
            inside, attached.inside = attached.inside, "data"  # modules that transform samples are no forward pass
            try:
                batch = original(self)
            except StopIteration:
                attached.shielded(attached.ran_out, self)
                raise
            except BaseException:
                attached.shielded(attached.skipped, self)
                raise
            finally:
                attached.inside = inside
            try:
                attached.batch_ready(self, batch)
            except Exception as error:
                attached.failed(error)
            return batch

        return __next__

    iterators._assay_source = None  # of an iterator that was made before the hooks

    def undo() -> None:
        del iterators._assay_source

    return [undo, _replace(iterators, "__next__", following)]


# ---- passes ------------------------------------------------------------------------------------------------------------


def _modules(_: Any, attached: Attached) -> list[Undo]:
    attached.outermost.start()
    return [attached.outermost.stop]


def _backward(torch: Any, attached: Observer) -> list[Undo]:
    compiler = torch.compiler
    main, current, is_compiling = threading.main_thread().ident, threading.get_ident, compiler.is_compiling
    # cheaper than `is_compiling`: a constant under torch.compile, and the flag of an export
    is_traced = getattr(compiler, "is_dynamo_compiling", is_compiling)

    def running(original: Any) -> Any:
        def _engine_run_backward(roots: Any, *arguments: Any, **words: Any) -> Any:
            if is_traced() or not attached.active or getattr(compiler, "_is_compiling_flag", False) or current() != main:
                return original(roots, *arguments, **words)
            begun = attached.backward(roots, words.get("accumulate_grad", False))
            try:
                return original(roots, *arguments, **words)
            finally:
                if begun:
                    attached.backwarded()

        return _engine_run_backward

    engine_run = torch.autograd.graph._engine_run_backward
    undo = _replace(torch.autograd.graph, "_engine_run_backward", running)
    replaced = torch.autograd.graph._engine_run_backward
    torch.autograd._engine_run_backward = replaced  # the same function under a second name

    def undo_second() -> None:
        if torch.autograd._engine_run_backward is replaced:
            torch.autograd._engine_run_backward = engine_run

    return [undo, undo_second]


# ---- optimizers --------------------------------------------------------------------------------------------------------


def _optimizers(torch: Any, attached: Attached) -> list[Undo]:
    optimizers, updates = importlib.import_module("torch.optim.optimizer"), attached.optimizer_hooks  # the package hides it

    def init(original: Any) -> Any:
        def __init__(self: Any, *arguments: Any, **words: Any) -> None:
            original(self, *arguments, **words)
            attached.shielded(updates.made, self)

        return __init__

    hooks = (optimizers.register_optimizer_step_pre_hook(updates.step), optimizers.register_optimizer_step_post_hook(updates.stepped))
    return [*(hook.remove for hook in hooks), _replace(optimizers.Optimizer, "__init__", init)]


def _scalers(torch: Any, attached: Attached) -> list[Undo]:
    """A step that the scaler skips is still a step, and its loss is the unscaled one."""
    scaler = torch.amp.GradScaler

    def stepping(original: Any) -> Any:
        def step(self: Any, optimizer: Any, *arguments: Any, **words: Any) -> Any:
            if not attached.active or not self.is_enabled():
                return original(self, optimizer, *arguments, **words)
            attached.shielded(attached.step, optimizer)
            try:
                return original(self, optimizer, *arguments, **words)
            finally:
                attached.shielded(attached.stepped, optimizer)

        return step

    def scaling(original: Any) -> Any:
        def scale(self: Any, outputs: Any) -> Any:
            scaled = original(self, outputs)
            if scaled is not outputs and isinstance(scaled, torch.Tensor):
                scaled._assay_unscaled, attached.passes.scales = outputs, True
            return scaled

        return scale

    return [_replace(scaler, "step", stepping), _replace(scaler, "scale", scaling)]


# ---- collectives -------------------------------------------------------------------------------------------------------


# Each model's timed group, while the model lives: the reducer does not keep the group's Python part alive, but calls it even after the
# hooks are removed.
_TIMED: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _collectives(torch: Any, attached: Observer) -> list[Undo]:
    distributed = torch.distributed
    if not distributed.is_available():
        return []

    def given(words: dict[str, Any]) -> None:
        words["process_group"] = process_groups.timed_group(torch, distributed.group.WORLD, attached.calls)

    def kept(model: Any, group: Any) -> None:
        """Restore the model's own group for other readers, now that its reducer has ours.

        Copies, pickles and `Join` accept only groups made by torch, and end the training with any other.
        """
        _TIMED[model], model.process_group = group, distributed.group.WORLD

    def init(original: Any) -> Any:
        def __init__(self: Any, module: Any, *arguments: Any, **words: Any) -> None:
            default_group = words.get("process_group") is None and words.get("device_mesh") is None and len(arguments) < 5
            if default_group and distributed.is_initialized():  # otherwise let DDP raise its own error
                attached.shielded(given, words)
            original(self, module, *arguments, **words)
            if default_group and words.get("process_group") is not None:
                attached.shielded(kept, self, words["process_group"])
                attached.shielded(attached.communication.watched_steps.add, self, words["process_group"])
            attached.shielded(attached.communication.reduces, self)

        return __init__

    def wait(original: Any) -> Any:
        def wait(self: Any, *arguments: Any, **words: Any) -> Any:
            begin = attached.calls.now()
            done = original(self, *arguments, **words)
            if threading.current_thread() is threading.main_thread():
                attached.communication.waited(attached.calls.now() - begin)
            return done

        return wait

    sending = parallelism.point_to_point(torch, attached.communication.evidence, lambda: attached.calls.step)
    asking = process_groups.functions(torch, attached.calls)
    replaced = [_replace_function(torch, name, make) for name, make in (*asking, *sending)]
    return [
        *replaced,
        *_waiting(torch, attached),
        _replace(torch.nn.parallel.DistributedDataParallel, "__init__", init),
        _replace(distributed.Work, "wait", wait),
    ]


def _replace_function(torch: Any, name: str, make: Callable[[Any], Any]) -> Undo:
    """Patch a function under both of its names, and in torch.compile's table, which identifies traceable collectives by identity."""
    modules = (torch.distributed, torch.distributed.distributed_c10d)
    original = getattr(torch.distributed, name)
    replaced = functools.wraps(original)(make(original))
    _swap(modules, name, original, replaced)

    def undo() -> None:
        _swap(modules, name, replaced, original)

    return undo


def _swap(modules: Iterable[Any], name: str, old: Any, new: Any) -> None:
    for module in modules:
        if getattr(module, name, None) is old:  # unless other code has patched it since
            setattr(module, name, new)
    traced = getattr(sys.modules.get("torch.distributed._functional_collectives"), "traceable_collective_remaps", {})
    if old in traced:
        traced[new] = traced.pop(old)


def _waiting(torch: Any, attached: Observer) -> list[Undo]:
    """Time DistributedDataParallel's other requests and waits: a script's comm hook, and the broadcast of buffers.

    It broadcasts the model's buffers over the group that it reports as its own.
    """
    calls, parallel = attached.calls, torch.nn.parallel.DistributedDataParallel

    def registering(original: Any) -> Any:
        def register_comm_hook(self: Any, state: Any, hook: Any) -> None:
            @functools.wraps(hook)  # its annotations are checked
            def hooked(*arguments: Any) -> Any:
                calls.waits.asks()
                try:
                    return hook(*arguments)
                finally:
                    calls.waits.asked()

            original(self, state, hooked)

        return register_comm_hook

    def broadcasting(original: Any) -> Any:
        def _distributed_broadcast_coalesced(self: Any, *arguments: Any, **words: Any) -> None:
            if torch.compiler.is_compiling() or calls.unwatched:
                original(self, *arguments, **words)
                return
            begin, group = attached.calls.now(), self.process_group
            timed = _TIMED.get(self)
            swapped = timed is not None and timed._inner is group  # else the script's group, or one set since
            if swapped:
                self.process_group = timed
            try:
                original(self, *arguments, **words)
            finally:
                if swapped and self.process_group is timed:
                    self.process_group = group
            if threading.current_thread() is threading.main_thread():
                calls.waits.waited(attached.calls.now() - begin)

        return _distributed_broadcast_coalesced

    replacements = {"register_comm_hook": registering, "_distributed_broadcast_coalesced": broadcasting}
    return [_replace(parallel, name, make) for name, make in replacements.items() if hasattr(parallel, name)]


def _ending(_: Any, attached: Attached) -> list[Undo]:
    """Register at exit, before the recorder's own handler."""
    import atexit

    atexit.register(attached.close)
    return [lambda: atexit.unregister(attached.close)]
