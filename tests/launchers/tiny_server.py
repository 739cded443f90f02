"""A tiny HTTP server that is started as a replica: python tiny_server.py PORT [OPTION=VALUE ...]

Options: ready_after (seconds until /health answers 200), children (how many processes it starts), say (a line to print),
variable (the name of an environment variable to print), die (exit code with which it ends at once).
Answers GET with its process id, POST with the body that it got.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OPTIONS = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
BEGIN = time.monotonic()


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        ready = time.monotonic() - BEGIN >= float(OPTIONS.get("ready_after", "0"))
        self.answer(200 if ready else 503, str(os.getpid()).encode())

    def do_POST(self) -> None:
        self.answer(200, self.rfile.read(int(self.headers["content-length"])))

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


def main() -> None:
    print("listening on", sys.argv[1], OPTIONS.get("say", ""), os.environ.get(OPTIONS.get("variable", ""), ""), flush=True)
    if "die" in OPTIONS:
        raise SystemExit(int(OPTIONS["die"]))
    for _ in range(int(OPTIONS.get("children", "0"))):
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()


if __name__ == "__main__":
    main()
