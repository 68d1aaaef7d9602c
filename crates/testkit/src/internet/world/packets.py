"""Writes down every packet that starts something, whoever it was meant for."""

import socket
import struct
import threading

ETH_P_ALL = 3
# Neighbour and multicast housekeeping of IPv6.
HOUSEKEEPING = range(130, 144)


def watch(log):
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
    threading.Thread(target=run, args=(wire, log), daemon=True).start()


def run(wire, log):
    while True:
        packet, where = wire.recvfrom(2048)
        if not where[0].startswith("to-") or where[2] == socket.PACKET_OUTGOING:
            continue
        found = read(packet, where[1])
        if found:
            source, values = found
            log.write("packet", source, **values)


def read(packet, ethertype):
    if ethertype == 0x0800:
        protocol, rest = packet[9], packet[(packet[0] & 15) * 4 :]
        source = socket.inet_ntop(socket.AF_INET, packet[12:16])
        to = socket.inet_ntop(socket.AF_INET, packet[16:20])
    elif ethertype == 0x86DD:
        protocol, rest = packet[6], packet[40:]
        source = socket.inet_ntop(socket.AF_INET6, packet[8:24])
        to = socket.inet_ntop(socket.AF_INET6, packet[24:40])
        if protocol == 0 or (protocol == 58 and rest and rest[0] in HOUSEKEEPING):
            return None
    else:
        return None
    values = {"to": to, "protocol": protocol}
    if protocol in (6, 17) and len(rest) >= 4:
        values["port"] = struct.unpack("!H", rest[2:4])[0]
    if protocol == 6 and (len(rest) < 14 or rest[13] & 0x12 != 0x02):
        return None  # not the first packet of a connection
    if protocol == 17:
        values["data"] = rest[8:72].decode("latin-1")
    return source, values
