"""A name with a public and a private address."""

from probe import *


def control():
    say(send("10.0.0.5", 80, request("mixed.test", "/" + TOKEN)))


def attack():
    for turn in range(8):
        say("direct", hello_in(send("mixed.test", 80, request("mixed.test", "/mixed"))))
        say("tunnel", hello_in(tunnel("mixed.test:80", request("mixed.test", "/mixed"))))


start(attack, control)
