"""What goes into a LaTeX paper?  The results section as paragraphs and one table; needs no package.

Everything from the record is untrusted text: every character that TeX interprets is escaped, so that a name that looks
like a command stays a name.
"""

from __future__ import annotations

from typing import Final

from assay.reports.base import Report
from assay.reports.prose import Section, Table, results_section
from assay.reports.view import View

_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"$<$",
        ">": r"$>$",
        "|": r"$|$",
        '"': "''",
        "−": r"$-$",
        "×": r"$\times$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "µ": r"$\mu$",
        "μ": r"$\mu$",
        "–": "--",
        "±": r"$\pm$",
        "∞": r"$\infty$",
        "\n": " ",
        "\r": " ",
        "[": "{[}",
        "]": "{]}",
    }
)


def render(view: View) -> str:
    """The results section, from admissible numbers only (`assay.reports.prose`)."""
    head = f"% made by assay {tex(view.assay_version)} from record {tex(view.record)}; do not edit numbers by hand"
    return "\n\n".join([head, *(_section(section) for section in results_section(view))]) + "\n"


def tex(text: str) -> str:
    """Text from elsewhere with everything escaped that TeX would interpret; what plain TeX cannot set becomes a question mark."""
    escaped = (piece.translate(_ESCAPES) for piece in text)
    return "".join(piece if piece.isascii() and (piece.isprintable() or piece == " ") else "?" for piece in escaped)


def _section(section: Section) -> str:
    text = f"\\paragraph{{{tex(section.title)}.}}\n" + "\n".join(tex(sentence) for sentence in section.sentences)
    return text if section.table is None else f"{text}\n\n{_table(section.table)}"


def _table(table: Table) -> str:
    lines = [" & ".join(tex(cell) for cell in row) + r" \\" for row in (table.head, *table.rows)]
    return "\n".join(
        (
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{tex(table.caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}",
            r"\hline",
            lines[0],
            r"\hline",
            *lines[1:],
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        )
    )


REPORT = Report(name="latex", suffix=".tex", summary="the written results section, from admissible numbers only, as LaTeX", render=render)
