"""What can a program do with a chart of a record?  Show it in a notebook, or save it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay.api.figure import colour, figure
from fireassay.errors import EnvironmentLacks, RecordError, refuse
from fireassay.printable import printable
from fireassay.reports import fragments as html
from fireassay.reports.writers.support.svg import picture

if TYPE_CHECKING:
    from fireassay.reports.charts import model
    from fireassay.reports.writers.support.svg import Picture

FORMATS: Final = (".svg", ".png")
PNG_SCALE: Final = 2.0


@dataclass(frozen=True)
class Chart:
    """A chart of a record, as on its page, or the reason why there is none.

    >>> import fireassay
    >>> chart = fireassay.open("digits").chart("speedup")
    >>> chart
    Chart('speedup': Do more workers pay?)
    >>> chart.description
    'Speedup: 1 worker 1 (exact); 2 workers 1.70 [1.00, 2.88] (one far out). ...'
    >>> chart.save("speedup.svg")
    PosixPath('speedup.svg')
    """

    _chart: model.Chart = field(repr=False)

    @property
    def name(self) -> str:
        """What it is called."""
        return self._chart.name

    @property
    def title(self) -> str:
        """What the chart shows."""
        return self._chart.title

    @property
    def absent(self) -> str:
        """Why there is no chart; empty if there is one."""
        return self._chart.missing

    @property
    def description(self) -> str:
        """The numbers of the chart in words."""
        return self._chart.description

    @cached_property
    def _picture(self) -> Picture:
        return picture(self._chart)

    @cached_property
    def svg(self) -> str:
        """The chart as an SVG document in the page's light colours.

        Raises:
            RecordError: there is no such chart, with the reason.
        """
        if self.absent:
            raise RecordError(f"there is no chart {self.name!r}: {self.absent}")
        return figure([panel for view in self._picture.views for panel in view.svg])

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the chart as .svg or .png and return the path.

        Raises:
            SpecError: another suffix.
            RecordError: there is no chart, or the file cannot be written.
        """
        target = Path(path)
        if target.suffix not in FORMATS:
            raise refuse("path", str(target), f"a name that ends with {' or '.join(FORMATS)}", source="the chart")
        svg = self.svg
        try:
            target.write_bytes(_png(svg) if target.suffix == ".png" else svg.encode())
        except OSError as error:
            raise RecordError(f"cannot write {target}: {error.strerror}. Choose another path.") from error
        return target

    def __repr__(self) -> str:
        return printable(f"Chart({self.name!r}: {self.title})")

    def _repr_svg_(self) -> str | None:
        return None if self.absent else self.svg

    def _repr_html_(self) -> str:
        if self.absent:
            return html.paragraph(self.title, self.absent)
        picture = self._picture
        key = " ".join(f'<span style="color:{colour(entry.role)}">&#9632;</span>&nbsp;{html.text(entry.text)}' for entry in self._chart.key)
        words = f"<b>{html.text(self.title)}</b><br>{key}<br>{html.text(picture.caption)}"
        return f'<figure style="max-width:36em;margin:0">{self.svg}<figcaption>{words}</figcaption></figure>'


def _png(svg: str) -> bytes:
    try:
        import vl_convert
    except ImportError as error:
        raise EnvironmentLacks("saving a chart as .png needs vl-convert: pip install 'fireassay[png]'. Or save it as .svg.") from error
    return bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
