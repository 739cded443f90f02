"""What if a script asks for two accelerators of any kind?  The processor says that it is eight of them; for `corpus.py` alone."""

import contextlib


def install(torch):
    """Put it into torch, which has just been imported."""
    import torch.distributed

    start = torch.distributed.init_process_group
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

    torch.Tensor.to, torch.nn.Module.to = to(0), to(1)
    torch.distributed.init_process_group = started
