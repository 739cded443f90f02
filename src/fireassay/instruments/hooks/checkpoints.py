"""When does an unmodified script save and load checkpoints?

Hooks around the functions that write and read state:

| hooked | counts as a checkpoint |
|---|---|
| `torch.save`, `safetensors.torch.save_file` | if it holds tensors with the shapes of at least half of the trained ones |
| `torch.distributed.checkpoint.save`, `.async_save`, `.load` | always |
| `torch.load`, `safetensors.torch.load_file` | if the result is passed to a `load_state_dict` |
| `nn.Module.load_state_dict`, `Optimizer.load_state_dict` | if a file was read for it |

Saving and loading are pauses of the current step. Files written after the same step are one checkpoint. A save in another thread is no
pause: training continues meanwhile. Other files (samples, metrics, a replay buffer) do not count, nor does a `load_state_dict` from
memory (a target network, an average).
Cannot see: state written otherwise (`pickle`, numpy, another library), nor when an asynchronous save has reached the disk.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fireassay.instruments.fingerprints import model_hash
from fireassay.instruments.hooks.import_hook import when_there

if TYPE_CHECKING:
    from fireassay.instruments.hooks.steps import Attached

Undo = Callable[[], None]
MAX_OBJECTS: Final = 20_000  # objects inspected in a saved or loaded state
READS: Final = 16  # files remembered
HALF: Final = 0.5
DCP: Final = "torch.distributed.checkpoint"


@dataclass(eq=False, slots=True)
class Read:
    """A file that was read, until the next step ends."""

    file: str
    begin: int
    ns: int
    step: int
    addresses: frozenset[int]  # of its tensors
    used: bool = field(default=False)


class Checkpoints:
    """Reports saved and loaded checkpoints to the recorder."""

    def __init__(self, torch: Any, attached: Attached) -> None:
        self._torch, self._attached = torch, attached
        self._recorder = attached.recorder
        self._reads: deque[Read] = deque(maxlen=READS)

    # ---- saving

    def saving(self, original: Any, thing: str, file: str) -> Any:
        """Wrap a function that saves its first argument, `thing`, to its second, `file`; both may be keywords."""

        def save(*arguments: Any, **words: Any) -> Any:
            if self._nested() or not self._shielded(self._is_state, _given(arguments, words, 0, thing)):
                return original(*arguments, **words)
            files = _files(_given(arguments, words, 1, file))
            if threading.current_thread() is not threading.main_thread():
                if not files:  # part of what another library writes
                    return original(*arguments, **words)
                return self._in_parallel(original, arguments, words, files)
            return self._paused("checkpoint_save", files, original, arguments, words)

        return functools.wraps(original)(save)

    def _is_state(self, thing: Any) -> bool:
        """True if it holds the training state."""
        watch = self._recorder.model.current
        if watch is None:
            return False
        trained = [tensor for tensor in watch.model.parameters() if tensor.requires_grad]
        shapes, flat = {tuple(tensor.shape) for tensor in trained}, model_hash.is_flat(watch.model)
        elements = sum(tensor.numel() for tensor in self._tensors(thing) if flat or tuple(tensor.shape) in shapes)
        return bool(elements and elements >= HALF * sum(tensor.numel() for tensor in trained))

    def _in_parallel(self, original: Any, arguments: Any, words: Any, files: list[str]) -> Any:
        begin = self._attached.now()
        done = original(*arguments, **words)
        self._shielded(self._recorder.saved, begin, self._attached.now() - begin, {"files": files, "beside": True}, beside=True)
        return done

    # ---- loading

    def reading(self, original: Any, file: str) -> Any:
        """Wrap a function that reads its first argument, `file`, which may be a keyword."""

        def read(*arguments: Any, **words: Any) -> Any:
            if self._nested() or threading.current_thread() is not threading.main_thread():
                return original(*arguments, **words)
            begin = self._attached.now()
            content = original(*arguments, **words)
            self._shielded(self._has_read, _given(arguments, words, 0, file), content, begin)
            return content

        return functools.wraps(original)(read)

    def _has_read(self, file: Any, content: Any, begin: int) -> None:
        addresses = frozenset(_address(tensor) for tensor in self._tensors(content))
        named = (_files(file) or [""])[0]
        if addresses:
            spent = self._attached.now() - begin
            self._reads.append(Read(named, begin, spent, self._recorder.step_number, addresses))

    def loading(self, original: Any) -> Any:
        """Wrap `load_state_dict` of a module or an optimizer."""

        def load_state_dict(*arguments: Any, **words: Any) -> Any:
            state = _given(arguments, words, 1, "state_dict")
            reads = [] if self._nested() else self._shielded(self._read_for, state) or []
            if not reads:
                return original(*arguments, **words)
            if reads[0].used is False:
                self._shielded(self._account, reads)
            files = sorted({read.file for read in reads if read.file})
            return self._paused("checkpoint_load", files, original, arguments, words)

        return functools.wraps(original)(load_state_dict)

    def _read_for(self, state: Any) -> list[Read]:
        """The files that this state was read from: by its tensors' addresses, else those not used yet."""
        if threading.current_thread() is not threading.main_thread():
            return []
        step = self._recorder.step_number
        fresh = [read for read in self._reads if read.step == step]
        self._reads = deque(fresh, maxlen=READS)
        addresses = {_address(tensor) for tensor in self._tensors(state)} - {0}
        return [read for read in fresh if read.addresses & addresses] or [read for read in fresh if not read.used]

    def _account(self, reads: list[Read]) -> None:
        """Exclude the read from training time, if it happened in the current step."""
        for read in reads:
            read.used = True
            if self._attached.begun and read.begin >= self._recorder.begin_ns:
                self._recorder.set_aside("checkpoint_load", read.begin, read.ns, {"files": [read.file]})

    # ---- both

    def whole(self, original: Any, kind: str) -> Any:
        """Wrap a function whose every call is a checkpoint, on every rank."""

        def called(*arguments: Any, **words: Any) -> Any:
            if self._nested() or threading.current_thread() is not threading.main_thread():
                return original(*arguments, **words)
            path = words.get("checkpoint_id")
            path = path or getattr(words.get("storage_writer") or words.get("storage_reader"), "path", None)
            return self._paused(kind, _files(path), original, arguments, words)

        return functools.wraps(original)(called)

    def _paused(self, kind: str, files: list[str], original: Any, arguments: Any, words: Any) -> Any:
        """Make the call a pause of the training."""
        attached, succeeded = self._attached, False
        begin = attached.pause(kind)
        try:
            done = original(*arguments, **words)
            succeeded = True
            return done
        finally:
            attached.resume(kind, begin, succeeded, {"files": files} if files else {})

    def _nested(self) -> bool:
        """True if we are inside a checkpoint or another part marked as not training."""
        return not self._recorder.active or bool(self._attached.pausing)

    def _shielded(self, call: Callable[..., Any], *arguments: Any, **words: Any) -> Any:
        try:
            return call(*arguments, **words)
        except Exception as error:
            self._attached.failed(error)
            return None

    def _tensors(self, thing: Any) -> Iterator[Any]:
        """The tensors of a saved or loaded object, found without calling the script's code."""
        waiting, examined = [thing], 0
        while waiting and examined < MAX_OBJECTS:
            item, examined = waiting.pop(), examined + 1
            if isinstance(item, self._torch.Tensor):
                yield item
            elif isinstance(item, self._torch.nn.Module):
                yield from item.parameters()
            elif isinstance(item, Mapping):
                waiting.extend(item.values())
            elif isinstance(item, list | tuple):
                waiting.extend(item)


def install(torch: Any, attached: Attached) -> list[Undo]:
    """Install the hooks."""
    checkpoints, undo = Checkpoints(torch, attached), list[Undo]()

    def replace(owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return
        replaced = wrap(original)
        setattr(owner, name, replaced)
        undo.append(lambda: setattr(owner, name, original) if getattr(owner, name, None) is replaced else None)

    for owner in (torch, torch.serialization):
        replace(owner, "save", lambda function: checkpoints.saving(function, "obj", "f"))
        replace(owner, "load", lambda function: checkpoints.reading(function, "f"))
    replace(torch.nn.Module, "load_state_dict", checkpoints.loading)
    replace(torch.optim.Optimizer, "load_state_dict", checkpoints.loading)

    def distributed(module: Any) -> None:
        for name in ("save", "async_save"):
            replace(module, name, lambda function: checkpoints.whole(function, "checkpoint_save"))
        replace(module, "load", lambda function: checkpoints.whole(function, "checkpoint_load"))

    def safetensors(module: Any) -> None:
        replace(module, "save_file", lambda function: checkpoints.saving(function, "tensors", "filename"))
        replace(module, "load_file", lambda function: checkpoints.reading(function, "filename"))

    when_there(distributed, name=DCP)
    when_there(safetensors, name="safetensors.torch")

    def take_out() -> None:
        while undo:
            undo.pop()()

    return [take_out]


def _given(arguments: tuple[Any, ...], words: Mapping[str, Any], index: int, name: str) -> Any:
    """An argument, positional or by keyword."""
    return arguments[index] if index < len(arguments) else words.get(name)


def _address(tensor: Any) -> int:
    """The address of its elements; 0 without one (meta, sparse, sharded)."""
    try:
        return int(tensor.data_ptr())
    except (RuntimeError, NotImplementedError):
        return 0


def _files(file: Any) -> list[str]:
    """The file name in an argument: relative to the working directory if inside it."""
    named = file if isinstance(file, str | os.PathLike) else getattr(file, "name", None)
    if not isinstance(named, str | os.PathLike) or not (text := os.fspath(named)) or not isinstance(text, str):
        return []
    within = os.path.relpath(text)
    return [text if within.startswith(os.pardir) else within]
