"""Datagrams: QUIC, time, anything."""

from probe import *

TARGETS = """
203.0.113.10 203.0.113.20 8.8.8.8 2001:db8::10 10.0.0.5 allowed.test www.allowed.test
""".split()
NEAR = """
127.0.0.1 198.18.0.1 198.18.0.2 255.255.255.255 224.0.0.251 192.0.2.1 192.0.2.2
""".split()
QUIC = b"\xc0\0\0\0\1\x08" + TOKEN.encode() + bytes(1200)


def control():
    for host in TARGETS:
        for port in (123, 443, 4433, 7000):
            say("udp", ask(address(host), TOKEN.encode(), port))


def attack():
    for host in TARGETS + NEAR:
        for port in (53, 123, 443, 4433, 7000, 3128):
            say("udp", ask(address(host), TOKEN.encode(), port, 0.05))
            say("udp", ask(address(host), QUIC, port, 0.05))
    say("broadcast", attempt(broadcast))
    # SOCKS knows how to listen and how to relay datagrams; this one must not.
    for command in (2, 3):
        say("relay", attempt(relay, command))


def address(host):
    found = attempt(lambda: socket.getaddrinfo(host, 9)[0][4][0])
    return host if found.startswith("fault") else found


def broadcast():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.sendto(TOKEN.encode(), ("255.255.255.255", 7000))


def relay(command):
    with dial(*proxy()) as stream:
        stream.sendall(b"\5\1\0")
        exactly(stream, 2)
        stream.sendall(b"\5" + bytes([command]) + b"\0\1\xcb\0\x71\x0a\0\x50")
        return "granted" if exactly(stream, 2)[1] == 0 else "refused"


start(attack, control)
