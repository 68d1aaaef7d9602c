"""Questions that are none."""

from probe import *

PLAIN = question("allowed.test")
HEAD = PLAIN[:12]
TYPED = b"\0\1\0\1"
ODD = [
    b"\0",
    PLAIN[:11],
    HEAD,
    PLAIN[:-1],
    PLAIN[:20],
    PLAIN + bytes(400),
    PLAIN * 3,
    # An answer, another kind of question, none, two, very many.
    PLAIN[:2] + b"\x80\0" + PLAIN[4:],
    PLAIN[:2] + b"\x29\0" + PLAIN[4:],
    PLAIN[:4] + b"\0\0" + PLAIN[6:],
    PLAIN[:4] + b"\0\2" + PLAIN[6:] + PLAIN[12:],
    PLAIN[:4] + b"\xff\xff" + PLAIN[6:],
    # Names that point at themselves, of unknown form, too long, empty.
    HEAD + b"\xc0\x0c" + TYPED,
    HEAD + b"\x03abc\xc0\x0c" + TYPED,
    HEAD + b"\x40abc\0" + TYPED,
    HEAD + b"\x3f" * 400,
    HEAD + b"\1a" * 200 + b"\0" + TYPED,
    HEAD + b"\0" + TYPED,
    question("allowed.test", klass=3),
    question("allowed.test", klass=255),
    question("a\0b.test"),
    question("allowed.test") + b"\0\0\x29\x10\0\0\0\x80\0\0\0",
    os.urandom(512),
    bytes(65000),
]


def attack():
    for data in ODD:
        say("udp", status(ask("127.0.0.1", data, patience=0.2)))
    size = struct.pack("!H", len(PLAIN))
    say("stream", attempt(stream, size + PLAIN))
    say("stream", attempt(stream, size[:1], size[1:], PLAIN[:5], PLAIN[5:]))
    say("stream", attempt(stream, size + PLAIN + size + PLAIN))
    for data in ODD:
        say("odd stream", attempt(stream, struct.pack("!H", len(data)) + data))
    say("odd stream", attempt(stream, b"\0\0"))
    say("odd stream", attempt(stream, b"\xff\xff" + os.urandom(70000)))
    held = [attempt(dial, "127.0.0.1", 53) for number in range(100)]
    say("still", status(ask("127.0.0.1", PLAIN)))
    del held


def stream(*parts):
    with dial("127.0.0.1", 53) as sock:
        for part in parts:
            sock.sendall(part)
            time.sleep(0.02)
        sock.settimeout(0.3)
        return "answered" if len(sock.recv(4096)) > 30 else "not answered"


start(attack)
