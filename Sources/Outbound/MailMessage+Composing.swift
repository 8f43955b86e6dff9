internal import Glibc

extension MailMessage {
  /// Returns the message in wire format: ASCII lines of at most 998 bytes, each ended by CR LF.
  ///
  /// It does not use libcurl's `curl_mime`, which neither encodes nor checks headers: a CR LF in
  /// one starts another. `curl_mime` also encodes the line ends of quoted-printable text as `=0A`,
  /// and cannot write to a file.
  /// - Source: RFC 5322 (format), RFC 2045 and 2046 (bodies), RFC 2047 (headers), RFC 3834
  ///   (`Auto-Submitted`, which prevents automatic replies).
  package func composed() -> [UInt8] {
    var lines = [
      "From: \(Self.mailbox(from))",
      "To: \(Self.mailbox(to))",
      "Subject: \(EncodedWords.line(subject))",
      "Date: \(Self.dateTime(date))",
      "Message-ID: <\(id)>",
      "Auto-Submitted: auto-generated",
      "MIME-Version: 1.0",
    ]
    if let html {
      lines += ["Content-Type: multipart/alternative;", " boundary=\"\(boundary)\""]
      // The line end before a boundary belongs to the boundary, and the last line has one too.
      lines += ["", "--\(boundary)"] + Self.part("plain", text)
      lines += ["", "--\(boundary)"] + Self.part("html", html)
      lines += ["", "--\(boundary)--"]
    } else {
      lines += Self.part("plain", text)
    }
    return Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
  }

  private static func part(_ subtype: String, _ body: String) -> [String] {
    let (encoding, lines) = TransferEncoding.encode(body)
    return [
      "Content-Type: text/\(subtype); charset=utf-8",
      "Content-Transfer-Encoding: \(encoding)",
      "",
    ] + lines
  }

  /// Returns a name and an address, which has its own line if there is a name.
  private static func mailbox(_ mailbox: MailAddress) -> String {
    guard let name = mailbox.name else { return mailbox.address }
    return "\(EncodedWords.phrase(name))\r\n <\(mailbox.address)>"
  }

  /// Returns a date such as `Fri, 21 Nov 2025 07:30:00 +0000`.
  ///
  /// The names of days and months are in the C locale, which Dossier never changes.
  private static func dateTime(_ seconds: Int) -> String {
    Clock.text(seconds, "%a, %d %b %Y %H:%M:%S +0000")
  }
}

/// Times as text, in UTC.
enum Clock {
  /// Returns a time in a `strftime` format, with a result of at most 63 bytes.
  static func text(_ seconds: Int, _ format: String) -> String {
    var moment = time_t(seconds)
    var parts = unsafe tm()
    unsafe gmtime_r(&moment, &parts)
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      guard let start = text.baseAddress else { return "" }
      let count = unsafe strftime(start, 64, format, &parts)
      return count == 0 ? "" : unsafe String(cString: start)
    }
  }
}
