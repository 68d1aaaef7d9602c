"""Services on the host's own loopback, and at its own address."""

from probe import *

NAMES = """
localhost LOCALHOST localhost. host.zonekeep 127.0.0.1 127.1 0 0.0.0.0 [::1] [::]
[::ffff:127.0.0.1] 2130706433 0x7f.1 127.0.0.2 localhost.localdomain x.localhost
192.0.2.2 [2001:db8:a::2]
""".split()


def attack():
    for name in NAMES:
        for port in (80, 8081):
            get = request(name, "/" + TOKEN)
            say("direct", send(name.strip("[]"), port, get))
            say("tunnel", tunnel(f"{name}:{port}", get))
            say("socks", by_socks(name, port, get))
            say("absolute", absolute(f"{name}:{port}", "/" + TOKEN))
    get = request("localhost", "/" + TOKEN)
    say("binary", by_socks("127.0.0.1", 8081, get, 1))
    say("binary", by_socks("::1", 8081, get, 4))


start(attack)
