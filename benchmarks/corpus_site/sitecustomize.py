"""What do the weights of an unmodified script hash to when it ends, and how often did its optimizers step?  The witness of `corpus.py`.

Python runs this file before the script, in the plain run and in the attached one alike, so that both differ in assay alone.  It fixes what
a script leaves to chance (`random`, NumPy; torch has a fixed seed by itself), counts with torch's own global hooks, and writes one JSON
file per process when it ends.  Nothing is drawn, copied or changed; optimizers, parameters and buffers are kept alive until the end.

Cannot tell: a process that ends by `os._exit` or a signal, such as a forked worker.
"""

import atexit
import hashlib
import importlib.abc
import json
import os
import random
import sys
from importlib.machinery import PathFinder
from pathlib import Path

OPTIMIZERS = {}  # id -> [optimizer, steps]
PARAMETERS, BUFFERS = {}, {}  # id -> tensor
COUNTS = {"saves": 0, "loads": 0}


class After(importlib.abc.MetaPathFinder):
    """Calls a function once a module has been executed; asking for its specification changes nothing."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path, target=None):
        if name != self.name or self not in sys.meta_path:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def executed(module):
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.then(module)

        spec.loader.exec_module = executed
        return spec


def watch(torch):
    """Count steps and files, and keep what is trained."""
    from torch.nn.modules.module import register_module_buffer_registration_hook, register_module_parameter_registration_hook
    from torch.optim.optimizer import register_optimizer_step_post_hook

    torch.manual_seed(1000 + int(os.environ.get("RANK", "0")))  # an unseeded script would differ from run to run
    for stand_in in os.environ.get("CORPUS_STAND_INS", "").split():
        __import__(f"stand_in_{stand_in}").install(torch)

    def stepped(optimizer, _arguments, _keywords):
        OPTIMIZERS.setdefault(id(optimizer), [optimizer, 0])[1] += 1

    def parameter(_module, _name, tensor):
        if tensor is not None:
            PARAMETERS[id(tensor)] = tensor

    def buffer(_module, _name, tensor):
        if tensor is not None:
            BUFFERS[id(tensor)] = tensor

    register_optimizer_step_post_hook(stepped)
    register_module_parameter_registration_hook(parameter)
    register_module_buffer_registration_hook(buffer)
    for name, count in (("_save", "saves"), ("_load", "loads")):
        counted(torch.serialization, name, count)


def counted(module, name, count):
    """The function, and how often it was called."""
    inner = getattr(module, name)

    def outer(*arguments, **keywords):
        COUNTS[count] += 1
        return inner(*arguments, **keywords)

    setattr(module, name, outer)


def digest(torch, tensors):
    """SHA-256 over shapes, types and bytes, in order."""
    made = hashlib.sha256()
    for tensor in tensors:
        local = getattr(tensor, "_local_tensor", tensor)
        if not isinstance(local, torch.Tensor) or local.is_meta or isinstance(local, torch.nn.parameter.UninitializedTensorMixin):
            continue
        if local.is_sparse:
            local = local.to_dense()
        local = local.detach().cpu().contiguous()
        made.update(f"{local.dtype}{tuple(local.shape)}".encode())
        made.update(local.reshape(-1).view(torch.uint8).numpy().tobytes() if local.numel() else b"")
    return made.hexdigest()[:16]


def states(optimizers):
    """Every tensor of the optimizers' states, in a fixed order."""
    for optimizer in optimizers:
        for state in optimizer.state.values():
            yield from (value for _, value in sorted(state.items(), key=lambda one: str(one[0])) if hasattr(value, "dtype"))


def testify():
    """Write what is left at the end."""
    torch = sys.modules.get("torch")
    folder = os.environ.get("CORPUS_OUT")
    if torch is None or not folder or os.getpid() != PID or not (OPTIMIZERS or PARAMETERS):
        return
    optimizers = [one for one, _ in OPTIMIZERS.values()]
    held = [tensor for one in optimizers for group in one.param_groups for tensor in group["params"]]
    with torch._C._DisableTorchDispatch() if hasattr(torch._C, "_DisableTorchDispatch") else torch.no_grad():
        said = {
            "launch": int(os.environ.get("FIREASSAY_LAUNCH", "-1")),
            "rank": int(os.environ.get("RANK", "0")),
            "steps": [[type(one).__name__, count] for one, count in OPTIMIZERS.values()],
            "weights": digest(torch, held or PARAMETERS.values()),
            "state": digest(torch, states(optimizers)),
            "buffers": digest(torch, BUFFERS.values()),
            "trained": bool(held),
            "tensors": len(held or PARAMETERS),
            **COUNTS,
        }
    Path(folder, f"{said['launch']}-{said['rank']}-{PID}.json").write_text(json.dumps(said))


PID = os.getpid()
if "CORPUS_OUT" in os.environ:
    random.seed(1000 + int(os.environ.get("RANK", "0")))
    sys.meta_path[:0] = [After("torch", watch), After("numpy", lambda numpy: numpy.random.seed(1000 + int(os.environ.get("RANK", "0"))))]
    atexit.register(testify)
