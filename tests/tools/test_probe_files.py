"""Does the probe work where nothing of ours is installed: in an environment that has Python, and perhaps torch?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from fireassay.instruments import injected
from fireassay.record.streams import read_stream
from tools.probe_files import SOURCE, closure, files

SCRIPT = """
import sys
from fireassay import probe
with probe.start() as p:
    for step in p.steps(range(3)):
        p.samples([step])
    p.examples(range(40), [1.0] * 40, predictions=[f"answer {item}" for item in range(40)])
print(p.active, sorted({"numpy", "polars", "pyarrow", "pydantic", "scipy"} & set(sys.modules)), probe.__file__)
"""


def copied(tree: Path) -> Path:
    """What the wheel holds."""
    for file in files():
        copy = tree / file.relative_to(SOURCE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return tree


def rows(folder: Path) -> dict[str, int]:
    return {file.name.partition(".")[0]: read_stream(file).rows for file in folder.glob("*.arrows")}


def test_it_needs_nothing_but_the_frameworks_that_its_script_has() -> None:
    others = {name: by for name, by in closure()[1].items() if name not in sys.stdlib_module_names}
    assert set(others) == {"torch", "lightning", "pytorch_lightning", "transformers"}, others
    frameworks = {by for name, by in others.items() if name != "torch"}
    assert all(by.startswith("fireassay.instruments.callbacks.") for by in frameworks)


def test_it_records_where_no_package_is_installed(tmp_path: Path) -> None:
    """The files of the wheel, and Python without its site-packages."""
    tree = copied(tmp_path / "tree")
    launch = tmp_path / "launch=0000"
    launch.mkdir()
    code = f"import sys\nsys.path.append({str(tree)!r})\n{SCRIPT}"
    environment = {"FIREASSAY_LAUNCH_DIR": str(launch)}
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"False [] {tree / 'fireassay' / 'probe.py'}\n"
    assert {"steps": 3, "samples": 3, "examples": 40}.items() <= rows(launch).items()


def test_a_launch_brings_its_own_into_an_interpreter_that_has_none(tmp_path: Path) -> None:
    """Of another environment: nothing has to be installed there, and nothing else of ours becomes visible."""
    venv.create(tmp_path / "bare", symlinks=True)
    launch, script = tmp_path / "launch=0000", tmp_path / "train.py"
    launch.mkdir()
    script.write_text(SCRIPT)
    environment = injected.into({"FIREASSAY_LAUNCH_DIR": str(launch), "RANK": "0", "WORLD_SIZE": "1", "PATH": os.environ["PATH"]})
    done = subprocess.run([tmp_path / "bare" / "bin" / "python", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"False [] {SOURCE / 'fireassay' / 'probe.py'}\n"
    assert {"steps": 3, "samples": 3, "examples": 40}.items() <= rows(launch).items()


def test_what_only_the_whole_has_says_so(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    code = f"import sys\nsys.path.append({str(tree)!r})\nimport fireassay\nfireassay.open('latest')"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: fireassay.open needs the whole Fireassay, and only fireassay-probe is here: pip install fireassay"
    )
