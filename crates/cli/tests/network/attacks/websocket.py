"""A WebSocket client, by hand."""

from probe import *


def frame(text):
    data = text.encode()
    return bytes([0x81, 0x80 | len(data)]) + bytes(4) + data


def upgrade(path="/ws", *more):
    about = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    about += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *more]
    lines = [f"GET {path} HTTP/1.1", "Host: allowed.test", *about, "", ""]
    return "\r\n".join(lines).encode()


def talk(stream):
    with stream:
        stream.sendall(upgrade())
        head = b""
        while b"\r\n\r\n" not in head:
            head += exactly(stream, 1)
        if b" 101 " not in head:
            return head
        stream.sendall(frame("first") + frame("second"))
        return exactly(stream, 2 + 5 + 2 + 6)


def secured(stream):
    return careless().wrap_socket(stream, server_hostname="allowed.test")


def attack():
    say("talk", attempt(lambda: talk(dial("allowed.test", 80))))
    say("talk", attempt(lambda: talk(connect("allowed.test:80")[0])))
    say("talk", attempt(lambda: talk(secured(dial("allowed.test", 443)))))
    say("talk", attempt(lambda: talk(secured(connect("allowed.test:443")[0]))))


if __name__ == "__main__":
    start(attack)
