"""A port of the host's loopback that is on the list, and others."""

from probe import *


def attack():
    get = request("localhost:8081", "/listed")
    for name in ("localhost", "127.0.0.1", "host.zonekeep"):
        say("listed", hello_in(send(name, 8081, get)))
        say("listed", hello_in(tunnel(name + ":8081", get)))
    say("listed", hello_in(send("::1", 8081, get)))
    bad = request("localhost", "/" + TOKEN)
    for port in (80, 9000, 53, 3128, 22):
        say("other", tunnel(f"localhost:{port}", bad))
        say("other", by_socks("localhost", port, bad))


start(attack)
