import Encoding
import HTTP

extension FuzzTarget {
  /// The body of a form.
  ///
  /// The first line is its type, with the boundary.
  static let forms = FuzzTarget(
    "forms",
    words: [
      "multipart/form-data; boundary=b\n", "--b\r\n", "\r\n--b\r\n", "\r\n--b--", "\r\n",
      "\r\n\r\n",
      "Content-Disposition: form-data; name=\"a\"", "; filename=\"b\\\".png\"", "; filename=x",
      "Content-Type: image/png\r\n", "--", "\r", "a=1&b=%C3%A9", "&", "=", "+", "%", "%00", "\"",
      "\\",
    ],
    bound: MemoryBound(factor: 60, base: 65_536)
  ) { input in
    let line = input.prefix { $0 != UInt8(ascii: "\n") }
    let body = Array(input.dropFirst(line.count + 1))
    checkValues(body)
    guard let boundary = FieldParameters(text(line)).flatMap(Multipart.boundary),
      let form = try? Multipart(body, boundary: boundary, limits: limits)
    else { return }
    checkParts(form, boundary)
  }

  private static let limits = Multipart.Limits(parts: 8, content: 512)

  private static func checkValues(_ body: [UInt8]) {
    guard let form = FormValues(body) else { return }
    let names = form.names
    expect(Set(names.map { Array($0.utf8) }).count == names.count, "a name is there twice")
    let again = names.map { name in
      "\(PercentCoding.encode(name))=\(PercentCoding.encode(form[name] ?? ""))"
    }
    let read = FormValues(again.joined(separator: "&")[...])
    expect(
      read?.names.map { Array($0.utf8) } == names.map { Array($0.utf8) },
      "names that are written read as others"
    )
    for name in names {
      expect(read?[name].map { Array($0.utf8) } == form[name].map { Array($0.utf8) }, "a value")
    }
  }

  private static func checkParts(_ form: Multipart, _ boundary: String) {
    expect(form.parts.count <= limits.parts, "there are more parts than may be")
    var again: [UInt8] = []
    for part in form.parts {
      expect(part.content.count <= limits.content, "a part is longer than may be")
      let file = part.fileName.map { "; filename=\(quoted($0))" } ?? ""
      let head = "Content-Disposition: form-data; name=\(quoted(part.name))\(file)"
      again += Array("--\(boundary)\r\n\(head)\r\n\r\n".utf8) + part.content + Array("\r\n".utf8)
    }
    again += Array("--\(boundary)--".utf8)
    guard let read = try? Multipart(again, boundary: boundary, limits: limits) else {
      fatalError("parts that are written are refused")
    }
    expect(
      read.parts.elementsEqual(form.parts) { first, second in
        first.name.utf8.elementsEqual(second.name.utf8)
          && first.fileName.map { Array($0.utf8) } == second.fileName.map { Array($0.utf8) }
          && first.content.elementsEqual(second.content)
      },
      "parts that are written read as others"
    )
  }

  /// Returns the text in quotes, escaped by bytes, since a combining mark must not hide a quote.
  private static func quoted(_ text: String) -> String {
    let escaped = text.utf8.flatMap { byte in
      byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
        ? [UInt8(ascii: "\\"), byte] : [byte]
    }
    return "\"\(String(decoding: escaped, as: UTF8.self))\""
  }
}
