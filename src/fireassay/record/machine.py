"""Where are facts about the machine read, and how does a record mark one as unavailable?

Which processors, memory and GPUs does this machine have, and how much may this process use?
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final


class Unread(Exception):
    """A source could not be read; the message is the reason shown in the record."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The source of the facts; tests replace it with a folder of fake files."""

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: Path = Path(".")  # the workload's folder, for git

    def text(self, path: str) -> str:
        """The stripped text of a file below the root. Raises Unread."""
        try:
            text = (self.root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace").strip("\0 \t\n")
        except OSError as error:
            raise Unread(f"{path}: {error.strerror or error}") from error
        if not text:
            raise Unread(f"{path} is empty")
        return text

    def names(self, pattern: str) -> list[str]:
        """The paths below the root that match a pattern, sorted."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.glob(pattern))

    def number(self, path: str) -> int:
        """The integer that a file holds. Raises Unread."""
        text = self.text(path)
        try:
            return int(text)
        except ValueError as error:
            raise Unread(f"{path}: {text[:40]!r} is not an integer") from error


def absent(reason: str) -> dict[str, str]:
    """A record's marker for a value that was not measured."""
    return {"absent": reason}


def or_absent(read: Callable[[], Any]) -> Any:
    """The result of `read`, or why it failed. Catches everything: describing the environment must never cost a measurement."""
    try:
        value = read()
    except Unread as error:
        return absent(str(error))
    except Exception as error:  # an unforeseen state of a driver or a package
        return absent(f"{type(error).__name__}: {error}"[:200])
    return absent("nothing was reported") if value is None or value == "" else value


def tool_output(command: list[str], timeout_s: float, env: Mapping[str, str] | None = None) -> str:
    """A tool's standard output. Raises Unread with the tool's own message."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False, env=env, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise Unread(f"{Path(command[0]).name} did not answer within {timeout_s} s") from error
    except OSError as error:
        raise Unread(f"{Path(command[0]).name}: {error.strerror or error}") from error
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise Unread(f"{Path(command[0]).name}: {words[0][:200] if words else f'exit code {done.returncode}'}")
    return done.stdout.strip()


TOOL_TIMEOUT_S: Final = 0.8  # nvidia-smi may have to load the driver; the whole capture should stay under a second


def _cpuinfo(machine: Machine, key: str) -> list[str]:
    values = re.findall(rf"^{re.escape(key)}\s*:\s*(.+)$", machine.text("/proc/cpuinfo"), re.MULTILINE)
    if not values:
        raise Unread(f"/proc/cpuinfo has no {key!r}")
    return values


def cpu_model(machine: Machine) -> str:
    for key in ("model name", "Model", "cpu", "Hardware"):
        try:
            return _cpuinfo(machine, key)[0].strip()
        except Unread:
            continue
    raise Unread("/proc/cpuinfo names no model")


def physical_cores(machine: Machine) -> int:
    packages, cores = _cpuinfo(machine, "physical id"), _cpuinfo(machine, "core id")
    return len(set(zip(packages, cores, strict=True)))


def usable_processors(machine: Machine) -> dict[str, Any]:
    if not hasattr(os, "sched_getaffinity"):
        raise Unread("this system has no processor affinity")
    processors = sorted(os.sched_getaffinity(0))
    return {"count": len(processors), "processors": processors}


def governors(machine: Machine) -> list[str]:
    files = machine.names("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    if not files:
        raise Unread("no /sys/devices/system/cpu/cpu*/cpufreq: the kernel does not expose frequency scaling")
    return sorted({machine.text(file) for file in files})


def numa_nodes(machine: Machine) -> list[dict[str, Any]]:
    nodes = machine.names("sys/devices/system/node/node[0-9]*")
    if not nodes:
        raise Unread("no /sys/devices/system/node")
    numbers = sorted(int(node.rpartition("node")[2]) for node in nodes)
    return [{"node": n, "processors": machine.text(f"/sys/devices/system/node/node{n}/cpulist")} for n in numbers]


def smt(machine: Machine) -> str:
    return machine.text("/sys/devices/system/cpu/smt/control")


def memory_bytes(machine: Machine, key: str) -> int:
    """A field of /proc/meminfo, bytes."""
    match = re.search(rf"^{key}:\s*(\d+) kB", machine.text("/proc/meminfo"), re.MULTILINE)
    if not match:
        raise Unread(f"/proc/meminfo has no {key}")
    return int(match.group(1)) * 1024


def cpu_ticks(machine: Machine) -> dict[str, int]:
    """The `cpu` line of /proc/stat since boot, in clock ticks (proc_stat(5))."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    values = machine.text("/proc/stat").splitlines()[0].split()[1:]
    if len(values) < len(names):
        raise Unread("/proc/stat shows no steal time: kernel older than 2.6.11")
    return dict(zip(names, map(int, values), strict=False))


def steal_ticks(machine: Machine) -> int:
    return cpu_ticks(machine)["steal"]


def pressure(machine: Machine, resource: str) -> dict[str, int]:
    """Stall time since boot, microseconds, of some and of all tasks (Linux kernel, Documentation/accounting/psi.rst)."""
    totals = re.findall(r"^(some|full) .*total=(\d+)", machine.text(f"/proc/pressure/{resource}"), re.MULTILINE)
    if not totals:
        raise Unread(f"/proc/pressure/{resource} holds no totals")
    return {f"{kind}_us": int(total) for kind, total in totals}


def cgroup_folder(machine: Machine, controller: str) -> tuple[str, int]:
    """The folder of this process's cgroup for a controller, and the cgroup version (1 or 2).  Raises Unread.

    In a container the path in /proc/self/cgroup may not exist below the mount; then the mount's root is ours.
    """
    groups = [line.split(":", 2) for line in machine.text("/proc/self/cgroup").splitlines() if line.count(":") >= 2]
    for _, controllers, path in groups:
        if controller in controllers.split(","):
            return _existing(machine, f"/sys/fs/cgroup/{controller}", path), 1
    for number, controllers, path in groups:
        if number == "0" and controllers == "" and (machine.root / "sys/fs/cgroup/cgroup.controllers").exists():
            return _existing(machine, "/sys/fs/cgroup", path), 2
    raise Unread(f"no control group with the {controller} controller")


def _existing(machine: Machine, mount: str, path: str) -> str:
    candidate = f"{mount}{path}".rstrip("/")
    return candidate if (machine.root / candidate.lstrip("/")).is_dir() else mount


def cpu_quota(machine: Machine) -> dict[str, Any]:
    """The processors that the cgroup may use, or "none" if unlimited."""
    folder, version = cgroup_folder(machine, "cpu")
    if version == 2:
        quota, period = machine.text(f"{folder}/cpu.max").split()
    else:
        quota, period = machine.text(f"{folder}/cpu.cfs_quota_us"), machine.text(f"{folder}/cpu.cfs_period_us")
    if quota in ("max", "-1"):
        return {"version": version, "limit": "none"}
    return {"version": version, "limit": "processors", "processors": int(quota) / int(period)}


def throttled(machine: Machine) -> dict[str, int]:
    """How often and how long (ns) the cgroup was throttled for exhausting its quota."""
    folder, version = cgroup_folder(machine, "cpu")
    lines = (line.split() for line in machine.text(f"{folder}/cpu.stat").splitlines())
    stat = {pair[0]: int(pair[1]) for pair in lines if len(pair) == 2}
    if "nr_throttled" not in stat:
        raise Unread(f"{folder}/cpu.stat counts no throttling")
    ns = stat["throttled_usec"] * 1000 if version == 2 else stat["throttled_time"]
    return {"periods": stat["nr_periods"], "throttled_periods": stat["nr_throttled"], "throttled_ns": ns}


def memory_limit(machine: Machine) -> dict[str, Any]:
    folder, version = cgroup_folder(machine, "memory")
    text = machine.text(f"{folder}/{'memory.max' if version == 2 else 'memory.limit_in_bytes'}")
    if text == "max" or int(text) >= 2**60:  # cgroup v1 reports "no limit" as the largest multiple of the page size
        return {"version": version, "limit": "none"}
    return {"version": version, "limit": "bytes", "bytes": int(text)}


def nvidia_gpus(machine: Machine) -> dict[str, Any]:
    """Driver and devices from NVML, else from nvidia-smi. Raises Unread if neither works; never guesses."""
    try:
        import pynvml
    except ImportError:
        return _nvidia_smi(machine)
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise Unread(f"NVML: {error}") from error
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        devices = [_nvml_device(pynvml, handle) for handle in handles]
        return {"source": "nvml", "driver": _plain(pynvml.nvmlSystemGetDriverVersion()), "devices": devices}
    finally:
        pynvml.nvmlShutdown()


def _nvml_device(nvml: Any, handle: Any) -> dict[str, Any]:
    return {
        "name": or_absent(lambda: _plain(nvml.nvmlDeviceGetName(handle))),
        "uuid": or_absent(lambda: _plain(nvml.nvmlDeviceGetUUID(handle))),
        "memory_bytes": or_absent(lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total)),
        "power_limit_w": or_absent(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
        "sm_clock_max_mhz": or_absent(lambda: int(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM))),
        "temperature_c": or_absent(lambda: int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
    }


def _plain(text: str | bytes) -> str:
    """As text: older NVML bindings return bytes."""
    return text.decode() if isinstance(text, bytes) else text


def _nvidia_smi(machine: Machine) -> dict[str, Any]:
    tool = shutil.which("nvidia-smi", path=machine.environ.get("PATH", ""))
    if tool is None:
        raise Unread("no NVML binding (package nvidia-ml-py) and no nvidia-smi")
    query = "--query-gpu=driver_version,name,uuid,memory.total,power.limit"
    text = tool_output([tool, query, "--format=csv,noheader,nounits"], TOOL_TIMEOUT_S)
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.count(",") == 4]
    if not rows:
        raise Unread("nvidia-smi lists no GPU")
    devices = [
        {"name": name, "uuid": uuid, "memory_bytes": _scaled(memory, 1024 * 1024), "power_limit_w": _scaled(power, 1)}
        for _, name, uuid, memory, power in rows
    ]
    return {"source": "nvidia-smi", "driver": rows[0][0], "devices": devices}


def _scaled(text: str, factor: int) -> Any:
    try:
        return float(text) * factor
    except ValueError:
        return absent(f"nvidia-smi says {text!r}")
