"""Much that is refused, and at the end what matters."""

from probe import *


def attack():
    for number in range(1500):
        ask("127.0.0.1", question(f"junk{number}.denied.test"))
    for number in range(150):
        tunnel(f"other{number}.denied.test:443", b"")
    for number in range(150):
        send("allowed.test", 80, request("denied.test", "/"))
    say("last", tunnel("matters.denied.test:443", b""))


start(attack)
