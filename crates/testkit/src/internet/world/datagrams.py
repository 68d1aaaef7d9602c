"""A name server, and servers that send back the datagrams they get."""

import ipaddress
import socket
import struct
import threading

IP_PKTINFO = 8
IPV6_FREEBIND = 78
# By the type of a record, the version of the address in it.
ADDRESSES = {1: 4, 28: 6}


def bound(port):
    """Returns a socket for each family that says where a datagram was sent."""
    v4 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    v4.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
    v4.bind(("0.0.0.0", port))
    v6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    v6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    v6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    # Answers leave from addresses that no link has.
    v6.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    v6.bind(("::", port))
    return v4, v6


def serve(port, answer):
    """Answers each datagram from the address it was sent to."""

    def loop(sock, level, kind):
        while True:
            data, notes, _, peer = sock.recvmsg(65535, 256)
            note = notes[0][2]
            if level == socket.IPPROTO_IP:
                to = socket.inet_ntop(socket.AF_INET, note[8:12])
                # The answer leaves from there, by whatever link leads back.
                back = struct.pack("i4s4s", 0, note[8:12], b"\0" * 4)
            else:
                to = socket.inet_ntop(socket.AF_INET6, note[:16])
                back = note[:16] + struct.pack("i", 0)
            reply = answer(data, peer[0], to)
            if reply:
                try:
                    sock.sendmsg([reply], [(level, kind, back)], 0, peer)
                except OSError:
                    pass

    v4, v6 = bound(port)
    threading.Thread(target=loop, args=(v4, socket.IPPROTO_IP, IP_PKTINFO), daemon=True).start()
    six = (v6, socket.IPPROTO_IPV6, socket.IPV6_PKTINFO)
    threading.Thread(target=loop, args=six, daemon=True).start()


def echo(port, log):
    def answer(data, source, to):
        log.write("udp", source, to=to, port=port, data=data[:256].decode("latin-1"))
        return data

    serve(port, answer)


class Names:
    """Answers for the names it was given, and for `*.` below some."""

    def __init__(self, names, log):
        self.names = names
        self.log = log
        self.asked = {}

    def serve_udp(self, port):
        serve(port, lambda data, source, to: self.answer(data, source, to, "udp"))

    def serve_tcp(self, connection, seen):
        while True:
            size = exactly(connection, 2)
            if len(size) < 2:
                return
            data = exactly(connection, struct.unpack("!H", size)[0])
            seen("dns-stream", name=question(data)[0])
            reply = self.answer(data, "", "", "tcp")
            connection.sendall(struct.pack("!H", len(reply)) + reply)

    def answer(self, data, source, to, by):
        try:
            name, kind, end = question(data)
        except (IndexError, struct.error, UnicodeError):
            self.log.write("dns", source, to=to, by=by, name=None)
            return None
        self.log.write("dns", source, to=to, by=by, name=name, type=kind)
        found = self.addresses(name.lower(), kind)
        records = b""
        for address in found or []:
            packed = ipaddress.ip_address(address).packed
            records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed
        status = 3 if found is None else 0
        head = data[:2] + struct.pack("!HHHHH", 0x8580 | status, 1, len(found or []), 0, 0)
        return head + data[12:end] + records

    def addresses(self, name, kind):
        """Returns the addresses of a kind; None where the name does not exist."""
        sets, above = self.names.get(name), name
        while sets is None and above:
            above = above.partition(".")[2]
            sets = self.names.get("*." + above)
        if sets is None:
            return None
        if kind not in ADDRESSES:
            return []
        turn = self.asked.get((name, kind), 0)
        self.asked[(name, kind)] = turn + 1
        version = ADDRESSES[kind]
        found = sets[turn % len(sets)]
        return [a for a in found if ipaddress.ip_address(a).version == version]


def question(data):
    labels, at = [], 12
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode("latin-1"))
        at += size + 1
    kind = struct.unpack("!H", data[at + 1 : at + 3])[0]
    return ".".join(labels), kind, at + 5


def exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            return data
        data += more
    return data
