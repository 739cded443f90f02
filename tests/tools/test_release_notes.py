"""What does the page of a release show of the changelog?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.release_notes import main, notes, section

CHANGELOG = """# Changelog

## [Unreleased]

## [1.1.0] - 2026-12-01

### Added

- One entry that goes on
  in a second line, see [the page](docs/page.md#part) and [there](https://example.org/x).
  - Below it.

### Fixed

- Another.

## [1.0.0]

- First.
"""


def test_the_section_of_a_version_has_a_line_per_entry_and_no_link_into_the_repository() -> None:
    assert notes(CHANGELOG, "1.1.0") == (
        "### Added\n\n"
        "- One entry that goes on in a second line, see the page (`docs/page.md`) and [there](https://example.org/x).\n"
        "  - Below it.\n\n"
        "### Fixed\n\n"
        "- Another."
    )


def test_a_section_without_entries_is_empty() -> None:
    assert section(CHANGELOG, "Unreleased") == ""


@pytest.mark.parametrize(("text", "version"), [(CHANGELOG, "2.0.0"), ("", "1.0.0"), (CHANGELOG + CHANGELOG, "1.0.0")])
def test_a_version_without_one_section_is_refused_with_the_sections_that_there_are(text: str, version: str) -> None:
    with pytest.raises(LookupError, match=rf"sections of {version}; sections: "):
        section(text, version)


def test_the_notes_of_this_version_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).parents[2]
    assert main([], root) == 0
    assert capsys.readouterr().out.startswith("### ")
    assert main(["0.0.7"], root) == 1
    assert capsys.readouterr().err.startswith("release notes: CHANGELOG.md has 0 sections of 0.0.7; sections: Unreleased, ")
