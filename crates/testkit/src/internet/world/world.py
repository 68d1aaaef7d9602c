"""The servers of an Internet that exists only in a network namespace.

world.py CONFIG beyond    every address there is, with servers on its ports
world.py CONFIG host      what the host itself offers: services on its loopback

Whatever arrives is written to a log, one JSON object in a line, before it is
answered. The process ends when its standard input does.
"""

import json
import os
import socket
import ssl
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import datagrams
import goods
import packets
import raw
import web
from log import Log

CONFIG = json.load(open(sys.argv[1]))
ROLE = sys.argv[2]


def listen(port, serve, address="::"):
    """Serves each connection to a port on a thread of its own."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address != "::")
    listener.bind((address, port))
    listener.listen(4096)

    def one(connection, peer):
        try:
            connection.settimeout(30)
            serve(connection, LOG.connection(connection, peer, port))
        except (OSError, ValueError, ssl.SSLError):
            pass
        finally:
            connection.close()

    def accept():
        while True:
            connection, peer = listener.accept()
            threading.Thread(target=one, args=(connection, peer), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def tls_context(protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CONFIG["certificate"], CONFIG["key"])
    if protocols:
        context.set_alpn_protocols(protocols)

    def named(connection, name, _context):
        connection.named = name

    context.sni_callback = named
    return context


def over_tls(serve, protocols=None):
    context = tls_context(protocols)

    def secured(connection, seen):
        stream = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        stream.named = None
        try:
            stream.do_handshake()
            seen("tls", sni=stream.named, alpn=stream.selected_alpn_protocol(), done=True)
        except (OSError, ssl.SSLError) as fault:
            seen("tls", sni=stream.named, done=False, fault=str(fault))
            return
        try:
            serve(stream, seen)
        finally:
            try:
                stream.unwrap()
            except (OSError, ValueError):
                pass

    return secured


def beyond():
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as setting:
        setting.write("0")
    while not os.path.exists(os.path.join(CONFIG["dir"], "links-up")):
        time.sleep(0.01)
    packets.watch(LOG)
    goods.make(CONFIG)
    names = datagrams.Names(CONFIG["names"], LOG)
    site = web.Site(CONFIG, names)
    for port in (80, 8080):
        listen(port, site.serve)
    for port in (443, 8443):
        listen(port, over_tls(site.serve, ["http/1.1"]))
    names.serve_udp(53)
    listen(53, names.serve_tcp)
    listen(853, over_tls(names.serve_tcp))
    for port in (123, 443, 4433, 7000):
        datagrams.echo(port, LOG)
    listen(7, raw.echo)
    listen(25, raw.greets)
    listen(9000, raw.echo)


def host():
    site = web.Site(CONFIG)
    for address in ("127.0.0.1", "::1", CONFIG["host"]):
        listen(80, site.serve, address)
        listen(8081, site.serve, address)
    listen(9000, raw.echo, "127.0.0.1")


# Nothing here may depend on what the caller's environment says.
for name in list(os.environ):
    if name.lower().endswith("_proxy"):
        del os.environ[name]
LOG = Log(CONFIG["log"], ROLE, CONFIG["sides"])
{"beyond": beyond, "host": host}[ROLE]()
print(f"{ROLE} serves", flush=True)
os.close(1)
while os.read(0, 1):
    pass
os._exit(0)
