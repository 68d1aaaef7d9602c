"""One name in more than one spelling."""

from probe import *

NAMES = "ALLOWED.test Allowed.Test allowed.test. xn--bcher-kva.test XN--BCHER-KVA.test".split()


def attack():
    for name in NAMES:
        get = request(name, "/spelled")
        say("spelled", hello_in(send(name, 80, get)))
        say("spelled", hello_in(tunnel(name + ":80", get)))
        say("spelled", hello_in(by_socks(name, 80, get)))
    get = request("xn--bcher-kva.test", "/spelled")
    say("spelled", hello_in(send("bücher.test", 80, get)))
    get = request("allowed.test", "/spelled")
    say("spelled", hello_in(tls("allowed.test", 443, "ALLOWED.TEST", get)))


start(attack)
