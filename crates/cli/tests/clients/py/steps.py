"""What the Python clients share: lines of JSON for the driver, and the server."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

PATIENCE = 120.0
TOKEN = "sesame-open-0123456789abcdef0123456789"


# What has to end with this program.
SERVERS: list[subprocess.Popen] = []


def limit(seconds: float) -> None:
    """Ends the program when it takes too long."""

    def end() -> None:
        print("the session takes too long", file=sys.stderr, flush=True)
        for server in SERVERS:
            server.kill()
        os._exit(3)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def say(step: str, value: object) -> None:
    print(json.dumps({"step": step, "value": value}), flush=True)


def running(word: str) -> bool:
    """Returns whether a process runs that has the word among its arguments."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                if word in file.read().split("\0"):
                    return True
        except OSError:
            continue
    return False


class HttpServer:
    """The server for clients that come over HTTP."""

    def __init__(self, program: str) -> None:
        with open(os.open("../token", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(TOKEN + "\n")
        args = [program, "mcp", "--http", "127.0.0.1:0", "--token-file", "../token"]
        with open("../stderr", "w") as errors:
            self.child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stderr=errors)
        SERVERS.append(self.child)
        end = time.monotonic() + PATIENCE
        while (address := re.search(r"listening on (http:\S+)\n", self.stderr())) is None:
            if self.child.poll() is not None or time.monotonic() > end:
                self.child.kill()
                raise RuntimeError(f"the server does not listen: {self.stderr()}")
            time.sleep(0.02)
        self.url = address[1]
        self.headers = {"Authorization": f"Bearer {TOKEN}"}

    def stderr(self) -> str:
        with open("../stderr") as file:
            return file.read()

    def stop(self) -> dict[str, int | None]:
        self.child.send_signal(signal.SIGTERM)
        try:
            status = self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.child.kill()
            status = self.child.wait()
        return {"exit": status, "signal": None} if status >= 0 else {"exit": None, "signal": -status}
