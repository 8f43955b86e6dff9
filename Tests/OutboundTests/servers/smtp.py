"""An SMTP server (aiosmtpd) for the tests. Prints its port, then one line of JSON for each message.

usage: smtp.py CERTIFICATES FOLDER MODE...
  starttls   offers STARTTLS, and accepts nothing before it
  smtps      TLS from the first byte
  other      its certificate is for another host
  auth       requires user ada, password "secret pass" (also without TLS)
  hang       accepts connections, and sends nothing
  slow       never answers the message
  greet N    answers a connection with code N
  mute       never answers QUIT
  fqdn       refuses recipients of a client whose name has no dot, as Postfix does
  reply MODE answers a sender with a reply that breaks the protocol
  rcpt N     answers a recipient with code N, data N a message, login N a password
"""
import asyncio, json, os, ssl, sys, threading, time

from aiosmtpd.smtp import SMTP, AuthResult

certificates, folder, modes = sys.argv[1], sys.argv[2], sys.argv[3:]


def code(name):
    return modes[modes.index(name) + 1] if name in modes else None


def end_with_parent(parent=os.getppid()):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


class Handler:
    async def handle_QUIT(self, server, session, envelope):
        if "mute" in modes:
            await asyncio.sleep(100_000)
        return "221 bye"

    async def handle_MAIL(self, server, session, envelope, address, options):
        envelope.mail_from = address
        reply = code("reply")
        if reply == "endless":
            return "250" + "x" * 100_000
        if reply == "torn":
            server.transport.close()
        return "no code" if reply == "babble" else "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        if "fqdn" in modes and "." not in session.host_name:
            return f"504 5.5.2 <{session.host_name}>: Helo command rejected"
        if code("rcpt"):
            return f"{code('rcpt')} 5.1.1 <{address}>: no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if "slow" in modes:
            await asyncio.sleep(100_000)
        if code("data"):
            return f"{code('data')} not now"
        number = len([n for n in os.listdir(folder) if n.startswith("received-")])
        path = os.path.join(folder, f"received-{number}")
        with open(path, "wb") as file:
            file.write(envelope.original_content)
        entry = {
            "path": path,
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "name": session.host_name,
            "tls": session.ssl is not None,
            "user": getattr(session.auth_data, "login", b"").decode(),
        }
        print(json.dumps(entry), flush=True)
        return "250 kept"


def authenticate(server, session, envelope, mechanism, data):
    if code("login"):
        return AuthResult(success=False, handled=False, message=f"{code('login')} later")
    right = data.login == b"ada" and data.password == b"secret pass"
    return AuthResult(success=right, handled=False, auth_data=data)


def server(context):
    return SMTP(
        Handler(),
        hostname="relay.test",
        tls_context=context if "starttls" in modes else None,
        require_starttls="starttls" in modes,
        authenticator=authenticate,
        auth_required="auth" in modes,
        auth_require_tls="starttls" in modes,
    )


async def refuse(reader, writer):
    if "hang" in modes:
        await asyncio.sleep(100_000)
    writer.write(f"{code('greet')} go away \u00e9\x07\r\n".encode())
    await asyncio.sleep(1)
    writer.close()


async def main():
    context = None
    if {"starttls", "smtps"} & set(modes):
        name = "other" if "other" in modes else "localhost"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{certificates}/{name}.pem", f"{certificates}/{name}.key")
    loop = asyncio.get_running_loop()
    if "hang" in modes or "greet" in modes:
        listener = await asyncio.start_server(refuse, "127.0.0.1", 0)
    else:
        tls = context if "smtps" in modes else None
        listener = await loop.create_server(lambda: server(context), "127.0.0.1", 0, ssl=tls)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await listener.serve_forever()


threading.Thread(target=end_with_parent, daemon=True).start()
asyncio.run(main())
