"""Names that begin or end like the allowed one, and are others or none at all."""

from probe import *

ALIKE = [
    "denied.test", "allowed.test.denied.test", "xallowed.test", "allowed-test", "allowedxtest",
    "allowed.testx", "allowed.test.test", "test", ".allowed.test", "..allowed.test",
    "allowed..test", "allowed.test..", "*.allowed.test", "*", "-allowed.test", "", ".",
    # Parts of addresses of pages.
    "allowed.test@denied.test", "denied.test@allowed.test", "user:word@allowed.test",
    "denied.test#allowed.test", "denied.test#.allowed.test", "denied.test/.allowed.test",
    "denied.test?.allowed.test", "denied.test\\.allowed.test", "denied.test:80#.allowed.test",
    "denied.test:80@allowed.test", "denied.test%2eallowed.test", "denied.test%00.allowed.test",
    "[allowed.test]", "[allowed.test", "allowed.test]", "http://allowed.test",
    # What ends a text for some readers.
    "denied.test\0.allowed.test", "allowed.test\0.denied.test", "allowed.test\0",
    "\0allowed.test", "denied.test .allowed.test", "allowed.test denied.test", " allowed.test",
    "allowed.test ", "allowed.test\t", "denied.test\n.allowed.test", "allowed.test\ndenied.test",
    "allowed.test\r\nHost: denied.test", "allowed.test\r", "denied.test,allowed.test",
    "denied.test;allowed.test", "denied.test|allowed.test",
    # One letter is Cyrillic, as it is and as names are sent.
    "аllowed.test", "xn--llowed-4nf.test", "xn--allowed-.test", "xn--allowed.test",
    # Letters and dots that become others when names are made plain.
    "allowed。test", "allowed．test", "ａllowed.test", "allowed\u00ad.test", "al\u200blowed.test",
    "ALLOWED.TE\u017fT", "allowed.test\u2024denied.test",
    # Too long.
    "a" * 64 + ".allowed.test", "a." * 130 + "allowed.test",
]  # fmt: skip
BYTES = [name.encode() for name in ALIKE] + [b"allowed\xff.test", b"allowed.test\x80"]


def control():
    send("denied.test", 80, request("denied.test", "/" + TOKEN))


def attack():
    patience(1)
    for name in BYTES:
        text = name.decode("latin-1")
        get = request("allowed.test", "/" + TOKEN)
        # Names end at a zero for the programs inside themselves.
        say("direct", "ends early" if b"\0" in name else send(name, 80, get))
        say("tunnel", tunnel(text + ":80", get))
        say("socks", by_socks(text, 80, get) if len(name) < 256 else "too long")
        # Blanks around a name are not part of it in a header.
        if text.strip() != "allowed.test":
            say("absolute", absolute(text, "/" + TOKEN))
            say("host", send("allowed.test", 80, request(text, "/" + TOKEN)))


start(attack, control)
