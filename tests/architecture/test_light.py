"""Is `import fireassay` cheap, and does `assay --help` import no verb, and the keys of faults nothing that strikes?"""

from __future__ import annotations

from pathlib import Path

from tests.architecture.conftest import Run

HEAVY = ("torch", "numpy", "scipy", "polars", "pandas", "pyarrow", "pydantic", "rich", "altair", "jinja2", "xlsxwriter")
LOADED = f"print(sorted(set(sys.modules) & set({(*HEAVY, 'dataclasses', 'argparse', 'importlib.metadata')!r})))"


def test_importing_assay_loads_nothing_heavy(repository: Path, python: Run) -> None:
    assert python(f"import sys, fireassay\n{LOADED}", repository).stdout == "[]\n"


def test_importing_the_probe_module_of_an_inactive_script_loads_nothing_heavy(repository: Path, python: Run) -> None:
    code = f"import sys\nfrom fireassay import probe\nprobe.start().close()\nprint(sorted(set(sys.modules) & set({HEAVY!r})))"
    result = python(f"import os\nos.environ.pop('FIREASSAY_LAUNCH_DIR', None)\n{code}", repository)
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_help_imports_no_verb_and_no_argument_parser(repository: Path, python: Run) -> None:
    code = f"import sys\nfrom fireassay.cli import main\nmain(['--help'])\n{LOADED}"
    lines = python(code, repository).stdout.splitlines()
    assert lines[-1] == "[]"
    assert lines[0].startswith("usage: assay VERB")


def test_the_version_with_its_extras_loads_no_dependency(repository: Path, python: Run) -> None:
    code = f"import sys\nfrom fireassay.cli import main\nmain(['--version'])\nprint(sorted(set(sys.modules) & set({HEAVY!r})))"
    assert python(code, repository).stdout.splitlines()[-1] == "[]"


HELPS = """
import sys
from fireassay import catalog
from fireassay.cli import main
for verb in catalog.names("cli.verbs"):
    for flag, code in (("--help", 0), ("--no-such-flag", 2)):
        try:
            main([verb, flag])
        except SystemExit as end:
            assert end.code == code, (verb, flag, end.code)
print(sorted(set(sys.modules) & {"torch", "numpy", "scipy", "polars", "pandas", "pyarrow", "rich", "fireassay.verdict.judge"}))
"""


def test_neither_the_help_of_a_verb_nor_a_wrong_flag_loads_what_only_its_work_needs(repository: Path, python: Run) -> None:
    result = python(HELPS, repository)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_keys_of_all_faults_load_no_network_client_and_no_redaction(repository: Path, python: Run) -> None:
    loaded = 'print(sorted({"http.client", "ssl", "fireassay.record.secrets.redact"} & set(sys.modules)))'
    code = f"import sys\nfrom fireassay.spec.sections.faults import Fault\nprint('share' in Fault.complete().model_fields)\n{loaded}"
    assert python(code, repository).stdout == "True\n[]\n"
