"""Runs or resumes an experiment in a process of its own, which can be killed. The verdict is not asked for.

coordinator.py run ROOT FOLDER EXPERIMENT_JSON
coordinator.py resume RECORD
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fireassay.errors import AssayError
from fireassay.runners.experiment.run import resume, run
from fireassay.spec.load import from_mapping


def main(words: list[str]) -> int:
    try:
        if words[0] == "resume":
            resume(Path(words[1]))
        else:
            run(from_mapping(json.loads(words[3])), folder=Path(words[2]), root=Path(words[1]))
    except AssayError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
