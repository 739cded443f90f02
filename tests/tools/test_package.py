"""What does `make package` leave in dist/, and what may it not hold?"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.package import LICENSE, MOST_OF_A_FILE, ROOT, empty, flaws, keep, large_in_git, link, needed


def test_only_the_newest_distributions_are_kept(tmp_path: Path) -> None:
    made, dist = tmp_path / "made", tmp_path / "dist"
    made.mkdir()
    (made / "fireassay-2-py3-none-any.whl").write_text("new")
    dist.mkdir()
    (dist / "fireassay-1-py3-none-any.whl").write_text("old")
    keep(made, dist)
    assert [path.name for path in dist.iterdir()] == ["fireassay-2-py3-none-any.whl"]


def wheel(folder: Path, **files: bytes) -> Path:
    """A wheel that may be published, with these files changed."""
    path = folder / "fireassay-2.0-cp311-abi3-manylinux_2_34_x86_64.whl"
    held = {"fireassay/__init__.py": b"", "fireassay-2.0.dist-info/licenses/LICENSE": LICENSE} | files
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in held.items():
            archive.writestr(name, data)
    return path


def test_a_distribution_with_what_it_must_hold_has_no_flaw(tmp_path: Path) -> None:
    assert flaws(wheel(tmp_path), ("fireassay/__init__.py",)) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tests/test_x.py": b""}, "stray: tests/test_x.py"),
        ({"fireassay/x.pyc": b""}, "stray: fireassay/x.pyc"),
        ({"fireassay/big.json": bytes(MOST_OF_A_FILE + 1)}, "fireassay/big.json has 131,073 bytes, more than 131,072"),
        ({"fireassay-2.0.dist-info/licenses/LICENSE": b"MIT"}, "its LICENSE is not the repository's"),
        ({"fireassay/__init__.py": os.urandom(4_000_001)}, "bytes, more than 4,000,000"),
    ],
    ids=["folder", "bytecode", "large file", "license", "large wheel"],
)
def test_what_must_not_be_published_is_named(tmp_path: Path, files: dict[str, bytes], expected: str) -> None:
    assert any(expected in flaw for flaw in flaws(wheel(tmp_path, **files)))


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    assert flaws(wheel(tmp_path), ("traffic/wire/_core.abi3.so",)) == ["it lacks traffic/wire/_core.abi3.so"]


def test_an_sdist_holds_no_tests(tmp_path: Path) -> None:
    path = tmp_path / "fireassay-2.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in (("LICENSE", LICENSE), ("src/fireassay/__init__.py", b""), ("tests/test_x.py", b"")):
            member = tarfile.TarInfo(f"fireassay-2.0/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    assert flaws(path) == ["stray: tests/test_x.py"]


def test_an_environment_holds_what_is_required_and_nothing_else(tmp_path: Path) -> None:
    found = needed(["jinja2>=3.1,<4", "absent; sys_platform == 'nowhere'", "absent; extra == 'more'"])
    assert {one.name.lower() for one in found} == {"jinja2", "markupsafe"}
    bin_ = empty(tmp_path / "empty")
    link(found, bin_)
    code = "import importlib.metadata as m; print(sorted(one.name.lower() for one in m.distributions())); import jinja2, markupsafe, pytest"
    done = subprocess.run([bin_ / "python", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr.splitlines()[-1]) == ("['jinja2', 'markupsafe']\n", "ModuleNotFoundError: No module named 'pytest'")


def test_no_file_of_the_repository_is_too_large_for_it() -> None:
    assert large_in_git(ROOT) == []
