"""A name whose names below it are allowed, and it is not."""

from probe import *


def control():
    send("allowed.test", 80, request("allowed.test", "/" + TOKEN))


def attack():
    get = request("allowed.test", "/" + TOKEN)
    say("itself", send("allowed.test", 80, get))
    say("itself", tunnel("allowed.test:80", get))
    say("itself", tls_tunnel("www.allowed.test:443", "allowed.test", get))
    say("itself", send("www.allowed.test", 80, get))
    for name in ("www.allowed.test", "some.allowed.test"):
        say("below", hello_in(send(name, 80, request(name, "/below"))))
        say("below", hello_in(tunnel(name + ":80", request(name, "/below"))))


start(attack, control)
