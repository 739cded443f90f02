"""The environment: read from a made-up machine whose numbers are known, and from this one without ever failing."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.record import environment
from fireassay.record import machine as hardware
from fireassay.record.environment import FIELDS, VARIABLES, capture
from fireassay.record.machine import Machine, Unread, cgroup_folder
from tests.limits import PROCESS_S

CPUINFO = "\n\n".join(
    f"processor\t: {number}\nmodel name\t: Made-up CPU 3000\nphysical id\t: {number // 4}\ncore id\t\t: {number % 4 // 2}\nflags\t\t: fpu hypervisor sse2"
    for number in range(8)
)
FILES = {
    "etc/os-release": 'NAME="X"\nPRETTY_NAME="Made-up Linux 7"\n',
    "proc/cpuinfo": CPUINFO,
    "proc/meminfo": "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\nSwapTotal:  0 kB\nSwapFree:  0 kB\n",
    "proc/loadavg": "0.50 1.25 2.00 3/456 7890\n",
    "proc/uptime": "1234.5 99.0\n",
    "proc/stat": "cpu  10 1 20 300 5 2 3 42 7 0\ncpu0 1 2 3\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=111\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4\n",
    "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=8\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/self/cgroup": "0::/kubepods/pod7\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory io\n",
    "sys/fs/cgroup/kubepods/pod7/cpu.max": "150000 100000\n",
    "sys/fs/cgroup/kubepods/pod7/cpu.stat": "usage_usec 1\nnr_periods 40\nnr_throttled 4\nthrottled_usec 2500\n",
    "sys/fs/cgroup/kubepods/pod7/memory.max": "1048576\n",
    "sys/devices/system/cpu/smt/control": "on\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
    "sys/devices/system/node/node10/cpulist": "4-7\n",
    "sys/class/dmi/id/sys_vendor": "QEMU\n",
    ".dockerenv": "",
}


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write the files below the root."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A made-up machine with control groups of version 2, in a folder that is no repository."""
    environ = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": "77", "OMP_NUM_THREADS": "3", "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    return Machine(root=plant(tmp_path / "root", FILES), environ=environ, folder=tmp_path)


EXPECTED: dict[str, Any] = {
    "host.os": "Made-up Linux 7",
    "host.uptime_s": 1234.5,
    "host.virtualisation": "QEMU",
    "host.container": ["/.dockerenv", "cgroup: kubepods", "environment: SLURM_JOB_ID"],
    "host.aslr": "full",
    "cpu.model": "Made-up CPU 3000",
    "cpu.physical": 4,
    "cpu.smt": "on",
    "cpu.governors": ["performance", "powersave"],
    "cpu.numa": [{"node": 0, "processors": "0-3"}, {"node": 10, "processors": "4-7"}],
    "memory.total_bytes": 1_024_000,
    "memory.available_bytes": 409_600,
    "memory.swap_total_bytes": 0,
    "noise.load": {"1min": 0.5, "5min": 1.25, "15min": 2.0},
    "noise.threads": {"runnable": 3, "total": 456},
    "noise.steal_ticks": 42,
    "noise.cpu_ticks": {"user": 10, "nice": 1, "system": 20, "idle": 300, "iowait": 5, "irq": 2, "softirq": 3, "steal": 42},
    "noise.pressure_cpu": {"some_us": 111, "full_us": 0},
    "noise.pressure_memory": {"some_us": 5, "full_us": 4},
    "noise.pressure_io": {"some_us": 9, "full_us": 8},
    "cgroup.cpu_quota": {"version": 2, "limit": "processors", "processors": 1.5},
    "cgroup.throttled": {"periods": 40, "throttled_periods": 4, "throttled_ns": 2_500_000},
    "cgroup.memory_limit": {"version": 2, "limit": "bytes", "bytes": 1_048_576},
}


def at(captured: dict[str, Any], key: str) -> Any:
    """The value of a dotted key."""
    group, name = key.split(".")
    return captured[group][name]


@pytest.mark.parametrize("key", EXPECTED)
def test_a_made_up_machine_is_read_as_it_was_made(machine: Machine, key: str) -> None:
    assert at(capture(machine=machine), key) == EXPECTED[key]


def test_control_groups_of_version_1_are_read(machine: Machine) -> None:
    plant(
        machine.root,
        {
            "proc/self/cgroup": "5:memory:/\n4:cpu,cpuacct:/box\n0::/\n",
            "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "30000\n",
            "sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu/box/cpu.stat": "nr_periods 9\nnr_throttled 2\nthrottled_time 777\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    group = capture(machine=machine)["cgroup"]
    assert group["cpu_quota"] == {"version": 1, "limit": "processors", "processors": 0.3}
    assert group["throttled"] == {"periods": 9, "throttled_periods": 2, "throttled_ns": 777}
    assert group["memory_limit"] == {"version": 1, "limit": "none"}


def test_a_group_whose_folder_is_not_mounted_is_read_at_the_mount(machine: Machine) -> None:
    plant(machine.root, {"proc/self/cgroup": "3:cpu:/outside/the/container\n", "sys/fs/cgroup/cpu/cpu.stat": ""})
    assert cgroup_folder(machine, "cpu") == ("/sys/fs/cgroup/cpu", 1)


def test_an_unlimited_group_says_so(machine: Machine) -> None:
    plant(machine.root, {"sys/fs/cgroup/kubepods/pod7/cpu.max": "max 100000\n", "sys/fs/cgroup/kubepods/pod7/memory.max": "max\n"})
    group = capture(machine=machine)["cgroup"]
    assert group["cpu_quota"] == {"version": 2, "limit": "none"}
    assert group["memory_limit"] == {"version": 2, "limit": "none"}


def leaves(value: Any) -> list[Any]:
    """Every value that is no container."""
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    return [leaf for inner in value for leaf in leaves(inner)] if isinstance(value, list) else [value]


def test_an_empty_machine_gives_a_reason_for_every_file_it_lacks(tmp_path: Path) -> None:
    captured = capture(machine=Machine(root=tmp_path / "nothing", environ={}, folder=tmp_path))
    for key in EXPECTED.keys() - {"host.os", "host.container"}:
        assert set(at(captured, key)) == {"absent"}, key
        assert at(captured, key)["absent"], key
    assert captured["memory"]["total_bytes"]["absent"] == "/proc/meminfo: No such file or directory"


@pytest.mark.parametrize("text", ["", "\0\0", "nonsense", "cpu", "cpu a b c d e f g h", "0::", "::::", "-1", "1 2 3", "\xff\xfe", "max"])
def test_damaged_files_cost_their_field_and_nothing_else(machine: Machine, text: str) -> None:
    plant(machine.root, dict.fromkeys(FILES, text))
    captured = capture(machine=machine)
    assert "" not in leaves(captured)
    assert captured["host"]["machine"]
    assert "absent" in captured["noise"]["steal_ticks"]


def test_every_captured_key_is_in_the_table_and_in_the_reference(machine: Machine) -> None:
    captured = capture(machine=machine)
    keys = {f"{group}.{name}" for group, names in captured.items() for name in names}
    assert keys == {item.key for item in FIELDS} | {VARIABLES}
    page = environment.reference()
    assert all(f"| `{key}` |" in page for key in keys)
    assert all(item.meaning and item.source for item in FIELDS)


def test_this_machine_is_described_and_the_description_is_json() -> None:
    captured = capture()
    assert json.loads(json.dumps(captured)) == captured
    assert captured["software"]["python"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert captured["software"]["packages"]["pytest"] == pytest.__version__
    assert captured["cpu"]["logical"] == os.cpu_count()
    assert "" not in leaves(captured)


def test_torch_is_described_without_being_imported() -> None:
    code = "import json, sys; from fireassay.record.environment import capture; print(json.dumps([capture()['software']['torch'], 'torch' in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PROCESS_S, check=True)
    described, imported = json.loads(done.stdout)
    assert not imported
    assert described.keys() == {"absent"} or described.keys() == {"version", "cuda", "hip", "git_version", "debug", "threads"}


def _installed_torch(folder: Path, version_py: str) -> Machine:
    plant(
        folder,
        {"torch-9.9.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 9.9.0+cu130\n", "torch/version.py": version_py},
    )
    return Machine(root=folder, environ={"OMP_NUM_THREADS": "3"}, folder=folder)


def test_the_torch_build_is_taken_from_its_version_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "__version__ = '9.9.0+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\ngit_version = 'abc123'\nhip: Optional[str] = None\n"
    machine = _installed_torch(tmp_path, source)
    monkeypatch.syspath_prepend(tmp_path)
    assert capture(machine=machine)["software"]["torch"] == {
        "version": "9.9.0+cu130",
        "cuda": "13.0",
        "hip": {"absent": "not built in"},
        "git_version": "abc123",
        "debug": "False",
        "threads": {"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": {"absent": "not set"}},
    }


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=trunk", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PROCESS_S).stdout.strip()


def test_the_workloads_commit_and_its_changes_are_recorded(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    plant(tmp_path, {"train.py": "1"})
    _git(tmp_path, "add", "train.py")
    _git(tmp_path, "commit", "-q", "-m", "x")
    clean = capture(folder=tmp_path)["workload"]["git"]
    plant(tmp_path, {"train.py": "2"})
    changed = capture(folder=tmp_path)["workload"]["git"]
    assert clean == {"commit": _git(tmp_path, "rev-parse", "HEAD"), "branch": "trunk", "dirty": False}
    assert changed == {**clean, "dirty": True}


def test_a_folder_that_is_no_repository_says_so(machine: Machine) -> None:
    assert "not a git repository" in capture(machine=machine)["workload"]["git"]["absent"]


def test_a_folder_that_is_gone_costs_only_its_commit(tmp_path: Path) -> None:
    captured = capture(folder=tmp_path / "gone")
    assert "absent" in captured["workload"]["git"]
    assert captured["host"]["name"]


def test_no_secret_of_the_environment_is_captured(tmp_path: Path) -> None:
    environ = {
        "HF_TOKEN": "hf_plantedPLANTEDplanted1",
        "TORCH_NOTE": "uses correcthorsebattery",
        "FIREASSAY_PASSWORD": "correcthorsebattery",
        "NCCL_DEBUG": "INFO",
        "HOME": "/home/x",
        "SLURM_TOKEN": "short",
        "CUDA_URL": "https://u:pl4nted@h/",
    }
    captured = capture(("plantedbyhand",), machine=Machine(root=tmp_path, environ={**environ, "OMP_X": "plantedbyhand"}, folder=tmp_path))
    text = json.dumps(captured)
    assert not [secret for secret in ("plantedPLANTED", "correcthorse", "pl4nted", "plantedbyhand") if secret in text]
    assert captured["workload"]["variables"] == {
        "FIREASSAY_PASSWORD": "[redacted]",
        "CUDA_URL": "https://u:[redacted]@h/",
        "HF_TOKEN": "[redacted]",
        "NCCL_DEBUG": "INFO",
        "OMP_X": "[redacted]",
        "SLURM_TOKEN": "[redacted]",
        "TORCH_NOTE": "uses [redacted]",
    }


# ---- accelerators: only through stand-ins ------------------------------------------------------------------------------


class FakeNvmlError(Exception):
    """Like pynvml.NVMLError."""


def fake_nvml(**changes: Any) -> SimpleNamespace:
    """A binding that shows one GPU."""
    calls: dict[str, Any] = {
        "NVMLError": FakeNvmlError,
        "NVML_CLOCK_SM": 1,
        "NVML_TEMPERATURE_GPU": 0,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlSystemGetDriverVersion": lambda: b"580.1",
        "nvmlDeviceGetName": lambda _: "GPU X",
        "nvmlDeviceGetUUID": lambda _: "GPU-1",
        "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=1000),
        "nvmlDeviceGetEnforcedPowerLimit": lambda _: 700_000,
        "nvmlDeviceGetMaxClockInfo": lambda _, clock: 1980,
        "nvmlDeviceGetTemperature": lambda _, sensor: 41,
    }
    return SimpleNamespace(**{**calls, **changes})


def test_gpus_are_described_by_nvml(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> int:
        raise FakeNvmlError("Not Supported")

    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlDeviceGetEnforcedPowerLimit=refuse))
    device = {"name": "GPU X", "uuid": "GPU-1", "memory_bytes": 1000, "power_limit_w": {"absent": "FakeNvmlError: Not Supported"}}
    expected = {"source": "nvml", "driver": "580.1", "devices": [{**device, "sm_clock_max_mhz": 1980, "temperature_c": 41}]}
    assert capture(machine=machine)["gpu"]["nvidia"] == expected


def test_a_driver_that_does_not_answer_is_a_reason(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise FakeNvmlError("Driver Not Loaded")

    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlInit=refuse))
    assert capture(machine=machine)["gpu"]["nvidia"] == {"absent": "NVML: Driver Not Loaded"}


def _tool(folder: Path, script: str) -> Machine:
    plant(folder, {"bin/nvidia-smi": f"#!/bin/sh\n{script}\n"})
    (folder / "bin/nvidia-smi").chmod(0o755)
    return Machine(root=folder, environ={"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}, folder=folder)


def test_gpus_are_described_by_nvidia_smi_where_the_binding_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)  # an import of it fails
    machine = _tool(tmp_path, "echo '580.1, GPU X, GPU-1, 1024, [N/A]'")
    device = {
        "name": "GPU X",
        "uuid": "GPU-1",
        "memory_bytes": 1024 * 1024 * 1024.0,
        "power_limit_w": {"absent": "nvidia-smi says '[N/A]'"},
    }
    assert capture(machine=machine)["gpu"]["nvidia"] == {"source": "nvidia-smi", "driver": "580.1", "devices": [device]}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'no devices were found' >&2; exit 6", "nvidia-smi: no devices were found"),
        ("exit 9", "nvidia-smi: exit code 9"),
        ("exit 0", "nvidia-smi lists no GPU"),
        ("exec sleep 30", "nvidia-smi did not answer within 0.1 s"),
    ],
)
def test_a_tool_that_fails_or_hangs_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(hardware, "TOOL_TIMEOUT_S", 0.1 if "sleep" in script else 30.0)
    assert capture(machine=_tool(tmp_path, script))["gpu"]["nvidia"] == {"absent": reason}


def test_without_binding_and_tool_there_is_no_guess(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    bare = Machine(root=machine.root, environ={"PATH": ""}, folder=machine.folder)
    assert capture(machine=bare)["gpu"]["nvidia"] == {"absent": "no NVML binding (package nvidia-ml-py) and no nvidia-smi"}


def test_a_number_that_is_none_is_refused_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(Unread, match="x: 'twelve' is not an integer"):
        Machine(root=plant(tmp_path, {"x": "twelve"})).number("x")


def test_packages_are_those_that_the_library_names() -> None:
    told = {(one.metadata["Name"] or "").lower(): one.version for one in reversed(list(importlib.metadata.distributions()))}
    assert environment._packages() == told


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("METADATA", "Metadata-Version: 2.1\r\nName: Odd_Name\r\nVersion: 1.0\r\n\r\nName: another\nVersion: 9\n", {"odd_name": "1.0"}),
        ("METADATA", "Version:   2.0rc1  \nName:\tone\nRequires-Dist: x\n", {"one": "2.0rc1"}),
        ("PKG-INFO", "Name: old\nVersion: 3\n\nA text.\n", {"old": "3"}),
        ("METADATA", "Name: no-version\n", {}),
        ("METADATA", "", {}),
        ("RECORD", "", {}),
    ],
)
def test_a_package_is_named_by_its_head_alone(
    file: str, text: str, named: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "some-1.dist-info"
    folder.mkdir()
    (folder / file).write_bytes(text.encode())
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    importlib.invalidate_caches()
    assert environment._packages() == named
