"""What happens when a worker's network gets narrow?  The sending of one interface is held to a rate (tc, a token bucket).

It holds for everything that the interface sends, in the network namespace of the victim: on a machine that does other things, name
an interface that only the job uses.  Undone by taking the rule away: by a process of its own that waits for that on a pipe, so that
the rule goes too if assay is killed meanwhile.  An interface that has a rule of somebody's own is refused.
A kernel's queue drops what does not fit for 50 ms (`LATENCY_MS`), as a narrow link does: senders see it and slow down.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pydantic import Field

from assay.errors import EnvironmentLacks, Problem, SpecError
from assay.faults.support.base import Fault, Undo, Victim, of_kind
from assay.spec.plan import PlannedFault
from assay.spec.sections.faults import Fault as Asked

LATENCY_MS = 50
LONGEST_S = 10.0
NOBODYS = ("noqueue", "pfifo_fast", "fq_codel", "fq", "mq")  # what the kernel gives an interface by itself


class Keys(Asked):
    """What may be asked for."""

    interface: str = Field("", description="the network interface whose sending is held back, for example eth0.")
    rate_mbit: float = Field(10.0, gt=0.0, le=1_000_000.0, description="what is left of its bandwidth, Mbit/s (1e6 bits).")


def check_training(asked: Keys) -> None:
    """Whether it can be done here.

    Raises:
        SpecError: no interface is named.
        EnvironmentLacks: the programs are missing, or this user may not.
    """
    if not asked.interface:
        found = ", ".join(sorted(one.name for one in Path("/sys/class/net").glob("*"))) or "none that can be listed"
        raise SpecError(
            (
                Problem(
                    where="faults[].interface",
                    found="nothing",
                    allowed='a network interface where kind = "throttle"',
                    mend=f"Name the one that the job's traffic takes. This machine has: {found}.",
                ),
            )
        )
    for program, package in (("tc", "iproute2"), ("nsenter", "util-linux")):
        if shutil.which(program) is None:
            raise EnvironmentLacks(f"there is no {program} here, which holds a network interface back. Install it ({package}).")


def rule(interface: str, rate_mbit: float) -> list[str]:
    """The words of tc that hold an interface back; the bucket holds what it may send in 10 ms, at least four large frames."""
    burst = max(4 * 1600, round(rate_mbit * 1e6 / 8 * 0.010))
    shape = ["rate", f"{round(rate_mbit * 1e6)}bit", "burst", f"{burst}b", "latency", f"{LATENCY_MS}ms"]
    return ["qdisc", "replace", "dev", interface, "root", "tbf", *shape]


def strike(victim: Victim, fault: PlannedFault) -> Undo:
    """Hold the interface back; undone by taking the rule away.

    Raises:
        OSError: the interface is not there, has a rule already, or this user may not.
    """
    asked = of_kind(Keys, fault)
    # The namespace's file stays open, so that the rule can be taken away when the victim is gone.
    namespace = open(f"/proc/{victim.pid}/ns/net", "rb")  # noqa: SIM115

    def tc(*words: str) -> str:
        line = ["nsenter", f"--net=/proc/self/fd/{namespace.fileno()}", "tc", *words]
        done = subprocess.run(line, capture_output=True, text=True, timeout=LONGEST_S, check=False, pass_fds=(namespace.fileno(),))
        if done.returncode:
            said = done.stderr.strip() or f"code {done.returncode}"
            raise OSError(f"tc {' '.join(words)}: {said}. It needs the right CAP_NET_ADMIN (root).")
        return done.stdout

    try:
        words = tc("qdisc", "show", "dev", asked.interface, "root").split()
        if len(words) > 1 and words[1] not in NOBODYS:
            raise OSError(f"{asked.interface} is held back already, by a rule of kind {words[1]}, which is not assay's to take away")
        waiting = _will_free(namespace.fileno(), asked.interface)
        try:
            tc(*rule(asked.interface, asked.rate_mbit))
        except BaseException:
            waiting.kill()  # there is nothing to take away
            waiting.communicate()
            raise
    finally:
        namespace.close()  # whoever frees the interface has it open itself
    return lambda: _free(waiting)


def _will_free(namespace: int, interface: str) -> subprocess.Popen[str]:
    """A process that takes the rule away once its standard input is closed, by the undoing or by this process's end."""
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
    """Take the rule away.

    Raises:
        OSError: it could not be.
    """
    try:
        _, said = waiting.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        waiting.kill()
        waiting.communicate()
        raise OSError(f"tc did not take the rule away within {LONGEST_S:g} s") from None
    if waiting.returncode:
        raise OSError(f"tc could not take the rule away: {said.strip() or f'code {waiting.returncode}'}")


FAULT = Fault(name="throttle", keys=Keys, strike=strike, check_training=check_training, ends_worker=False)
