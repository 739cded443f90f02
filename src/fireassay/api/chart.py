"""What can a program do with a chart of a record?  Show it in a notebook, or save it.

How does a page's chart become one SVG that stands alone: in a notebook, a paper, or as PNG?

The panels are placed below each other, and the page's style, in its light colours, is written into each element: a figure has no
style sheet, and converters know no variables.  Only selectors of one element with its classes are applied, which is what marks use.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay.errors import EnvironmentLacks, RecordError, refuse
from fireassay.printable import printable
from fireassay.reports import fragments as html
from fireassay.reports.writers.support.svg import picture

if TYPE_CHECKING:
    from fireassay.reports.charts import model
    from fireassay.reports.writers.support.svg import Picture

WIDTH: Final = 640
MARGIN: Final = 8
GAP: Final = 12
DROPPED: Final = frozenset({"hit", "halo"})  # for the pointer
OF_PAGE: Final = ("class", "tabindex", "role", "aria-label", "data-k", "href")
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE: Final = re.compile(r"([^{}]+)\{([^{}]*)\}")
_NESTED: Final = re.compile(r"@[^{;]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")  # @media, @keyframes
_SELECTOR: Final = re.compile(r"(svg )?([a-z]*)((?:\.[\w-]+)*)")
_LIGHT: Final = re.compile(r"light-dark\(([^,()]+),[^()]*\)")
_VARIABLE: Final = re.compile(r"var\(--([\w-]+)(?:,[^()]*)?\)")
_PATTERNS: Final = """<defs>
<pattern id="wait" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="5" height="5" fill="{paper}"/><rect width="2.4" height="5" fill="{orange}"/></pattern>
<pattern id="rest" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="4" height="4" fill="{paper}"/><rect width="1.4" height="4" fill="{grey}"/></pattern>
</defs>"""  # noqa: E501

Declarations = dict[str, str]


def figure(panels: Sequence[str]) -> str:
    """The panels of a chart as one SVG document."""
    colours = _rules()[1]
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif"})
    root.append(ET.fromstring(_PATTERNS.format_map(colours)))
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": colours["paper"]})
    y = float(MARGIN)
    for text in panels:
        panel = ET.fromstring(text)
        height = float(panel.get("height", "0"))
        _style(panel, colours)
        panel.attrib |= {"x": str(MARGIN), "y": f"{y:g}", "width": str(WIDTH - 2 * MARGIN), "overflow": "visible"}
        root.append(panel)
        y += height + GAP
    root.attrib |= {"width": str(WIDTH), "height": f"{y:g}", "viewBox": f"0 0 {WIDTH} {y:g}"}
    return ET.tostring(root, encoding="unicode")


def colour(role: str) -> str:
    """A role's light colour."""
    return _rules()[1].get(role, "inherit")


def _style(element: ET.Element, inherited: Mapping[str, str]) -> None:
    """Write the style of an element and of those within it; `inherited` are the variables around it."""
    classes = set((element.get("class") or "").split())
    declared = {name: value for rule in _matching(element.tag, classes) for name, value in rule.items()}
    variables = {**inherited, **{name[2:]: _resolved(value, inherited) for name, value in declared.items() if name.startswith("--")}}
    style = ";".join(f"{name}:{_resolved(value, variables)}" for name, value in declared.items() if not name.startswith("--"))
    for name in OF_PAGE:
        element.attrib.pop(name, None)
    if style:
        element.set("style", style)
    for child in list(element):
        if DROPPED & set((child.get("class") or "").split()):
            element.remove(child)
        else:
            _style(child, variables)


def _matching(tag: str, classes: set[str]) -> Iterator[Declarations]:
    return (rule for kind, names, rule in _rules()[0] if kind in ("", tag) and names <= classes)


def _resolved(value: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: variables.get(match[1], "currentColor"), value)


@cache
def _rules() -> tuple[tuple[tuple[str, frozenset[str], Declarations], ...], Mapping[str, str]]:
    """The style's rules for elements of a chart, the least specific first, and its light colours."""
    style = resources.files("fireassay.reports.writers").joinpath("templates", "report.css").read_text(encoding="utf-8")
    ranked: list[tuple[int, str, frozenset[str], Declarations]] = []
    colours: dict[str, str] = {}
    for selectors, body in _RULE.findall(_NESTED.sub("", _LIGHT.sub(r"\1", _COMMENT.sub("", style)))):
        declarations = dict(_declarations(body))
        for selector in map(str.strip, selectors.split(",")):
            if selector == ":root":
                colours |= {name[2:]: value for name, value in declarations.items() if name.startswith("--")}
            elif (match := _SELECTOR.fullmatch(selector)) and (match[3] or match[1]):
                names = frozenset(match[3].split(".")[1:])
                ranked.append((len(names) * 10 + bool(match[1]) + bool(match[2]), match[2], names, declarations))
    ranked.sort(key=lambda rule: rule[0])
    return tuple((tag, names, declarations) for _, tag, names, declarations in ranked), colours


def _declarations(body: str) -> Iterator[tuple[str, str]]:
    for part in body.split(";"):
        name, colon, value = part.partition(":")
        if colon:
            yield name.strip(), value.strip()


# ---- the spec of a chart ---------------------------------------------------------------------------------------------


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
