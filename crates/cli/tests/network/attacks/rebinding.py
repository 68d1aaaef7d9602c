"""Names whose answers change from one question to the next."""

from probe import *

NAMES = ["rebind.test", "rebound.test", "rebindlocal.test"]


def control():
    for turn in range(8):
        send("rebind.test", 80, request("rebind.test", "/" + TOKEN))


def attack():
    for turn in range(12):
        for name in NAMES:
            get = request(name, "/public")
            say("answer", hello_in(send(name, 80, get)))
            say("answer", hello_in(tunnel(name + ":80", get)))
            say("answer", hello_in(by_socks(name, 80, get)))


start(attack, control)
