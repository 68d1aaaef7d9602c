"""A name that the list denies, below one that it allows."""

from probe import *


def control():
    send("www.allowed.test", 80, request("www.allowed.test", "/" + TOKEN))


def attack():
    for name in ("www.allowed.test", "WWW.Allowed.TEST", "www.allowed.test."):
        get = request(name, "/" + TOKEN)
        say("denied", send(name, 80, get))
        say("denied", tunnel(name + ":80", get))
        say("denied", by_socks(name, 80, get))
        say("denied", send("allowed.test", 80, get))
        say("denied", tls("x.allowed.test", 443, name, get))
    say("other", hello_in(send("x.allowed.test", 80, request("x.allowed.test", "/other"))))


start(attack, control)
