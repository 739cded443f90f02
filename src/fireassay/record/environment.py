"""On which machine and with which software did this run, so that two records may be compared?

`capture` reads it before and after an experiment; `FIELDS` gives the meaning and source of each key.
An unreadable value is `{"absent": "<reason>"}`, never 0 or an empty string.  Nothing here imports torch or
needs a GPU, and nothing raises: a machine that cannot be described can still be measured.

How is git run in an untrusted folder without executing commands from its configuration?

A received folder may hold a .git/config with `core.fsmonitor`, hooks or filters: commands that `git status` would run.
They are disabled; the user's own configuration (global, system) stays.  Without the repository's filters an unchanged file may
appear as changed.
Source: https://git-scm.com/docs/git-config, https://git-scm.com/docs/gitattributes (filter).

Where are the results of `assay doctor` kept, and what of them does every record carry?

One file per machine in the user's state folder (XDG Base Directory Specification: $XDG_STATE_HOME, else ~/.local/state):

    assay/doctor/<machine key>.json

The key is derived from coarse hardware facts (processor model, processors, gigabytes of memory, architecture), never from a
reading: a new kernel or host name leaves the machine the same, and a home folder that several machines share holds one file
for each.  Files are versioned and written atomically (temporary file, rename); a newer, damaged or unreadable file counts as
absent, with the reason.  The results of `assay doctor client` are under `client` in the same file; neither check overwrites
the other's result.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay import __version__
from fireassay.record import files
from fireassay.record import machine as facts
from fireassay.record.machine import Machine, Unread, absent, or_absent, tool_output
from fireassay.record.origin import state_folder
from fireassay.record.secrets.redact import redact, redact_environment, secret_values

QUIET: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
LOCAL: Final = ("local", "worktree")  # configuration scopes inside the repository
FILTERS: Final = ("config", "--show-scope", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$")


def command(folder: Path, *words: str, off: tuple[str, ...] = ()) -> list[str]:
    """The git command line; `off`: the result of `without_filters`."""
    return ["git", *QUIET, *off, "-C", str(folder), *words]


def without_filters(ask: Callable[..., str]) -> tuple[str, ...]:
    """The arguments that disable the repository's own filters; `ask` runs git with arguments and returns its output."""
    fields = ask(*FILTERS).split("\0")
    names = [name for scope, name in zip(fields[::2], fields[1::2], strict=False) if scope in LOCAL]
    return tuple(word for name in dict.fromkeys(names) for word in ("-c", f"{name}={'false' if name.endswith('.required') else ''}"))


GIT_TIMEOUT_S: Final = 2.0
PYTHON_TIMEOUT_S: Final = 60.0  # an environment on a network's file system may take seconds to list


def _os_name(machine: Machine) -> str:
    try:
        text = machine.text("/etc/os-release")
    except Unread:
        return f"{platform.system()} {platform.release()}"
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', text, re.MULTILINE)
    return match.group(1) if match else text.splitlines()[0]


def _virtualisation(machine: Machine) -> str:
    """The hypervisor, as far as this machine reveals it: a CPU flag shows that there is one, DMI names it."""
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
    """Signs of a container or a batch system. Empty if none was found."""
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
    minute, five, fifteen = machine.text("/proc/loadavg").split()[:3]
    return {"1min": float(minute), "5min": float(five), "15min": float(fifteen)}


def _threads(machine: Machine) -> dict[str, int]:
    runnable, total = machine.text("/proc/loadavg").split()[3].split("/")
    return {"runnable": int(runnable), "total": int(total)}


def _aslr(machine: Machine) -> str:
    value = machine.number("/proc/sys/kernel/randomize_va_space")
    return {0: "off", 1: "stack and libraries", 2: "full"}.get(value, str(value))


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
    """Every installed distribution and its version, without damaged ones that lack either."""
    versions: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        metadata = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
        # Only the headers, by regular expression: parsing the whole as an email message takes five times as long.
        head = dict(reversed(_NAMED.findall(_BLANK.split(metadata, maxsplit=1)[0])))
        if head.get("Name") and head.get("Version"):
            versions.setdefault(head["Name"].lower(), head["Version"])  # the first on the path is the one imported
    return dict(sorted(versions.items()))


_BLANK: Final = re.compile(r"\r?\n\r?\n")
_NAMED: Final = re.compile(r"^(Name|Version):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)


def _torch(machine: Machine) -> dict[str, Any]:
    """The torch build, from its installed files: importing torch would cost seconds and memory."""
    try:
        distribution = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError as error:
        raise Unread("torch is not installed") from error
    text = or_absent(lambda: Path(str(distribution.locate_file("torch/version.py"))).read_text())
    source = text if isinstance(text, str) else ""
    names = ("cuda", "hip", "git_version", "debug")
    threads = {name: machine.environ.get(name) or absent("not set") for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    return {"version": distribution.version, **{name: _assigned(source, name) for name in names}, "threads": threads}


def _assigned(source: str, name: str) -> Any:
    """The literal assigned to `name` in torch/version.py."""
    match = re.search(rf"^{name}(?:\s*:[^=\n]+)?\s*=\s*(.+?)\s*$", source, re.MULTILINE)
    if match is None:
        return absent("torch/version.py does not state it")
    literal = match.group(1).strip("'\"")
    return absent("not built in") if literal == "None" else literal


def _git(machine: Machine) -> dict[str, Any]:
    """The commit of the workload's folder. Raises Unread if it is not a repository."""

    off: tuple[str, ...] = ()

    def git(*arguments: str) -> str:
        settings = {**machine.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        return tool_output(command(machine.folder, *arguments, off=off), GIT_TIMEOUT_S, env=settings)

    commit = git("rev-parse", "HEAD")
    with suppress(Unread):  # no filters are configured
        off = without_filters(git)
    return {
        "commit": commit,
        "branch": or_absent(lambda: git("rev-parse", "--abbrev-ref", "HEAD")),
        "dirty": or_absent(lambda: bool(git("status", "--porcelain", "--untracked-files=no"))),
    }


_RELEVANT: Final = re.compile(
    r"^(OMP_|MKL_|OPENBLAS_|BLIS_|GOMP_|KMP_|NUMEXPR_|NCCL_|RCCL_|GLOO_|TP_|UCX_|FI_|MPI_|OMPI_|CUDA|CUBLAS_|CUDNN_|NVIDIA_|TF32|"
    r"HIP_|ROCR_|HSA_|XLA_|TORCH|PYTORCH_|TORCHELASTIC_|TRITON_|FIREASSAY_(?!CONFIG$)|SLURM_|PBS_|LSB_|RAY_|VLLM_|SGLANG_|LLAMA_|"
    r"HF_|TRANSFORMERS_|TOKENIZERS_|DATASETS_|MALLOC_|LD_PRELOAD$|LD_LIBRARY_PATH$|PYTHON|VIRTUAL_ENV$|CONDA_DEFAULT_ENV$|"
    r"MASTER_|RANK$|WORLD_SIZE$|LOCAL_RANK$|LOCAL_WORLD_SIZE$|GROUP_RANK$|KUBERNETES_SERVICE_HOST$|container$|TZ$|LANG$|LC_ALL$)"
)


def _variables(machine: Machine, secrets: tuple[str, ...]) -> dict[str, str]:
    chosen = {name: value for name, value in machine.environ.items() if _RELEVANT.match(name)}
    return dict(sorted(redact_environment(chosen, secrets).items()))


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
        "host.container", "signs of a container or batch system; an empty list: none found", "/.dockerenv, cgroup, environment", _container
    ),
    Field("host.aslr", "address space randomisation", "/proc/sys/kernel/randomize_va_space", _aslr),
    Field("cpu.model", "processor model", "/proc/cpuinfo", facts.cpu_model),
    Field("cpu.logical", "logical processors of the machine", "sysconf", lambda _: os.cpu_count()),
    Field("cpu.physical", "physical cores of the machine", "/proc/cpuinfo", facts.physical_cores),
    Field("cpu.usable", "processors that this process may run on", "sched_getaffinity(2)", facts.usable_processors),
    Field(
        "cpu.smt",
        "simultaneous multithreading: on, off, forceoff, notsupported, notimplemented",
        "/sys/devices/system/cpu/smt/control",
        facts.smt,
    ),
    Field("cpu.governors", "frequency governors in use", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", facts.governors),
    Field("cpu.numa", "NUMA nodes and their processors", "/sys/devices/system/node", facts.numa_nodes),
    Field("memory.total_bytes", "physical memory", "/proc/meminfo MemTotal", lambda m: facts.memory_bytes(m, "MemTotal")),
    Field(
        "memory.available_bytes",
        "memory available for allocation now",
        "/proc/meminfo MemAvailable",
        lambda m: facts.memory_bytes(m, "MemAvailable"),
    ),
    Field("memory.swap_total_bytes", "swap space; 0: none", "/proc/meminfo SwapTotal", lambda m: facts.memory_bytes(m, "SwapTotal")),
    Field("memory.swap_free_bytes", "free swap space", "/proc/meminfo SwapFree", lambda m: facts.memory_bytes(m, "SwapFree")),
    Field("noise.load", "load average over 1, 5 and 15 minutes", "/proc/loadavg", _load),
    Field("noise.threads", "runnable and existing threads", "/proc/loadavg", _threads),
    Field(
        "noise.steal_ticks",
        "processor time taken by the hypervisor since boot, clock ticks",
        "/proc/stat cpu, 8th number",
        facts.steal_ticks,
    ),
    Field("noise.cpu_ticks", "processor time since boot by use, clock ticks", "/proc/stat cpu", facts.cpu_ticks),
    Field(
        "noise.pressure_cpu",
        "time since boot in which tasks waited for a processor, microseconds",
        "/proc/pressure/cpu",
        lambda m: facts.pressure(m, "cpu"),
    ),
    Field(
        "noise.pressure_memory",
        "time since boot in which tasks waited for memory, microseconds",
        "/proc/pressure/memory",
        lambda m: facts.pressure(m, "memory"),
    ),
    Field(
        "noise.pressure_io",
        "time since boot in which tasks waited for input or output, microseconds",
        "/proc/pressure/io",
        lambda m: facts.pressure(m, "io"),
    ),
    Field("cgroup.cpu_quota", "processors that the control group may use", "cpu.max (v2), cpu.cfs_quota_us (v1)", facts.cpu_quota),
    Field("cgroup.throttled", "how often and how long the quota stopped the group", "cpu.stat", facts.throttled),
    Field(
        "cgroup.memory_limit", "memory that the control group may use", "memory.max (v2), memory.limit_in_bytes (v1)", facts.memory_limit
    ),
    Field("gpu.nvidia", "driver and devices", "NVML (package nvidia-ml-py), else nvidia-smi", facts.nvidia_gpus),
    Field("software.python", "interpreter, its build and the flags that are set", "sys, platform", lambda _: _python()),
    Field("software.packages", "every installed distribution and its version", "importlib.metadata", lambda _: _packages()),
    Field(
        "software.torch", "torch build: version, CUDA, HIP, commit; thread settings", "torch/version.py, not imported; environment", _torch
    ),
    Field("workload.git", "commit, branch and whether tracked files were changed, of the workload's folder", "git", _git),
)

# `capture` writes this key itself because it needs the secrets.
VARIABLES: Final = "workload.variables"
VARIABLES_MEANING: Final = "environment variables that can change a measurement; secrets are removed"


OF_WORKERS: Final = ("software.python", "software.packages", "software.torch")
_HOME: Final = str(Path(__file__).resolve().parents[1])
# In the workers' Python, which may have no Fireassay, or another: this one is read from its folder, and nothing comes on the path.
_ASK: Final = f"""
import json, sys, importlib.util as u
spec = u.spec_from_file_location("fireassay", {_HOME + "/__init__.py"!r}, submodule_search_locations=[{_HOME!r}])
sys.modules["fireassay"] = package = u.module_from_spec(spec); spec.loader.exec_module(package)
from fireassay.record.environment import OF_WORKERS, capture_keys
print(json.dumps(list(capture_keys(OF_WORKERS).values())))
"""


def _of_workers(python: str) -> dict[str, Any]:
    """The software of another Python: key -> value, or why it is absent."""
    try:
        *_, answer = tool_output([python, "-P", "-c", _ASK], PYTHON_TIMEOUT_S).splitlines() or [""]  # its start may print too
        return dict(zip(OF_WORKERS, json.loads(answer), strict=True))
    except (Unread, ValueError, TypeError) as error:
        return {key: absent(f"{Path(python).name} does not tell: {error}") for key in OF_WORKERS}


def capture(secrets: Iterable[str] = (), *, folder: Path | None = None, machine: Machine | None = None, python: str = "") -> dict[str, Any]:
    """The environment now, JSON-able: group -> name -> value or `{"absent": reason}`. Never raises.

    Args:
        secrets: values to remove wherever they occur, besides those found in the environment itself.
        folder: the workload's folder, whose git commit is recorded; default: the current folder.
        machine: where to read; default: this machine.
        python: the workers' Python, if it is another than this one: `OF_WORKERS` are then its own.
    """
    machine = machine or Machine(folder=folder or Path("."))
    known = (*secret_values(machine.environ), *secrets)
    captured: dict[str, Any] = {}
    found = {item.key: or_absent(partial(item.read, machine)) for item in FIELDS} | (_of_workers(python) if python else {})
    for key, value in found.items():
        _put(captured, key, _cleaned(value, known))
    _put(captured, VARIABLES, or_absent(partial(_variables, machine, known)))
    return captured


def capture_keys(keys: Iterable[str], machine: Machine | None = None) -> dict[str, Any]:
    """The given keys of the environment now, in order: key -> value or `{"absent": reason}`. Never raises."""
    machine = machine or Machine()
    fields = {item.key: item for item in FIELDS}
    return {key: or_absent(partial(fields[key].read, machine)) for key in keys}


def _put(captured: dict[str, Any], key: str, value: Any) -> None:
    group, name = key.split(".", 1)
    captured.setdefault(group, {})[name] = value


def _cleaned(value: Any, secrets: tuple[str, ...]) -> Any:
    """`value` with secrets removed from every string: even a branch or package name may hold one."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, Mapping):
        return {key: _cleaned(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner, secrets) for inner in value]
    return value


def reference() -> str:
    """The page docs/reference/environment.md, generated from `FIELDS`."""
    rows = [f"| `{item.key}` | {item.meaning} | {item.source} |" for item in FIELDS]
    rows.append(f"| `{VARIABLES}` | {VARIABLES_MEANING} | environment |")
    return "\n".join((_REFERENCE_HEAD, *rows, ""))


_REFERENCE_HEAD: Final = """# The environment in a record

`manifest.json` holds the environment twice, under `environment.before` and `environment.after`. What could not be read is
`{"absent": "<reason>"}`: never 0 and never an empty text. Secrets are replaced by `[redacted]`.
This page is generated from `FIELDS` in `src/fireassay/record/environment.py`.

| key | meaning | source |
|---|---|---|"""


FITNESS_VERSION: Final = 1
STALE_DAYS: Final = 30
NEVER: Final = "assay doctor was never run on this machine"
NEVER_CLIENT: Final = "assay doctor client was never run on this machine"
CLIENT: Final = "client"
GIB: Final = 1024**3
# The part of the result that a record carries; the rest stays in the file.
# fmt: off
CARRIED: Final = (
    "utc", "assay_version", "fitness", "noise_floor", "noise_floor_apart", "minimum_detectable_effect_k5", "false_alarm_rate",
    "false_alarm_rate_apart", "drift_over_the_run", "autocorrelation", "clock", "launches", "seconds",
)
# fmt: on
CARRIED_CLIENT: Final = ("utc", "assay_version", "python", "fitness", "errors", "ceiling", "timer_lag_ms", "loop_lag_ms", "seconds")


def fitness_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the results."""
    return state_folder(environ) / "doctor"


def machine_key(machine: Machine | None = None) -> str:
    """Identifies the machine by its hardware: 12 hexadecimal digits, stable across restarts."""
    seen = capture_keys(("cpu.model", "cpu.logical", "cpu.physical", "memory.total_bytes"), machine)
    total = seen["memory.total_bytes"]
    memory = round(total / GIB) if isinstance(total, int) else None
    known = [platform.machine(), *(seen[name] if isinstance(seen[name], str | int) else None for name in list(seen)[:3]), memory]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:12]


def write_fitness(result: Mapping[str, Any], *, machine: Machine | None = None, at: Path | None = None) -> Path:
    """Keep a result of `assay doctor` for later records. Returns its path. Raises RecordError: the state folder cannot be written."""
    content = _content(machine, at)
    client = {CLIENT: content[CLIENT]} if CLIENT in content else {}
    return _write({**result, **client}, machine, at)


def write_client_fitness(result: Mapping[str, Any], *, machine: Machine | None = None, at: Path | None = None) -> Path:
    """Keep a result of `assay doctor client` beside the machine's. Returns its path.

    Raises:
        RecordError: the state folder cannot be written.
    """
    content = _content(machine, at)
    return _write({**({} if "absent" in content else content), CLIENT: dict(result)}, machine, at)


def _write(content: Mapping[str, Any], machine: Machine | None, at: Path | None) -> Path:
    path = (at or fitness_folder()) / f"{machine_key(machine)}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, json.dumps({"version": FITNESS_VERSION, **content}, indent=2).encode())
    except OSError as error:
        raise files.explain(error, path, "keep the result of assay doctor in") from error
    return path


def read_fitness(*, machine: Machine | None = None, at: Path | None = None) -> dict[str, Any]:
    """The machine's stored result, or `{"absent": reason}`. Never raises."""
    content = _content(machine, at)
    if "absent" in content:
        return content
    rest = {name: value for name, value in content.items() if name != CLIENT}
    return rest if rest.keys() - {"version"} else absent(NEVER)


def read_client_fitness(*, machine: Machine | None = None, at: Path | None = None) -> dict[str, Any]:
    """The client's stored result, or `{"absent": reason}`. Never raises."""
    content = _content(machine, at)
    if "absent" in content:
        return content if content["absent"] != NEVER else absent(NEVER_CLIENT)
    client = content.get(CLIENT)
    return client if isinstance(client, dict) else absent(NEVER_CLIENT)


def _content(machine: Machine | None, at: Path | None) -> dict[str, Any]:
    try:
        path = (at or fitness_folder()) / f"{machine_key(machine)}.json"
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return absent(NEVER)
    except (OSError, ValueError, RuntimeError) as error:
        return absent(f"the result of assay doctor cannot be read: {error}")
    if not isinstance(content, dict) or not isinstance(content.get("version"), int):
        return absent(f"{path.name} holds no result of assay doctor")
    if content["version"] > FITNESS_VERSION:
        return absent(f"the result of assay doctor was written by a newer assay ({content.get('assay_version')})")
    return content


def carried_fitness(now: datetime, *, machine: Machine | None = None, at: Path | None = None) -> dict[str, Any]:
    """The entry `environment.before.doctor` of a record, marked if stale. Never raises.

    `client` holds the client's calibration, if there is one, marked likewise.
    """
    fitness = _carried(read_fitness(machine=machine, at=at), CARRIED, now)
    client = read_client_fitness(machine=machine, at=at)
    return fitness if "absent" in client else {**fitness, CLIENT: _carried(client, CARRIED_CLIENT, now)}


def _carried(fitness: Mapping[str, Any], names: tuple[str, ...], now: datetime) -> dict[str, Any]:
    if "absent" in fitness:
        return dict(fitness)
    kept = {name: fitness.get(name) for name in names}
    why = stale_fitness(fitness, now)
    return {**kept, "stale": why} if why else kept


def stale_fitness(found: Mapping[str, Any], now: datetime) -> str:
    """Why the check should be repeated; empty if it need not be."""
    who = "assay doctor client" if "ceiling" in found else "assay doctor"
    if found.get("assay_version") != __version__:
        return f"made by assay {found.get('assay_version')}, this is {__version__}: run {who} again"
    try:
        days = (now - datetime.fromisoformat(str(found.get("utc")))).days
    except (ValueError, TypeError):
        return f"without a readable date: run {who} again"
    return f"{days} days old: run {who} again" if days > STALE_DAYS else ""
