"""How are nodes of a Ray cluster held, and commands run on them?

    python -I ray_group.py      input: {"address": ..., "most": ..., "per_node": ..., "threads": ..., "resources": {...}, "wait_s": ..., "folder": ...}

One placement group, STRICT_SPREAD: a bundle of resources on each node, with an actor that runs commands there.  It prints one line of
JSON about the nodes, then serves `held_exec.py` until the end of its input.  Neither group nor actors are detached: however this process
ends, Ray frees them.  A command outlives its actor only until it reads the end of its own input, as a supervisor does: Ray would
kill a child of the actor before that has cleaned up, so a command is no child of it.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

POLL_S = 0.5
CHUNK = 1 << 16
COMMANDS = 1000  # calls of an actor at once: each command reads in one
ORPHANED = 'exec 3<&0; "$@" <&3 3<&- &'


class Node:
    """The actor: commands by key."""

    def __init__(self) -> None:
        self.commands: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, key: str, words: list[str]) -> None:
        """Start a command whose parent ends at once."""
        pipe = subprocess.PIPE
        self.commands[key] = subprocess.Popen(["/bin/sh", "-c", ORPHANED, "sh", *words], stdin=pipe, stdout=pipe, start_new_session=True)

    def write(self, key: str, data: bytes) -> None:
        """Hand on input; b"" ends it."""
        to = self.commands[key].stdin
        assert to is not None
        with suppress(BrokenPipeError, ValueError):
            if data:
                to.write(data)
                to.flush()
            else:
                to.close()

    def read(self, key: str) -> bytes:
        """The next output; b"" at its end."""
        output = self.commands[key].stdout
        assert output is not None
        data = os.read(output.fileno(), CHUNK)
        if not data:
            self.commands.pop(key).wait()
        return data

    def hold(self) -> None:
        """Never returns: a result means that the actor, or its node, has died."""
        threading.Event().wait()


def bundle_of(asked: Mapping[str, Any], alive: list[dict[str, Any]]) -> tuple[int, dict[str, float]]:
    """Workers of each node, and the resources that one node lends."""
    gpus = [int(node["Resources"]["GPU"]) for node in alive if node["Resources"].get("GPU")]
    per_node = int(asked["per_node"] or min(gpus, default=1))
    here = min(per_node, int(asked["most"]))
    return per_node, {"CPU": float(here * asked["threads"]), **({"GPU": float(here)} if gpus else {}), **asked["resources"]}


def fitting(alive: list[dict[str, Any]], bundle: Mapping[str, float]) -> list[dict[str, Any]]:
    """Nodes that have the resources, free or not."""
    return [node for node in alive if all(node["Resources"].get(name, 0.0) >= amount for name, amount in bundle.items())]


def names_of(nodes: list[dict[str, Any]]) -> list[str]:
    """A name for each: Ray's own where these are unique, else the beginning of its id."""
    names = [str(node["NodeName"]) for node in nodes]
    return names if len(set(names)) == len(names) else [node["NodeID"][:8] for node in nodes]


def _ray() -> Any:
    return importlib.import_module("ray")  # half typed


def _ended() -> bool:
    return bool(select.select([0], [], [], 0)[0]) and not os.read(0, CHUNK)


def _grouped(asked: Mapping[str, Any]) -> tuple[Any, int, dict[str, float]]:
    from ray.util.placement_group import placement_group

    ray, deadline, group = _ray(), time.monotonic() + asked["wait_s"], None
    while True:
        alive = [node for node in ray.nodes() if node["Alive"]]
        per_node, bundle = bundle_of(asked, alive)
        count = -(-asked["most"] // per_node)
        need = f"{count} node{'s' * (count > 1)} with {', '.join(f'{amount:g} {name}' for name, amount in bundle.items())} each"
        if (have := len(fitting(alive, bundle))) < count and time.monotonic() >= deadline:
            sys.exit(
                f"needed are {need}; {have} of its {len(alive)} nodes have that. If an autoscaler starts more, set launcher.ray.wait_s."
            )
        if group is None:
            print(f"waiting for {need}", file=sys.stderr, flush=True)
            group = placement_group([bundle] * count, strategy="STRICT_SPREAD")
        if group.wait(1):
            return group, per_node, bundle
        if _ended():
            sys.exit(0)


def main(asked: Mapping[str, Any]) -> None:
    """Hold the nodes until the end of input, or until one of them dies."""
    from ray.util.placement_group import placement_group_table
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    ray = _ray()
    try:
        ray.init(address=asked["address"] or os.environ.get("RAY_ADDRESS") or "auto", log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        sys.exit(" ".join(str(error).split()))
    group, per_node, bundle = _grouped(asked)
    rest = {name: amount for name, amount in bundle.items() if name not in ("CPU", "GPU")}
    options = {"num_cpus": bundle["CPU"], "num_gpus": bundle.get("GPU", 0), "resources": rest, "max_concurrency": COMMANDS}
    actors = [
        ray.remote(Node).options(**options, scheduling_strategy=PlacementGroupSchedulingStrategy(group, place)).remote()
        for place in range(len(group.bundle_specs))
    ]
    by_id = {node["NodeID"]: node for node in ray.nodes()}
    nodes = [by_id[node] for _, node in sorted(placement_group_table(group)["bundles_to_node_id"].items())]
    holds = [actor.hold.remote() for actor in actors]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(Path(asked["folder"]) / "ray"))
        listener.listen(COMMANDS)
        facts = {"version": ray.__version__, "address": ray.get_runtime_context().gcs_address, "group": group.id.hex(), "bundle": bundle}
        hosts = [{"name": name, "address": node["NodeManagerAddress"]} for name, node in zip(names_of(nodes), nodes, strict=True)]
        print(json.dumps({"socket": listener.getsockname(), "per_node": per_node, "hosts": hosts, "facts": facts}), flush=True)
        ends: list[Any] = [0, listener]
        last_words, quiet = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)  # Ray's messages: nobody reads the pipe until this process has ended
        while not _ended():
            if dead := ray.wait(holds, timeout=0)[0]:
                os.write(last_words, f"its node {hosts[holds.index(dead[0])]['name']} died\n".encode())
                sys.exit(1)
            if listener in select.select(ends, [], [], POLL_S)[0]:
                threading.Thread(target=_serve, args=(listener.accept()[0], actors), daemon=True).start()
    ray.shutdown()


def _serve(connection: socket.socket, actors: list[Any]) -> None:
    ray = _ray()
    with suppress(OSError, ray.exceptions.RayError):
        request, _, rest = _first_line(connection)
        wanted = json.loads(request)
        actor, key = actors[wanted["node"]], os.urandom(8).hex()
        ray.get(actor.start.remote(key, wanted["words"]))
        threading.Thread(target=_send_input, args=(connection, actor, key, rest), daemon=True).start()
        while data := ray.get(actor.read.remote(key)):
            connection.sendall(data)
    with connection, suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # close() alone waits for the thread that reads


def _first_line(connection: socket.socket) -> tuple[bytes, bytes, bytes]:
    received = b""
    while b"\n" not in received:
        received += connection.recv(CHUNK) or b"\n"
    return received.partition(b"\n")


def _send_input(connection: socket.socket, actor: Any, key: str, data: bytes) -> None:
    ray = _ray()
    with suppress(OSError, ray.exceptions.RayError):
        if data:
            ray.get(actor.write.remote(key, data))
        while data := _received(connection):
            ray.get(actor.write.remote(key, data))
        ray.get(actor.write.remote(key, b""))


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(CHUNK)
    except OSError:  # held_exec.py was killed
        return b""


if __name__ == "__main__":
    main(json.loads(sys.stdin.readline()))
