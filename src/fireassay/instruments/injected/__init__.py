"""How does assay get into an unmodified script?

This folder is put first on PYTHONPATH; Python runs its `sitecustomize`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def into(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a launch whose workers' steps are recorded."""
    folder, before = str(Path(__file__).resolve().parent), environment.get("PYTHONPATH", "")
    path = os.pathsep.join(part for part in (folder, before) if part)
    return {**environment, "FIREASSAY_ATTACH": "1", "PYTHONPATH": path}
