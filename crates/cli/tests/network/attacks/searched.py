"""Names on the list that do not exist, on a host that then looks elsewhere."""

from probe import *


def control():
    say("control", hello_in(send("missing.test", 80, request("missing.test", "/" + TOKEN))))


def attack():
    for name in ("missing.test", "nothing.empty.test", TOKEN + ".empty.test"):
        get = request(name, "/" + TOKEN)
        say("missing", send(name, 80, get))
        say("missing", tunnel(name + ":80", get))
        say("missing", by_socks(name, 80, get))
    get = request("hosts.test", "/in-a-file")
    say("file", hello_in(send("hosts.test", 80, get)))
    say("file", hello_in(tunnel("hosts.test:80", get)))


start(attack, control)
