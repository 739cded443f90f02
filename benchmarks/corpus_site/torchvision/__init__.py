"""What if torchvision was built for another torch, as its wheels for CUDA are?  Its Python is used, without its compiled operators.

The real package is looked for behind this folder; where its operators cannot be loaded, the two that it describes to torch are declared
without an implementation, which is enough for data sets, transforms and models.
"""

import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

import torch

_HERE = str(Path(__file__).resolve().parent.parent)
_FOUND = PathFinder.find_spec("torchvision", [entry for entry in sys.path if entry and str(Path(entry).resolve()) != _HERE])
if _FOUND is None:
    raise ModuleNotFoundError("No module named 'torchvision': install it in the benchmark's environment", name="torchvision")
__path__ = list(_FOUND.submodule_search_locations)
__spec__ = _FOUND
__file__ = _FOUND.origin
if not list(Path(__path__[0]).glob("_C*cpu*")):  # no build without CUDA is published under this name
    _DECLARED = torch.library.Library("torchvision", "FRAGMENT")
    for _schema in (
        "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    ):
        with suppress(RuntimeError):  # it was loaded
            _DECLARED.define(_schema)
exec(compile(Path(__file__).read_text(), __file__, "exec"))
