"""An address on the list, and its neighbours."""

from probe import *

OTHERS = [("10.9.9.8", 8080), ("10.9.9.9", 80), ("10.9.9.9", 8081), ("10.9.9.9", 22)]


def control():
    send("10.9.9.8", 8080, request("10.9.9.8", "/" + TOKEN))


def attack():
    get = request("10.9.9.9:8080", "/listed")
    say("listed", hello_in(send("10.9.9.9", 8080, get)))
    say("listed", hello_in(tunnel("10.9.9.9:8080", get)))
    say("listed", hello_in(by_socks("10.9.9.9", 8080, get, 1)))
    bad = request("10.9.9.9:8080", "/" + TOKEN)
    for host, port in OTHERS:
        say("other", send(host, port, bad))
        say("other", tunnel(f"{host}:{port}", bad))
        say("other", by_socks(host, port, bad, 1))


start(attack, control)
