"""How does a command run on a node that an engine lends?

    python -I -S held_exec.py SOCKET NODE COMMAND...

The process that holds the nodes (`ray_group.py`, `kubernetes_job.py`) listens on the socket and runs the command on that node, with this
process's input and output.  It ends when the command does, or the connection.  Standard library only.
"""

import json
import os
import socket
import sys
import threading

CHUNK = 1 << 16


def _send_input(connection: socket.socket) -> None:
    while data := os.read(0, CHUNK):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def main(path: str, node: str, words: list[str]) -> None:
    """Relay until the command's output ends."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(json.dumps({"node": int(node), "words": words}).encode() + b"\n")
        threading.Thread(target=_send_input, args=(connection,), daemon=True).start()
        while data := connection.recv(CHUNK):
            os.write(1, data)
    os._exit(0)  # the thread may still wait for input


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
