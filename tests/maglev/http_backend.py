#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""http_backend.py NAME PORT ADDRESS...: a web server (keep-alive, a thread per connection) that
answers a POST with its name, a newline and the reversed body; and on UDP, the same port, a datagram
with its name and the datagram's SHA-256. Prints "ready" when it listens."""

import hashlib
import http.server
import socket
import socketserver
import sys
import threading

NAME, PORT = sys.argv[1], int(sys.argv[2])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = NAME.encode() + b"\n" + body[::-1]
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)  # HTTPServer.server_bind queries a name server.

    def handle_error(self, request, client_address):
        pass  # It is part of the test that clients disappear. They are counted by the clients.


class Server6(Server):
    address_family = socket.AF_INET6


def serve_datagrams(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family, socket.SOCK_DGRAM)
    server.bind((address, PORT))
    while True:
        data, sender = server.recvfrom(65536)
        server.sendto(f"{NAME} {hashlib.sha256(data).hexdigest()}".encode(), sender)


for where in sys.argv[3:]:
    web = (Server6 if ":" in where else Server)((where, PORT), Handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    threading.Thread(target=serve_datagrams, args=(where,), daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
