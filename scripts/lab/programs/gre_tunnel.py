"""One end of a GRE tunnel (RFC 2784) in user space: what enters the device gre0 leaves in a raw IP socket, and back."""

import argparse
import fcntl
import os
import select
import socket
import struct

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
IPPROTO_GRE = 47
HEADER = struct.pack("!HH", 0, 0x0800)


def main():
    """Carry packets until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--local", required=True)
    parser.add_argument("--remote", required=True)
    options = parser.parse_args()
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"gre0", IFF_TUN | IFF_NO_PI))
    wire = socket.socket(socket.AF_INET, socket.SOCK_RAW, IPPROTO_GRE)
    wire.bind((options.local, 0))
    print("ready", flush=True)
    while True:
        for readable in select.select([device, wire], [], [])[0]:
            if readable is wire:
                packet = wire.recv(65536)
                inner = packet[(packet[0] & 0x0F) * 4 :]
                if inner[:4] == HEADER:
                    os.write(device, inner[4:])
            else:
                packet = os.read(device, 65536)
                if packet[0] >> 4 == 4:
                    wire.sendto(HEADER + packet, (options.remote, 0))


if __name__ == "__main__":
    main()
