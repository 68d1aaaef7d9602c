"""Sends the gate much that it has to keep, or so it may think."""

from probe import *


def attack():
    say("frames", attempt(frames))
    say("heads", attempt(heads, b"GET / HTTP/1.1\r\nHost: allowed.test\r\nX: ", "allowed.test", 80))
    say("heads", attempt(heads, b"\x16\3\1\x40\0\1\0\xff\xff", "allowed.test", 443))
    say("heads", attempt(heads, b"GET http://allowed.test/", *proxy()))


def frames():
    """Empty questions over TCP, and then whatever."""
    with dial("127.0.0.1", 53) as stream:
        stream.sendall(b"\0\0")
        for number in range(300):
            stream.sendall(bytes(1 << 20))
    return "all of it was taken"


def heads(start, host, port):
    """Beginnings that never end."""
    held = []
    for number in range(1500):
        stream = attempt(dial, host, port)
        if isinstance(stream, str):
            break
        stream.setblocking(False)
        attempt(stream.send, start + b"a" * 60000)
        held.append(stream)
    time.sleep(0.5)
    return len(held)


start(attack)
