"""How do models in folders differ from a reference, at every token of given texts?  Computed in a process of its own.

    python -m fireassay.runners.evaluating.forced_process JOB OUT

JOB (JSON): the targets, the first of which is the reference, the load's model, the texts.  OUT: one JSON line for each text of each side.
Two models at a time are loaded, and both read every text again for every side, so that no logits are kept.  Side 0 is the floor: the
reference against itself in bfloat16; if it is in bfloat16, in float32.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import WorkloadError
from fireassay.spec.sections.serving import Target

if TYPE_CHECKING:
    from fireassay.instruments.calls.generation import Generator

COARSE: Final = "bfloat16"
FINE: Final = "float32"


def main(job: Path, out: Path) -> int:
    """Write all sides."""
    told, parent = json.loads(job.read_text(encoding="utf-8")), os.getppid()
    targets = [Target.model_validate(target) for target in told["targets"]]
    with out.open("w", encoding="utf-8") as lines:
        for row in sides(targets, told["model"], told["texts"]):
            if os.getppid() != parent:
                return 1  # nobody reads it
            lines.write(f"{json.dumps(row)}\n")
    return 0


def sides(targets: Sequence[Target], model: str, texts: Sequence[tuple[str, str]]) -> Iterator[Mapping[str, Any]]:
    """One row for each text of each side."""
    from fireassay.traffic.backends.process import folder_of, load

    reference = load(folder_of(targets[0], model), targets[0])
    for side, target in enumerate(targets):
        dtype = (FINE if reference.dtype == COARSE else COARSE) if side == 0 else ""
        yield from _side(side, reference, load(folder_of(target, model), target, dtype), texts)


def _side(side: int, reference: Generator, candidate: Generator, texts: Sequence[tuple[str, str]]) -> Iterator[Mapping[str, Any]]:
    from fireassay.instruments.calls.divergence import compare_one

    for index, (context, continuation) in enumerate(texts):
        try:
            found = compare_one(reference, candidate, context, continuation)
        except WorkloadError as error:
            yield {"side": side, "text": index, "error": str(error)}
            continue
        yield {
            "side": side,
            "text": index,
            "kl": found.kl.tolist(),
            "same_top": found.agree.astype(int).tolist(),
            "reference_logprob": (-found.reference_nll).tolist(),
            "logprob": (-found.candidate_nll).tolist(),
        }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
