"""What will be sent in a launch, and when?  The schedule from what is asked for and the launch's seed, and nothing else.

Equal on every machine, for any number of client processes, and in the same order for every engine; configurations of one
block share the seed and with it gaps, texts and lengths, as far as they have so many requests.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.traffic import arrivals_streams, arrivals_times
from assay.traffic.arrivals_draws import generator, text_seeds
from assay.traffic.arrivals_file import batch as batch
from assay.traffic.arrivals_file import batches as batches
from assay.traffic.arrivals_file import digest as digest
from assay.traffic.arrivals_file import read as read
from assay.traffic.arrivals_file import write as write
from assay.traffic.arrivals_rows import MAIN, WARM_UP, replaced, rows
from assay.traffic.arrivals_shares import mine as mine
from assay.traffic.arrivals_shares import predecessors as predecessors
from assay.traffic.scenarios import draw, parse
from assay.traffic.schedule import Schedule

if TYPE_CHECKING:
    from assay.spec.plan import Configuration
    from assay.spec.serving import Arrivals, Serving


def build(serving: Serving, configuration: Configuration, seed: int, replicas: int, base: Path) -> Schedule:
    """Everything that is to be sent in a launch with this seed. `base`: the folder against which a trace is resolved."""
    load = _timed(serving.arrivals, configuration, seed)
    tokens_in, tokens_out = draw(parse(configuration.scenario), generator(seed, "lengths"), len(load))
    return replaced(load, tokens_in=tokens_in, tokens_out=tokens_out, seed=text_seeds(seed, "texts", len(load)))


def _timed(arrivals: Arrivals, configuration: Configuration, seed: int) -> Schedule:
    """The requests with what says when they are due."""
    match arrivals.process:
        case "closed":
            return arrivals_streams.closed(arrivals, int(configuration.load or 1))
        case "constant" | "poisson" | "gamma" | "stages" | "server":
            due_ns = arrivals_times.due(arrivals, configuration.load, seed)
            measured = due_ns >= round(arrivals.warm_up_s * arrivals_times.NS)
            return rows(len(due_ns), due_ns=due_ns, phase=np.where(measured, MAIN, WARM_UP))
        case other:
            raise NotImplementedError(other)
