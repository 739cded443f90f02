"""How does torchrun start a worker that is a fork of another process?

    python -I -S worker_proxy.py SOCKET script.py ARGUMENT...

torchrun starts this program in the worker's place.  It asks the launch's supervisor (`fork_server.py`) for a fork that has its environment,
working folder and standard streams, passes on the signals that end a worker, and ends as the worker ends.  Standard library only.
"""

import json
import os
import signal
import socket
import sys

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def main(words: list[str]) -> int:
    """Returns the worker's exit code; where a signal ended it, the same signal ends this process."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as supervisor:
        supervisor.connect(words[0])
        wanted = {"argv": words[1:], "cwd": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(supervisor, [json.dumps(wanted).encode()], [0, 1, 2])
        worker = json.loads(supervisor.recv(4096))["pid"]
        for number in ENDING:
            signal.signal(number, lambda received, _: os.kill(worker, received))
        answer = supervisor.recv(4096)  # continued after a signal (PEP 475)
    if not answer:
        return 1  # the supervisor is gone, and the worker with it
    code = os.waitstatus_to_exitcode(json.loads(answer)["status"])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
