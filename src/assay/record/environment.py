"""On what machine, with what software, did this run?  What decides whether two records may be compared.

`capture` reads it before and after an experiment; `FIELDS` says what each key means and where it comes from.
What could not be read is `{"absent": "<reason>"}`: never 0, never an empty string.  Nothing here imports torch or
needs a GPU, and nothing raises: a machine that cannot be described can still be measured.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from assay.record import repository
from assay.record.secrets.redact import redact, redact_environment, secret_values

GIT_TIMEOUT_S: Final = 2.0
TOOL_TIMEOUT_S: Final = 0.8  # nvidia-smi wakes a sleeping driver; the whole capture should stay under a second


class Unread(Exception):
    """A source could not be read; the message is the reason shown in the record."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where the facts are read: replaced by a folder of made-up files in tests."""

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
        """A file that holds one integer. Raises Unread."""
        text = self.text(path)
        try:
            return int(text)
        except ValueError as error:
            raise Unread(f"{path}: {text[:40]!r} is no integer") from error


def absent(reason: str) -> dict[str, str]:
    """How a record says that something was not measured."""
    return {"absent": reason}


def _or_absent(read: Callable[[], Any]) -> Any:
    """What `read` gives, or why it could not. The environment must never cost a measurement, so everything is caught."""
    try:
        value = read()
    except Unread as error:
        return absent(str(error))
    except Exception as error:  # a driver or a package in a state nobody foresaw
        return absent(f"{type(error).__name__}: {error}"[:200])
    return absent("nothing was reported") if value is None or value == "" else value


# ---- machine -----------------------------------------------------------------------------------------------------


def _os_name(machine: Machine) -> str:
    try:
        text = machine.text("/etc/os-release")
    except Unread:
        return f"{platform.system()} {platform.release()}"
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)', text, re.MULTILINE)
    return found.group(1) if found else text.splitlines()[0]


def _virtualisation(machine: Machine) -> str:
    """The hypervisor, as far as this machine tells: a CPU flag says that there is one, DMI names it."""
    for path in ("/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor"):
        try:
            vendor = machine.text(path)
        except Unread:
            continue
        names = ("xen", "qemu", "kvm", "vmware", "microsoft", "amazon", "google", "virtualbox", "innotek", "parallels")
        if any(name in vendor.lower() for name in names):
            return vendor
    if re.search(r"^flags\s*:.*\bhypervisor\b", machine.text("/proc/cpuinfo"), re.MULTILINE):
        return "yes; the hypervisor is not named"
    return "none seen"


def _container(machine: Machine) -> list[str]:
    """What hints at a container or a batch system. An empty list says that no hint was found."""
    hints = [path for path in ("/.dockerenv", "/run/.containerenv") if (machine.root / path.lstrip("/")).exists()]
    try:
        groups = machine.text("/proc/self/cgroup")
        engines = ("docker", "kubepods", "containerd", "lxc", "libpod", "crio", "slurm", "garden")
        hints += [f"cgroup: {name}" for name in engines if name in groups]
    except Unread:
        pass
    variables = ("KUBERNETES_SERVICE_HOST", "SLURM_JOB_ID", "container", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")
    return hints + [f"environment: {name}" for name in variables if name in machine.environ]


def _uptime(machine: Machine) -> float:
    return float(machine.text("/proc/uptime").split()[0])


def _load(machine: Machine) -> dict[str, float]:
    one, five, fifteen = machine.text("/proc/loadavg").split()[:3]
    return {"1min": float(one), "5min": float(five), "15min": float(fifteen)}


def _threads(machine: Machine) -> dict[str, int]:
    runnable, total = machine.text("/proc/loadavg").split()[3].split("/")
    return {"runnable": int(runnable), "total": int(total)}


def _aslr(machine: Machine) -> str:
    value = machine.number("/proc/sys/kernel/randomize_va_space")
    return {0: "off", 1: "stack and libraries", 2: "full"}.get(value, str(value))


# ---- processors and memory -----------------------------------------------------------------------------------------


def _cpuinfo(machine: Machine, key: str) -> list[str]:
    found = re.findall(rf"^{re.escape(key)}\s*:\s*(.+)$", machine.text("/proc/cpuinfo"), re.MULTILINE)
    if not found:
        raise Unread(f"/proc/cpuinfo has no {key!r}")
    return found


def _cpu_model(machine: Machine) -> str:
    for key in ("model name", "Model", "cpu", "Hardware"):
        try:
            return _cpuinfo(machine, key)[0].strip()
        except Unread:
            continue
    raise Unread("/proc/cpuinfo names no model")


def _physical_cores(machine: Machine) -> int:
    packages, cores = _cpuinfo(machine, "physical id"), _cpuinfo(machine, "core id")
    return len(set(zip(packages, cores, strict=True)))


def _usable(machine: Machine) -> dict[str, Any]:
    if not hasattr(os, "sched_getaffinity"):
        raise Unread("this system has no processor affinity")
    processors = sorted(os.sched_getaffinity(0))
    return {"count": len(processors), "processors": processors}


def _governors(machine: Machine) -> list[str]:
    files = machine.names("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    if not files:
        raise Unread("no /sys/devices/system/cpu/cpu*/cpufreq: the kernel does not show frequency scaling here")
    return sorted({machine.text(file) for file in files})


def _numa(machine: Machine) -> list[dict[str, Any]]:
    nodes = machine.names("sys/devices/system/node/node[0-9]*")
    if not nodes:
        raise Unread("no /sys/devices/system/node")
    numbers = sorted(int(node.rpartition("node")[2]) for node in nodes)
    return [{"node": n, "processors": machine.text(f"/sys/devices/system/node/node{n}/cpulist")} for n in numbers]


def _smt(machine: Machine) -> str:
    return machine.text("/sys/devices/system/cpu/smt/control")


def _memory(machine: Machine, key: str) -> int:
    """A line of /proc/meminfo, bytes."""
    found = re.search(rf"^{key}:\s*(\d+) kB", machine.text("/proc/meminfo"), re.MULTILINE)
    if not found:
        raise Unread(f"/proc/meminfo has no {key}")
    return int(found.group(1)) * 1024


# ---- noise at the moment of capture ----------------------------------------------------------------------------------


def cpu_ticks(machine: Machine) -> dict[str, int]:
    """The `cpu` line of /proc/stat since boot, in clock ticks (proc_stat(5))."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    values = machine.text("/proc/stat").splitlines()[0].split()[1:]
    if len(values) < len(names):
        raise Unread("/proc/stat shows no steal time: kernel older than 2.6.11")
    return dict(zip(names, map(int, values), strict=False))


def _steal(machine: Machine) -> int:
    return cpu_ticks(machine)["steal"]


def pressure(machine: Machine, resource: str) -> dict[str, int]:
    """Stall time since boot, microseconds: some task waited; all tasks waited (Documentation/accounting/psi.rst)."""
    found = re.findall(r"^(some|full) .*total=(\d+)", machine.text(f"/proc/pressure/{resource}"), re.MULTILINE)
    if not found:
        raise Unread(f"/proc/pressure/{resource} holds no totals")
    return {f"{kind}_us": int(total) for kind, total in found}


# ---- control groups --------------------------------------------------------------------------------------------------


def cgroup_folder(machine: Machine, controller: str) -> tuple[str, int]:
    """The folder of this process's control group for a controller, and the version (1 or 2).  Raises Unread.

    Inside a container the path in /proc/self/cgroup may not exist below the mount; then the mount's root is ours.
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


def _cpu_quota(machine: Machine) -> dict[str, Any]:
    """The processors that the control group may use, or "none" where it is not limited."""
    folder, version = cgroup_folder(machine, "cpu")
    if version == 2:
        quota, period = machine.text(f"{folder}/cpu.max").split()
    else:
        quota, period = machine.text(f"{folder}/cpu.cfs_quota_us"), machine.text(f"{folder}/cpu.cfs_period_us")
    if quota in ("max", "-1"):
        return {"version": version, "limit": "none"}
    return {"version": version, "limit": "processors", "processors": int(quota) / int(period)}


def throttled(machine: Machine) -> dict[str, int]:
    """How often and how long (ns) the group was stopped for having used its quota."""
    folder, version = cgroup_folder(machine, "cpu")
    lines = (line.split() for line in machine.text(f"{folder}/cpu.stat").splitlines())
    stat = {pair[0]: int(pair[1]) for pair in lines if len(pair) == 2}
    if "nr_throttled" not in stat:
        raise Unread(f"{folder}/cpu.stat counts no throttling")
    ns = stat["throttled_usec"] * 1000 if version == 2 else stat["throttled_time"]
    return {"periods": stat["nr_periods"], "throttled_periods": stat["nr_throttled"], "throttled_ns": ns}


def _memory_limit(machine: Machine) -> dict[str, Any]:
    folder, version = cgroup_folder(machine, "memory")
    text = machine.text(f"{folder}/{'memory.max' if version == 2 else 'memory.limit_in_bytes'}")
    if text == "max" or int(text) >= 2**60:  # version 1 writes the largest multiple of the page size for "no limit"
        return {"version": version, "limit": "none"}
    return {"version": version, "limit": "bytes", "bytes": int(text)}


# ---- accelerators ----------------------------------------------------------------------------------------------------


def _gpus(machine: Machine) -> dict[str, Any]:
    """Driver and devices by NVML, else by nvidia-smi. Raises Unread where neither is there: never guessed."""
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
        "name": _or_absent(lambda: _plain(nvml.nvmlDeviceGetName(handle))),
        "uuid": _or_absent(lambda: _plain(nvml.nvmlDeviceGetUUID(handle))),
        "memory_bytes": _or_absent(lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total)),
        "power_limit_w": _or_absent(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
        "sm_clock_max_mhz": _or_absent(lambda: int(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM))),
        "temperature_c": _or_absent(lambda: int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
    }


def _plain(text: str | bytes) -> str:
    """Older NVML bindings give bytes."""
    return text.decode() if isinstance(text, bytes) else text


def _nvidia_smi(machine: Machine) -> dict[str, Any]:
    tool = shutil.which("nvidia-smi", path=machine.environ.get("PATH", ""))
    if tool is None:
        raise Unread("no NVML binding (package nvidia-ml-py) and no nvidia-smi")
    query = "--query-gpu=driver_version,name,uuid,memory.total,power.limit"
    text = _output([tool, query, "--format=csv,noheader,nounits"], TOOL_TIMEOUT_S)
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


def _output(command: list[str], timeout_s: float, env: Mapping[str, str] | None = None) -> str:
    """A tool's standard output. Raises Unread with the tool's own words."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False, env=env, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise Unread(f"{Path(command[0]).name} gave no answer within {timeout_s} s") from error
    except OSError as error:
        raise Unread(f"{Path(command[0]).name}: {error.strerror or error}") from error
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise Unread(f"{Path(command[0]).name}: {words[0][:200] if words else f'exit code {done.returncode}'}")
    return done.stdout.strip()


# ---- software --------------------------------------------------------------------------------------------------------


def _python() -> dict[str, Any]:
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "build": " ".join(platform.python_build()),
        "compiler": platform.python_compiler(),
        "executable": Path(sys.executable).name or absent("the interpreter does not know its file"),
        "flags": {name: getattr(sys.flags, name) for name in _FLAGS if getattr(sys.flags, name, 0)},
        "utf8_mode": bool(sys.flags.utf8_mode),
        "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
    }


_FLAGS: Final = ("debug", "optimize", "dont_write_bytecode", "no_user_site", "no_site", "isolated", "dev_mode", "hash_randomization")


def _packages() -> dict[str, str]:
    """Every installed distribution and its version. A damaged one has no name or version and is left out."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        told = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
        # Only what stands before the description, and not as mail: to parse all of it takes five times as long.
        head = dict(reversed(_NAMED.findall(_BLANK.split(told, maxsplit=1)[0])))
        if head.get("Name") and head.get("Version"):
            found.setdefault(head["Name"].lower(), head["Version"])  # the first on the path is the one that is imported
    return dict(sorted(found.items()))


_BLANK: Final = re.compile(r"\r?\n\r?\n")
_NAMED: Final = re.compile(r"^(Name|Version):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)


def _torch(machine: Machine) -> dict[str, Any]:
    """The torch build from its installed files: importing torch would take seconds and memory."""
    try:
        distribution = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError as error:
        raise Unread("torch is not installed") from error
    text = _or_absent(lambda: Path(str(distribution.locate_file("torch/version.py"))).read_text())
    source = text if isinstance(text, str) else ""
    names = ("cuda", "hip", "git_version", "debug")
    threads = {name: machine.environ.get(name) or absent("not set") for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    return {"version": distribution.version, **{name: _assigned(source, name) for name in names}, "threads": threads}


def _assigned(source: str, name: str) -> Any:
    """The literal assigned to `name` in torch/version.py."""
    found = re.search(rf"^{name}(?:\s*:[^=\n]+)?\s*=\s*(.+?)\s*$", source, re.MULTILINE)
    if found is None:
        return absent("torch/version.py does not say")
    literal = found.group(1).strip("'\"")
    return absent("not built in") if literal == "None" else literal


# ---- workload --------------------------------------------------------------------------------------------------------


def _git(machine: Machine) -> dict[str, Any]:
    """The commit of the workload's folder. Raises Unread where it is no repository."""

    off: tuple[str, ...] = ()

    def git(*arguments: str) -> str:
        settings = {**machine.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        return _output(repository.command(machine.folder, *arguments, off=off), GIT_TIMEOUT_S, env=settings)

    commit = git("rev-parse", "HEAD")
    with suppress(Unread):  # none are configured
        off = repository.without_filters(git)
    return {
        "commit": commit,
        "branch": _or_absent(lambda: git("rev-parse", "--abbrev-ref", "HEAD")),
        "dirty": _or_absent(lambda: bool(git("status", "--porcelain", "--untracked-files=no"))),
    }


_RELEVANT: Final = re.compile(
    r"^(OMP_|MKL_|OPENBLAS_|BLIS_|GOMP_|KMP_|NUMEXPR_|NCCL_|RCCL_|GLOO_|TP_|UCX_|FI_|MPI_|OMPI_|CUDA|CUBLAS_|CUDNN_|NVIDIA_|TF32|"
    r"HIP_|ROCR_|HSA_|XLA_|TORCH|PYTORCH_|TORCHELASTIC_|TRITON_|ASSAY_|SLURM_|PBS_|LSB_|RAY_|VLLM_|SGLANG_|LLAMA_|"
    r"HF_|TRANSFORMERS_|TOKENIZERS_|DATASETS_|MALLOC_|LD_PRELOAD$|LD_LIBRARY_PATH$|PYTHON|VIRTUAL_ENV$|CONDA_DEFAULT_ENV$|"
    r"MASTER_|RANK$|WORLD_SIZE$|LOCAL_RANK$|LOCAL_WORLD_SIZE$|GROUP_RANK$|KUBERNETES_SERVICE_HOST$|container$|TZ$|LANG$|LC_ALL$)"
)


def _variables(machine: Machine, secrets: tuple[str, ...]) -> dict[str, str]:
    chosen = {name: value for name, value in machine.environ.items() if _RELEVANT.match(name)}
    return dict(sorted(redact_environment(chosen, secrets).items()))


# ---- the table, and what others call -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """One key of the captured environment."""

    key: str  # group.name
    meaning: str
    source: str
    read: Callable[[Machine], Any]


FIELDS: Final = (
    Field("host.name", "name of the host", "gethostname(2)", lambda _: socket.gethostname()),
    Field("host.os", "operating system", "/etc/os-release", _os_name),
    Field("host.kernel", "kernel release", "uname(2)", lambda _: platform.release()),
    Field("host.machine", "instruction set", "uname(2)", lambda _: platform.machine()),
    Field("host.uptime_s", "seconds since boot", "/proc/uptime", _uptime),
    Field("host.virtualisation", "hypervisor, if one is seen", "/sys/class/dmi/id, /sys/hypervisor, CPU flags", _virtualisation),
    Field(
        "host.container",
        "hints at a container or batch system; an empty list says that none was found",
        "/.dockerenv, cgroup, environment",
        _container,
    ),
    Field("host.aslr", "address space randomisation", "/proc/sys/kernel/randomize_va_space", _aslr),
    Field("cpu.model", "processor model", "/proc/cpuinfo", _cpu_model),
    Field("cpu.logical", "logical processors of the machine", "sysconf", lambda _: os.cpu_count()),
    Field("cpu.physical", "physical cores of the machine", "/proc/cpuinfo", _physical_cores),
    Field("cpu.usable", "processors that this process may run on", "sched_getaffinity(2)", _usable),
    Field(
        "cpu.smt",
        "simultaneous multithreading: on, off, forceoff, notsupported, notimplemented",
        "/sys/devices/system/cpu/smt/control",
        _smt,
    ),
    Field("cpu.governors", "frequency governors in use", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", _governors),
    Field("cpu.numa", "NUMA nodes and their processors", "/sys/devices/system/node", _numa),
    Field("memory.total_bytes", "physical memory", "/proc/meminfo MemTotal", lambda m: _memory(m, "MemTotal")),
    Field(
        "memory.available_bytes", "memory that could be given out now", "/proc/meminfo MemAvailable", lambda m: _memory(m, "MemAvailable")
    ),
    Field(
        "memory.swap_total_bytes", "swap space; 0 means that there is none", "/proc/meminfo SwapTotal", lambda m: _memory(m, "SwapTotal")
    ),
    Field("memory.swap_free_bytes", "free swap space", "/proc/meminfo SwapFree", lambda m: _memory(m, "SwapFree")),
    Field("noise.load", "load average over 1, 5 and 15 minutes", "/proc/loadavg", _load),
    Field("noise.threads", "runnable and existing threads", "/proc/loadavg", _threads),
    Field("noise.steal_ticks", "processor time taken by the hypervisor since boot, clock ticks", "/proc/stat cpu, 8th number", _steal),
    Field("noise.cpu_ticks", "processor time since boot by use, clock ticks", "/proc/stat cpu", cpu_ticks),
    Field(
        "noise.pressure_cpu",
        "time since boot in which tasks waited for a processor, microseconds",
        "/proc/pressure/cpu",
        lambda m: pressure(m, "cpu"),
    ),
    Field(
        "noise.pressure_memory",
        "time since boot in which tasks waited for memory, microseconds",
        "/proc/pressure/memory",
        lambda m: pressure(m, "memory"),
    ),
    Field(
        "noise.pressure_io",
        "time since boot in which tasks waited for input or output, microseconds",
        "/proc/pressure/io",
        lambda m: pressure(m, "io"),
    ),
    Field("cgroup.cpu_quota", "processors that the control group may use", "cpu.max (v2), cpu.cfs_quota_us (v1)", _cpu_quota),
    Field("cgroup.throttled", "how often and how long the quota stopped the group", "cpu.stat", throttled),
    Field("cgroup.memory_limit", "memory that the control group may use", "memory.max (v2), memory.limit_in_bytes (v1)", _memory_limit),
    Field("gpu.nvidia", "driver and devices", "NVML (package nvidia-ml-py), else nvidia-smi", _gpus),
    Field("software.python", "interpreter, its build and the flags that are set", "sys, platform", lambda _: _python()),
    Field("software.packages", "every installed distribution and its version", "importlib.metadata", lambda _: _packages()),
    Field(
        "software.torch", "torch build: version, CUDA, HIP, commit; thread settings", "torch/version.py, not imported; environment", _torch
    ),
    Field("workload.git", "commit, branch and whether tracked files were changed, of the workload's folder", "git", _git),
)

# Written by `capture` itself, because it needs the secrets.
VARIABLES: Final = "workload.variables"
VARIABLES_MEANING: Final = "environment variables that can change a measurement; secrets are removed"


def capture(secrets: Iterable[str] = (), *, folder: Path | None = None, machine: Machine | None = None) -> dict[str, Any]:
    """The environment now, JSON-able: group -> name -> value or `{"absent": reason}`. Never raises.

    Args:
        secrets: values to remove wherever they occur, besides those that the environment itself gives away.
        folder: the workload's folder, whose git commit is recorded; default: the current one.
        machine: where to read everything; default: this machine.
    """
    machine = machine or Machine(folder=folder or Path("."))
    known = (*secret_values(machine.environ), *secrets)
    captured: dict[str, Any] = {}
    for item in FIELDS:
        _put(captured, item.key, _cleaned(_or_absent(partial(item.read, machine)), known))
    _put(captured, VARIABLES, _or_absent(partial(_variables, machine, known)))
    return captured


def capture_keys(keys: Iterable[str], machine: Machine | None = None) -> dict[str, Any]:
    """Some keys of the environment now, in the order asked for: key -> value or `{"absent": reason}`. Never raises."""
    machine = machine or Machine()
    fields = {item.key: item for item in FIELDS}
    return {key: _or_absent(partial(fields[key].read, machine)) for key in keys}


def _put(captured: dict[str, Any], key: str, value: Any) -> None:
    group, name = key.split(".", 1)
    captured.setdefault(group, {})[name] = value


def _cleaned(value: Any, secrets: tuple[str, ...]) -> Any:
    """Every text in `value` without secrets: a branch name or a package may carry one too."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, Mapping):
        return {key: _cleaned(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner, secrets) for inner in value]
    return value


def reference() -> str:
    """The reference page docs/reference/environment.md, from `FIELDS`."""
    rows = [f"| `{item.key}` | {item.meaning} | {item.source} |" for item in FIELDS]
    rows.append(f"| `{VARIABLES}` | {VARIABLES_MEANING} | environment |")
    return "\n".join((_REFERENCE_HEAD, *rows, ""))


_REFERENCE_HEAD: Final = """# The environment in a record

`manifest.json` holds the environment twice, under `environment.before` and `environment.after`. What could not be read is
`{"absent": "<reason>"}`: never 0 and never an empty text. Secrets are replaced by `[redacted]`.
This page is generated from `FIELDS` in `src/assay/record/environment.py`.

| key | meaning | source |
|---|---|---|"""
