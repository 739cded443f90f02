"""The one part that is compiled: the load client's core. Where there is no compiler, or no Linux, assay does without.

And the path file by which FIREASSAY_ATTACH=1 reaches the workers of a job that assay did not start.
"""

import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ATTACH = Path("src/fireassay/instruments/injected/fireassay_attach.pth")


class WithPathFile(build_py):
    """Puts the path file beside the package."""

    def run(self) -> None:
        """Copies the modules, then the path file; an editable installation copies nothing."""
        super().run()
        if not self.editable_mode:
            Path(self.build_lib).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ATTACH, Path(self.build_lib) / ATTACH.name)


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
    cmdclass={"build_py": WithPathFile},
)
