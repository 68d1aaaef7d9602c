"""Writes down what arrived, and from whom."""

import json
import os
import threading


class Log:
    def __init__(self, path, role, sides):
        # One write to a file opened for appending is one line, whoever else writes.
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.role = role
        self.sides = sides
        self.lock = threading.Lock()
        self.count = 0

    def write(self, kind, source, **values):
        source = plain(source)
        line = {"kind": kind, "at": self.role, "from": self.sides.get(source, source), **values}
        os.write(self.file, json.dumps(line).encode() + b"\n")

    def connection(self, connection, peer, port):
        """Returns what writes down a connection's events."""
        with self.lock:
            self.count += 1
            number = self.count
        to = plain(connection.getsockname()[0])

        def seen(kind, **values):
            self.write(kind, peer[0], to=to, port=port, connection=number, **values)

        seen("tcp")
        return seen


def plain(address):
    return address.removeprefix("::ffff:")
