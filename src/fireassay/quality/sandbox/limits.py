"""What may untrusted code use?  Processor time decides; the wall clock only catches what neither computes nor ends.

A limit of wall time would move scores with the load of the machine: the share of solved problems of one set fell from 0.40 to 0.23 on
a busy host (evalplus #5).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from fireassay.errors import Problem, refuse_any


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one run, the same for the process of the candidate and that of the test, except for processor time."""

    cpu_s: int = 4  # processor seconds of the candidate with everything that it starts
    test_cpu_s: int = 20  # of the test
    wall_s: float = 20.0  # on an idle machine; grows with the load
    memory_mib: int = 512  # address space of each process
    processes: int = 4  # and threads
    file_mib: int = 4  # all files together, in memory
    output_mib: int = 8  # answers that cross, all together

    def __post_init__(self) -> None:
        wrong = tuple(
            Problem(field.name, repr(getattr(self, field.name)), "a number above 0")
            for field in fields(self)
            if not 0 < getattr(self, field.name) < 2**31
        )
        refuse_any(wrong, "the limits of the sandbox")

    @property
    def signature(self) -> str:
        """ "cpu:4|test_cpu:20|wall:20|...": everything here that moves a verdict."""
        return "|".join(f"{field.name.rpartition('_')[0] or field.name}:{getattr(self, field.name):g}" for field in fields(self))
