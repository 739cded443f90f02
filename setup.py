"""The one part that is compiled: the load client's core. Where there is no compiler, or no Linux, assay does without."""

import sys

from setuptools import Extension, setup

CORE = Extension(
    "fireassay.traffic.wire._core",
    ["src/fireassay/traffic/wire/_core.c"],
    extra_compile_args=["-O2", "-pthread"],
    extra_link_args=["-pthread", "-s"],  # without symbols, a third of the size
    py_limited_api=True,
    optional=True,  # a failed build is a warning
)

setup(ext_modules=[CORE] if sys.platform.startswith("linux") else [], options={"bdist_wheel": {"py_limited_api": "cp311"}})
