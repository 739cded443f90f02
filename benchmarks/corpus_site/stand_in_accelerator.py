"""What if a script asks for two accelerators of any kind?  The processor says that it is two of them; for `corpus.py` alone."""

import contextlib


def install(torch):
    """Put it into torch, which has just been imported."""
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel as Parallel

    start, wrap = torch.distributed.init_process_group, Parallel.__init__
    torch.accelerator.is_available = lambda *_arguments, **_keywords: True
    torch.accelerator.device_count = lambda: 2
    torch.accelerator.current_accelerator = lambda *_arguments, **_keywords: torch.device("cpu")
    torch.accelerator.set_device_index = lambda _index: None
    torch.accelerator.device_index = lambda _index: contextlib.nullcontext()
    inner = torch.Tensor.to, torch.nn.Module.to

    def to(which):
        def moved(self, *arguments, **keywords):
            return self if arguments and type(arguments[0]) is int else inner[which](self, *arguments, **keywords)

        return moved

    def started(*arguments, device_id=None, **keywords):
        return start(*arguments, **keywords)

    def wrapped(self, module, device_ids=None, output_device=None, *arguments, **keywords):
        return wrap(self, module, None, None, *arguments, **keywords)

    torch.Tensor.pin_memory = lambda self, *_arguments, **_keywords: self
    torch.Tensor.to, torch.nn.Module.to, Parallel.__init__ = to(0), to(1), wrapped
    torch.distributed.init_process_group = started
