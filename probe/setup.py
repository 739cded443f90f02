"""The wheel of fireassay-probe: some modules of ../src, in a folder of their own.

Two distributions must not hold the same file, for pip would remove it with either.  So the modules lie below fireassay_probe/, which a path
file puts behind everything else on sys.path: where the whole fireassay is installed, Python finds that first.
"""

import shutil
import sys
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "fireassay_probe"
ATTACH = "fireassay/instruments/injected/fireassay_attach.pth"
sys.path.insert(0, str(ROOT / "tools"))
from probe_files import SOURCE, files  # noqa: E402


class Chosen(build_py):
    """Copies the chosen files."""

    def run(self) -> None:
        """Into what the wheel is made of."""
        target = Path(self.build_lib)
        for file in files():
            (target / FOLDER / file.relative_to(SOURCE)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target / FOLDER / file.relative_to(SOURCE))
        (target / f"{FOLDER}.pth").write_text(f"{FOLDER}\n" + (SOURCE / ATTACH).read_text())

    def get_source_files(self) -> list[str]:
        """None below this folder."""
        return []


setup(version=tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"], packages=[FOLDER], cmdclass={"build_py": Chosen})
