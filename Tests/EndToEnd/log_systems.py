"""Log systems that read what log streams send: lines of JSON, and messages of syslog."""

import gzip
import json
import re
import socket
import threading

# RFC 5424 section 6; PRINTUSASCII is 33 to 126.
HEADER = re.compile(
    rb"<(?P<priority>0|[1-9][0-9]{0,2})>1 "
    rb"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)) "
    rb"(?P<host>[!-~]{1,255}) (?P<app>[!-~]{1,48}) (?P<process>[!-~]{1,128}) (?P<id>[!-~]{1,32}) ")
NAME = rb'[!#-<>-\\^-~]{1,32}'  # Not a quote, an equals sign or a closing bracket.
PARAMETER = re.compile(rb' (%s)="((?:[^"\\\]]|\\["\\\]])*)"' % NAME)


class Batch:
    """A request with events."""

    def __init__(self, handler, body):
        self.path = handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.size = len(body)
        self.lines = gzip.decompress(body).decode().split("\n")
        assert self.lines.pop() == "", "the last line must end"
        self.events = [json.loads(line) for line in self.lines]


class SyslogMessage:
    """A message, parsed as strictly as RFC 5424 says."""

    def __init__(self, datagram):
        head = HEADER.match(datagram)
        assert head, datagram
        assert int(head["priority"]) <= 191, datagram
        self.facility, self.severity = divmod(int(head["priority"]), 8)
        self.time, self.host = head["time"].decode(), head["host"].decode()
        self.app, self.process = head["app"].decode(), head["process"].decode()
        self.id = head["id"].decode()
        rest, self.data = datagram[head.end():], {}
        while rest.startswith(b"["):
            name = re.match(rb"\[(%s)" % NAME, rest)
            assert name and name[1].decode() not in self.data, datagram
            rest, parameters = rest[name.end():], {}
            while parameter := PARAMETER.match(rest):
                parameters[parameter[1].decode()] = re.sub(rb"\\(.)", rb"\1", parameter[2]).decode()
                rest = rest[parameter.end():]
            assert rest.startswith(b"]"), datagram
            rest, self.data[name[1].decode()] = rest[1:], parameters
        assert self.data and rest.startswith(b" "), datagram
        self.text = rest[1:].decode()
        assert not re.search("[\0-\x1f]", self.text), datagram
        self.json = json.loads(self.text)


class Syslog:
    """Reads datagrams from a socket of its own."""

    def __init__(self, path):
        self.path = path
        self.messages = []
        self.start()

    def start(self):
        self.path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.path.chmod(0o666)
        threading.Thread(target=self.read, args=[self.socket], daemon=True).start()

    def read(self, receiver):
        while datagram := receiver.recv(65_536):
            self.messages.append(SyslogMessage(datagram))

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.path.unlink()
