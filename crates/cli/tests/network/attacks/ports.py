"""The right name, at a port that is not listed."""

from probe import *

PLACES = [
    ("allowed.test", 8080),
    ("allowed.test", 8443),
    ("allowed.test", 9000),
    ("allowed.test", 25),
    ("allowed.test", 7),
    ("www.allowed.test", 80),
    ("www.allowed.test", 443),
]
# Texts that are no name with a port.
ODD = """
allowed.test:0 allowed.test:65536 allowed.test:80:443 allowed.test:-1 allowed.test:+80
allowed.test:0x50 allowed.test: allowed.test :80 allowed.test:80/ allowed.test:٨٠
""".split() + ["allowed.test: 80", "allowed.test:80 "]


def control():
    for name, port in PLACES:
        send(name, port, request(name, "/" + TOKEN))


def attack():
    for name, port in PLACES:
        get = request(name, "/" + TOKEN)
        say("direct", send(name, port, get))
        say("tunnel", tunnel(f"{name}:{port}", get))
        say("socks", by_socks(name, port, get))
        say("absolute", absolute(f"{name}:{port}", "/" + TOKEN))
    for target in ODD:
        say("odd", tunnel(wire(target), request("allowed.test", "/" + TOKEN)))
    get = request("www.allowed.test:8080", "/listed")
    say("listed", hello_in(send("www.allowed.test", 8080, get)))
    say("listed", hello_in(tunnel("www.allowed.test:8080", get)))


start(attack, control)
