"""The one part that is compiled: the load client's core. Where there is no compiler, or no Linux, assay does without, and `--version` says why.

Also the path file by which FIREASSAY_ATTACH=1 reaches the workers of a job that assay did not start, and the commit that is built.
With SOURCE_DATE_EPOCH two builds are equal: setuptools sees to the wheel, `SameSdist` to the sdist.
"""

import gzip
import json
import os
import runpy
import shutil
import sys
import tarfile
import time
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

PACKAGE = Path("src/fireassay")
ATTACH = PACKAGE / "instruments/injected/fireassay_attach.pth"
INSTALLATION = runpy.run_path(str(PACKAGE / "cli/support/installation.py"))


def write_build(package: Path, **more: str) -> None:
    """Writes what `assay --version` says of this build into a copy of the package."""
    build = {"commit": INSTALLATION["commit"](PACKAGE.resolve()), **more}
    (package / INSTALLATION["BUILD"]).write_text(json.dumps(build) + "\n")


class WithPathFile(build_py):
    """Puts the path file beside the package, and the commit into it."""

    def run(self) -> None:
        """Copies the modules, then the path file; an editable installation copies nothing."""
        super().run()
        if not self.editable_mode:
            Path(self.build_lib).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ATTACH, Path(self.build_lib) / ATTACH.name)
            write_build(Path(self.build_lib) / "fireassay")


class Explained(build_ext):
    """Says in the package why there is no core; `optional` makes a warning of it."""

    def build_extension(self, ext: Extension) -> None:
        """Compiles the core."""
        try:
            super().build_extension(ext)
        except Exception as error:
            if not self.inplace:
                write_build(Path(self.build_lib) / "fireassay", core=f"not compiled, {error}")
            raise


class SameSdist(sdist):
    """Brings the commit along, and nothing of the machine that packs: its clock, its users, its umask."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copies the files, and writes the commit among them."""
        super().make_release_tree(base_dir, files)
        write_build(Path(base_dir) / PACKAGE)

    def make_archive(self, base_name: str, format: str, root_dir: str | None = None, base_dir: str | None = None, **_: object) -> str:
        """Packs the tree; `format` is gztar."""
        now = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

        def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime, member.mode = now, 0o755 if member.mode & 0o100 else 0o644
            return member

        name = f"{base_name}.tar.gz"
        with open(name, "wb") as file, gzip.GzipFile("", "wb", 9, file, now) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(base_dir or ".", filter=plain)
        return name


CORE = Extension(
    "fireassay.traffic.wire._core",
    ["src/fireassay/traffic/wire/_core.c"],
    extra_compile_args=["-O2", "-pthread"],
    extra_link_args=["-pthread", "-s"],  # without symbols, a third of the size
    py_limited_api=True,
    optional=True,  # a failed build is a warning
)

setup(
    ext_modules=[CORE] if sys.platform.startswith("linux") else [],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    cmdclass={"build_py": WithPathFile, "build_ext": Explained, "sdist": SameSdist},
)
