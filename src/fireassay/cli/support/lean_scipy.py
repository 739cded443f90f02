"""How do we avoid the tenth of a second that scipy's special functions cost because they import numpy's Fortran compiler?

`scipy.special` copies all public names of numpy, and numpy imports some modules when their name is first read: `numpy.f2py`, which
loads an encoding detector, and `numpy.testing`, which loads unittest.  While it is imported, those names hold None.  Not for a process
that runs user code.
"""

from __future__ import annotations

import sys
from typing import Final

UNUSED: Final = ("f2py", "testing")


def import_special() -> None:
    """Import `scipy.special` without them; numpy imports them for whoever asks later. Does nothing if it is already imported."""
    if "scipy.special" in sys.modules:
        return
    import numpy as np

    hidden = [name for name in UNUSED if name not in vars(np)]
    for name in hidden:
        setattr(np, name, None)
    try:
        import scipy.special  # noqa: F401
    finally:
        for name in hidden:
            if vars(np)[name] is None:  # somebody else may have imported it meanwhile
                delattr(np, name)
