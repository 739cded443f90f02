"""How does the system behave when a worker's network bandwidth drops?

The egress of one interface is rate-limited (tc-tbf(8), a token bucket).  The limit applies to everything that the interface sends in
the victim's network namespace: on a shared machine, name an interface that only the job uses.  A separate process holds a pipe and
removes the rule when the pipe closes, so the rule is removed even if assay is killed.  An interface that already has a rule is refused.
Packets that would wait longer than 50 ms (`LATENCY_MS`) are dropped, as on a narrow link, and senders back off.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pydantic import Field

from fireassay.errors import EnvironmentLacks, refuse
from fireassay.faults.support.base import Fault, Undo, Victim, of_kind
from fireassay.spec.plan import PlannedFault
from fireassay.spec.sections.faults import Fault as FaultSpec

LATENCY_MS = 50
MAX_S = 10.0
NOBODYS = ("noqueue", "pfifo_fast", "fq_codel", "fq", "mq")  # qdiscs that the kernel sets by default


class Keys(FaultSpec):
    """Keys of this fault."""

    interface: str = Field("", description="the network interface whose egress is limited, for example eth0.")
    rate_mbit: float = Field(10.0, gt=0.0, le=1_000_000.0, description="the remaining bandwidth, Mbit/s (1e6 bits).")


def check_training(asked: Keys) -> None:
    """Check that this machine can throttle.

    Raises:
        SpecError: no interface given.
        EnvironmentLacks: a program or a permission is missing.
    """
    if not asked.interface:
        interfaces = ", ".join(sorted(interface.name for interface in Path("/sys/class/net").glob("*"))) or "none that can be listed"
        raise refuse(
            "faults[].interface",
            "nothing",
            'a network interface where kind = "throttle"',
            f"Name the one that the job's traffic takes. This machine has: {interfaces}.",
        )
    for program, package in (("tc", "iproute2"), ("nsenter", "util-linux")):
        if shutil.which(program) is None:
            raise EnvironmentLacks(f"there is no {program} here, which limits a network interface. Install it ({package}).")


def rule(interface: str, rate_mbit: float) -> list[str]:
    """Arguments of tc that limit an interface; the bucket holds 10 ms of traffic, at least four 1600-byte frames."""
    burst = max(4 * 1600, round(rate_mbit * 1e6 / 8 * 0.010))
    shape = ["rate", f"{round(rate_mbit * 1e6)}bit", "burst", f"{burst}b", "latency", f"{LATENCY_MS}ms"]
    return ["qdisc", "replace", "dev", interface, "root", "tbf", *shape]


def strike(victim: Victim, fault: PlannedFault) -> Undo:
    """Limit the interface; the undo removes the rule.

    Raises:
        OSError: the interface does not exist, already has a rule, or permission is denied.
    """
    spec = of_kind(Keys, fault)
    # Keep the namespace's file open, so that the rule can be removed after the victim exits.
    namespace = open(f"/proc/{victim.pid}/ns/net", "rb")  # noqa: SIM115

    def tc(*words: str) -> str:
        line = ["nsenter", f"--net=/proc/self/fd/{namespace.fileno()}", "tc", *words]
        done = subprocess.run(line, capture_output=True, text=True, timeout=MAX_S, check=False, pass_fds=(namespace.fileno(),))
        if done.returncode:
            message = done.stderr.strip() or f"code {done.returncode}"
            raise OSError(f"tc {' '.join(words)}: {message}. It needs the right CAP_NET_ADMIN (root).")
        return done.stdout

    try:
        words = tc("qdisc", "show", "dev", spec.interface, "root").split()
        if len(words) > 1 and words[1] not in NOBODYS:
            raise OSError(f"{spec.interface} is already limited by a rule of kind {words[1]} that assay did not create")
        waiting = _will_free(namespace.fileno(), spec.interface)
        try:
            tc(*rule(spec.interface, spec.rate_mbit))
        except BaseException:
            waiting.kill()  # there is nothing to remove
            waiting.communicate()
            raise
    finally:
        namespace.close()  # the removing process holds its own descriptor
    return lambda: _free(waiting)


def _will_free(namespace: int, interface: str) -> subprocess.Popen[str]:
    """A process that removes the rule when its standard input closes: on undo, or when this process exits."""
    line = ["nsenter", f"--net=/proc/self/fd/{namespace}", "sh", "-c", 'cat > /dev/null; exec tc qdisc del dev "$0" root', interface]
    return subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(namespace,),
        start_new_session=True,
    )


def _free(waiting: subprocess.Popen[str]) -> None:
    """Remove the rule. Raises OSError: it could not be removed."""
    try:
        _, message = waiting.communicate(timeout=MAX_S)
    except subprocess.TimeoutExpired:
        waiting.kill()
        waiting.communicate()
        raise OSError(f"tc did not remove the rule within {MAX_S:g} s") from None
    if waiting.returncode:
        raise OSError(f"tc could not remove the rule: {message.strip() or f'code {waiting.returncode}'}")


FAULT = Fault(name="throttle", keys=Keys, strike=strike, check_training=check_training, ends_worker=False)
