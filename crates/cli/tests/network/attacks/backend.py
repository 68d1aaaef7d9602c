"""What has to hold however a command is confined."""

from probe import *


def attack():
    get, bad = request("allowed.test", "/backend"), request("denied.test", "/backend")
    if proxy_word():
        say("without a word", tunnel("allowed.test:80", get, word=None))
        say("without a word", tunnel("allowed.test:80", get, word="zonekeep:x"))
        say("without a word", by_socks("allowed.test", 80, get, word=None))
        say("without a word", by_socks("allowed.test", 80, get, word="zonekeep:x"))
    say("good", hello_in(tunnel("allowed.test:80", get)))
    say("good", hello_in(by_socks("allowed.test", 80, get)))
    say("good", hello_in(tls_tunnel("allowed.test:443", "allowed.test", get)))
    for port in (80, 443):
        say("bad", tunnel(f"denied.test:{port}", bad))
        say("bad", by_socks("denied.test", port, bad))
        say("bad", send("203.0.113.20", port, bad))
        say("bad", send("denied.test", port, bad))
        say("bad", tls("203.0.113.20", port, "allowed.test", bad))
    say("bad", tls_tunnel("allowed.test:443", "denied.test", bad))
    say("bad", tunnel("allowed.test:80", bad))
    say("bad", tunnel("127.0.0.1:8081", bad))
    say("bad", send("127.0.0.1", 8081, bad))


start(attack)
