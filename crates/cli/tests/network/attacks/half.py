"""Clients that close their half of a connection, and wait."""

from probe import *


def half(port, data):
    with dial("allowed.test", port) as stream:
        stream.sendall(data)
        stream.shutdown(socket.SHUT_WR)
        return read(stream)


def attack():
    say("half", attempt(half, 80, request("allowed.test", "/slow?seconds=1")))
    say("half", attempt(half, 9000, b"0123456789"))


start(attack)
