"""Which example do the broken ones break?  `examples/digits/train.py`, loaded from the neighbouring folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "digits"))

import train as train
