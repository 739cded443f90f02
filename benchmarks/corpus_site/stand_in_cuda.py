"""What if a script insists on CUDA and there is none?  "cuda" is this machine's processor, "nccl" is gloo; for `corpus.py` alone.

Only what takes a device is told another one.  `torch.cuda.is_available()` stays False.
"""

import functools


def elsewhere(torch, value):
    """The processor instead of a GPU; anything else as it is."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    return "cpu" if isinstance(value, str) and value.startswith("cuda") else value


def install(torch):
    """Put it into torch, which has just been imported."""
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel as Parallel

    torch.cuda.set_device = lambda _device: None
    torch.cuda.current_device = lambda: 0
    torch.cuda.synchronize = lambda _device=None: None
    torch.cuda.device_count = lambda: 2
    for holder, names in (
        (torch.Tensor, ("to", "cuda", "pin_memory")),
        (torch.nn.Module, ("to", "cuda")),
        (torch, ("tensor", "zeros", "ones", "empty", "full", "arange", "rand", "randn", "randint", "load")),
    ):
        for name in names:
            setattr(holder, name, moved(torch, getattr(holder, name), name))
    start, wrap, cast = (torch.distributed.init_process_group, Parallel.__init__, torch.amp.autocast_mode.autocast.__init__)

    @functools.wraps(start)
    def started(backend=None, *arguments, device_id=None, **keywords):
        return start("gloo" if backend == "nccl" else backend, *arguments, **keywords)

    @functools.wraps(wrap)
    def wrapped(self, module, device_ids=None, output_device=None, *arguments, **keywords):
        return wrap(self, module, None, None, *arguments, **keywords)

    @functools.wraps(cast)
    def casting(self, device_type, *arguments, **keywords):
        return cast(self, elsewhere(torch, device_type), *arguments, **keywords)

    torch.distributed.init_process_group, Parallel.__init__, torch.amp.autocast_mode.autocast.__init__ = (started, wrapped, casting)


def moved(torch, inner, name):
    """The same function, whose devices are the processor."""
    if name in ("cuda", "pin_memory"):
        return lambda self, *_arguments, **_keywords: self
    method = name == "to"

    @functools.wraps(inner)
    def outer(*arguments, **keywords):
        first = arguments[:1]
        if method and type(arguments[1] if len(arguments) > 1 else keywords.get("device")) is int:
            return first[0]  # the number of a GPU
        keywords = {key: elsewhere(torch, value) for key, value in keywords.items()}
        if type(keywords.get("device")) is int:
            keywords["device"] = "cpu"
        return inner(*first, *(elsewhere(torch, value) for value in arguments[1:]), **keywords)

    return outer
