"""Names on the list that lead where no command may go."""

from probe import *

NAMES = """
private.test lan.test lan172.test cgnat.test linklocal.test meta.test meta6.test wire.test
loop.test loop6.test zero.test zero6.test broadcast.test multicast.test bench.test ula.test
mapped.test nat64.test sixtofour.test teredo.test sitelocal.test own.test own6.test
""".split()


def control():
    side_by_side(try_it, NAMES)


def attack():
    side_by_side(every_way, NAMES)


def try_it(name):
    say("control", name, hello_in(send(name, 80, request(name, "/" + TOKEN))))


def every_way(name):
    get = request(name, "/" + TOKEN)
    say("direct", name, send(name, 80, get))
    say("secure", name, tls(name, 443, name, get))
    say("tunnel", name, tunnel(name + ":80", get))
    say("socks", name, by_socks(name, 80, get))
    say("absolute", name, absolute(name, "/" + TOKEN))


start(attack, control)
