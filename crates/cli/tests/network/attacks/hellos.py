"""First bytes of TLS that were made by hand."""

from probe import *

PLAIN = hello("allowed.test")
NAMELESS = hello(None)
MARK = TOKEN.encode()
HELLOS = {
    "ech": with_extension(PLAIN, 0xFE0D, bytes(40) + MARK),
    "second name": with_extension(PLAIN, 0, server_names((0, b"denied.test" + MARK))),
    "no name": NAMELESS,
    "name of another kind": with_extension(NAMELESS, 0, server_names((1, b"allowed.test"))),
    "two in one list": with_extension(
        NAMELESS, 0, server_names((0, b"allowed.test"), (0, b"denied.test"))
    ),
    "empty name": with_extension(NAMELESS, 0, server_names((0, b""))),
    "name with zero": with_extension(NAMELESS, 0, server_names((0, b"allowed.test\0"))),
    "empty list": with_extension(NAMELESS, 0, b"\0\0"),
    "no list": with_extension(NAMELESS, 0, b""),
    "old": b"\x80\x2e\1\3\1\0\x15\0\0\0\x10" + bytes(21) + MARK,
    "cut short": PLAIN[:60] + MARK,
    "not a hello": b"\x16\3\1\0\4\2\0\0\0" + MARK,
    "alert first": b"\x15\3\1\0\2\1\0" + PLAIN,
    "length lies": PLAIN[:3] + b"\0\x20" + PLAIN[5:] + MARK,
    "huge": b"\x16\3\1\x40\0\1\xff\xff\xff" + b"a" * 16380 + MARK,
}


def control():
    # The server at this port sends back whatever it gets.
    send("allowed.test", 9000, HELLOS["ech"])


def attack():
    patience(1)
    side_by_side(every_way, HELLOS)
    patience(LONG)
    say("split", attempt(split, 50, 0.02))
    say("split", attempt(split, 1, 0))
    say("records", attempt(records, 100))


def every_way(kind):
    say("direct", kind, send("allowed.test", 443, HELLOS[kind]))
    say("tunnel", kind, tunnel("allowed.test:443", HELLOS[kind]))


def split(size, gap):
    """Sends a good hello in small pieces."""
    with dial("allowed.test", 443) as stream:
        for at in range(0, len(PLAIN), size):
            stream.sendall(PLAIN[at : at + size])
            time.sleep(gap)
        return "answered" if read(stream).startswith("\x16\3") else "not answered"


def records(size):
    """Sends a good hello in more than one record."""
    body = PLAIN[5:]
    with dial("allowed.test", 443) as stream:
        for at in range(0, len(body), size):
            part = body[at : at + size]
            stream.sendall(PLAIN[:3] + struct.pack("!H", len(part)) + part)
        return "answered" if read(stream).startswith("\x16\3") else "not answered"


start(attack, control)
