"""Tables of LaTeX; the expected cells are those that a reader of the paper sees."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.spec.tables.latex import rows_of
from fireassay.spec.timings import parse_timings

PAPER = r"""
\begin{table}[t]
\caption{Strong scaling, 1\,000 \& more.}
\begin{tabularx}{\textwidth}{l S[table-format=2.1] r}
\toprule
\multicolumn{2}{c}{System} & \multicolumn{2}{c}{Result} \\ \cmidrule(lr){1-2}\cmidrule(lr){3-4}
Nodes & \#GPUs & Time (min) & Top-1 (\%)\textsuperscript{a} \\
\midrule
1 & 8 & \num{1740.5} & \textbf{76.3} \\ % the base & no cell
2 & 16 & 890.2 $\pm$ 3.1 & 76.2 \\[2pt]
\multirow{2}{*}{4} & 32 & $460.0$ & 76.3$^\dagger$ \\
\bottomrule
\end{tabularx}
\end{table}
"""


def test_a_table_of_a_paper_is_read_without_its_commands() -> None:
    timings = parse_timings(PAPER, "t")
    assert [(row.row, row.workers, row.seconds) for row in timings.rows] == [(9, 8, 104430.0), (10, 16, 53412.0), (11, 32, 27600.0)]
    assert [row.scores for row in timings.rows] == [(0.763,), (0.762,), (0.763,)]


def test_rows_without_an_environment_and_on_their_side() -> None:
    rows = "Method & 1 GPU & 2 GPUs & 4 GPUs \\\\ \\hline\nTime (s) & 1\\,000 & 1{,}520 & \\underline{280} \\\\\n"
    assert [(row.workers, row.seconds) for row in parse_timings(rows, "t").rows] == [(1, 1000.0), (2, 1520.0), (4, 280.0)]


def test_escaped_signs_are_no_formatting() -> None:
    rows = rows_of(r"\begin{tabular}{ll}GPUs & \$/h \\ 1 & \$3.50 \\ \end{tabular}", "t")
    assert rows == [(1, ("GPUs", "$/h")), (1, ("1", "$3.50"))]


def test_two_tables_are_refused_and_other_text_is_none() -> None:
    with pytest.raises(SpecError, match="2 tables"):
        rows_of(PAPER * 2, "t")
    assert rows_of("workers,seconds\n1,10\n", "t") is None
    assert rows_of("C:\\\\folder & more\nworkers,seconds\n", "t") is None


@given(st.text(alphabet="&\\{}[]%$ \n12ab", max_size=80), st.booleans())
def test_any_text_gives_rows_or_a_clear_refusal(text: str, formed: bool) -> None:
    with suppress(SpecError):
        rows = rows_of(rf"\begin{{tabular}}{text}" if formed else text, "t")
        assert rows is None or all(len(cells) > 1 for _, cells in rows)
