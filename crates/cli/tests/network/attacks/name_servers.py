"""Name servers other than the one inside, by every way there is to ask one."""

from probe import *

SERVERS = """
8.8.8.8 1.1.1.1 203.0.113.53 192.0.2.1 203.0.113.10 2001:db8::53 10.0.0.5
""".split()
ASKED = question(TOKEN + ".denied.test")
STREAM = struct.pack("!H", len(ASKED)) + ASKED


def control():
    for server in SERVERS:
        say("udp", status(ask(server, ASKED)))
        say("tcp", "answered" if TOKEN in send(server, 53, STREAM) else "no")
        say("tls", "answered" if TOKEN in tls(server, 853, "denied.test", STREAM) else "no")


def attack():
    patience(1)
    side_by_side(every_way, SERVERS + ["allowed.test"])
    post = request("dns.denied.test", "/dns-query", f"Content-Length: {len(ASKED)}", method="POST")
    say("https", tls("allowed.test", 443, "dns.denied.test", post + ASKED))
    say("https", tls_tunnel("dns.denied.test:443", "dns.denied.test", post + ASKED))
    say("https", send("allowed.test", 80, post + ASKED))


def every_way(server):
    for port in (53, 853, 5353, 443):
        say("udp", ask(server, ASKED, port, 0.2))
    for port in (53, 853):
        say("tcp", send(server, port, STREAM))
        say("tls", tls(server, port, "allowed.test", STREAM))
        say("tunnel", tunnel(f"{server}:{port}", STREAM))
        say("tunnel", tls_tunnel(f"{server}:{port}", "allowed.test", STREAM))
        say("socks", by_socks(server, port, STREAM))


start(attack, control)
