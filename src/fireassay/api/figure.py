"""How does a page's chart become one SVG that stands alone: in a notebook, a paper, or as PNG?

The panels are placed below each other, and the page's style, in its light colours, is written into each element: a figure has no
style sheet, and converters know no variables.  Only selectors of one element with its classes are applied, which is what marks use.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

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
