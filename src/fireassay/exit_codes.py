"""What does each exit code of the command line mean?

Separate from `fireassay.errors` because `assay --help` shows the table and must load nothing else.
"""

from __future__ import annotations

NO_GAIN = 9
DEFECT = 70  # EX_SOFTWARE of sysexits.h; an uncaught exception must not look like exit 1, a failed gate
BROKEN_PIPE = 141  # 128 + SIGPIPE, as shells count

EXIT_CODES: dict[int, str] = {
    0: "PASS or GAIN; MEASURED, as nothing was asked; or the command succeeded",
    1: "a gate FAILED on admissible numbers; `assay check`, `assay gate`: a regression",
    2: "bad input: the experiment, a flag or a file is invalid",
    3: "INVALID: an audit found the record inadmissible, or records are not comparable",
    4: "INCONCLUSIVE: the evidence is too small to decide",
    5: "the workload failed: no launch of it succeeded, or nothing was measured on a side",
    6: "the record is missing, foreign, damaged, of a newer format, holds a secret, or cannot be written",
    7: "a required package, tool or permission is missing on this machine",
    8: "`assay check`, `assay gate`: better than the baseline, which may be renewed",
    NO_GAIN: "NO GAIN: keep the base, every larger configuration misses a gate",
    DEFECT: "a defect in assay: the traceback says where",
    130: "interrupted; what was measured is kept and can be resumed",
    BROKEN_PIPE: "the reader of the output closed the pipe early",
}

EXIT_OF_STATUS = {"PASS": 0, "GAIN": 0, "MEASURED": 0, "NO_GAIN": NO_GAIN, "FAIL": 1, "INVALID": 3, "INCONCLUSIVE": 4, "NOT_MEASURED": 4}
# For the help of verbs that judge. PASS, GAIN and MEASURED share code 0; each verb shows the one that answers its question.
WITHOUT_NO_GAIN = {EXIT_OF_STATUS[status]: status for status in ("PASS", "FAIL", "INVALID", "INCONCLUSIVE")}
VERDICTS = {
    0: "GAIN",
    NO_GAIN: "NO_GAIN",
    **{code: status for code, status in WITHOUT_NO_GAIN.items() if code},
}  # only trainings keep a base
