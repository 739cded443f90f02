"""A job with a knob that makes it faster, one that trades quality for nothing, and one that does less work.

knobs.py BATCH SLOPPY LESS
"""

from __future__ import annotations

import sys
import time

from fireassay import probe

ITEMS, EXAMPLES = 64, 400


def main(batch: int, sloppy: str, less: int) -> None:
    with probe.start() as p:
        for _ in p.steps(range((ITEMS - less) // batch)):
            time.sleep(0.030)  # a step costs the same, however large it is; what a busy machine adds is small beside it
            p.log(loss=1.0, items=batch)
        wrong = 80 if sloppy == "yes" else 0
        p.examples([str(i) for i in range(EXAMPLES)], [0.0 if i < wrong else 1.0 for i in range(EXAMPLES)])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
