"""Which tiers does this machine have?  bubblewrap may be missing; the namespaces of our own may not be under CI."""

from __future__ import annotations

import functools
import os
from typing import get_args

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.quality.sandbox.probing import examined
from fireassay.quality.sandbox.tiers import Name, Tier

TIERS: tuple[Name, ...] = get_args(Name)
examined_once = functools.cache(examined)


def tier(name: Name) -> Tier:
    """A tier, or skip the test."""
    try:
        return examined_once(name)
    except EnvironmentLacks as lack:
        if name == "unshare" and os.environ.get("CI") == "true":
            raise
        pytest.skip(str(lack))
