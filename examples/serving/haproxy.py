"""How does a real reverse proxy stand before an engine's replicas?  Writes a configuration for HAProxy and becomes HAProxy.

    router = ["python", "examples/serving/haproxy.py", "{port}", "{ports}"]      # in [[serving.targets]]
    python examples/serving/haproxy.py 8000 8001,8002 --check /health --balance leastconn

It checks every replica ten times a second, takes one that fails twice out, and sends a request whose connection is refused to
another.  Nothing is written to disk: the configuration is handed over in memory.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys

CONFIGURATION = """\
defaults
    mode http
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    timeout check 2s        # else the interval of the checks: an engine on busy processors would seem down between two of them
    retries 2
    option http-no-delay    # else small pieces of a stream wait to be sent together
    option redispatch
    option http-keep-alive
frontend load
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance {balance}
    option httpchk GET {check}
    default-server check inter 100ms fall 2 rise 1
{servers}
"""


def configuration(port: int, ports: list[int], check: str, balance: str) -> str:
    """HAProxy's configuration file."""
    servers = "\n".join(f"    server replica-{number} 127.0.0.1:{own}" for number, own in enumerate(ports))
    return CONFIGURATION.format(port=port, balance=balance, check=check, servers=servers)


def main() -> None:
    """Read the arguments and become HAProxy."""
    parser = argparse.ArgumentParser(description="HAProxy before replicas on this host.")
    parser.add_argument("port", type=int)
    parser.add_argument("ports", help="of the replicas, with commas")
    parser.add_argument("--check", default="/health", help="the path that answers 200 while a replica serves")
    parser.add_argument("--balance", default="leastconn", choices=["leastconn", "roundrobin", "random"])
    asked = parser.parse_args()
    ports = [int(word) for word in asked.ports.split(",")]
    haproxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")
    if haproxy is None:
        sys.exit("haproxy is not installed: apt-get install haproxy (or leave `router` out: the client then shares requests out itself)")
    file = os.memfd_create("haproxy.cfg", 0)  # inherited
    os.write(file, configuration(asked.port, ports, asked.check, asked.balance).encode())
    os.execv(haproxy, [haproxy, "-db", "-f", f"/proc/self/fd/{file}"])


if __name__ == "__main__":
    main()
