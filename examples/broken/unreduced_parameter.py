"""Broken on purpose: one parameter is left out of the averaging of gradients, so that every worker trains its own.

DistributedDataParallel can be told to ignore parameters; it also skips one that is not used in the pass that synchronises
(pytorch issue 69031).
What must be found: the gradient of this parameter alone differs between the workers.
"""

import digits
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """The model; the bias of its last layer is nobody's business."""
    torch.manual_seed(seed)
    model = digits.train.network().to(device)
    (last,) = [f"{name}.bias" for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, [last])
    return DistributedDataParallel(model)


digits.train.build = build
digits.train.main()
