/// The content of a mail, of which `PageRenderer` makes the HTML part.
///
/// The texts are those of the text part. The mail loads nothing from any server.
package struct Mail: Sendable {
  /// The first words in the list of a mail program: 85 to 100 characters, without the code.
  package let preheader: String
  package let heading: String
  package let paragraphs: [String]
  /// A code to type, which stands alone in large digits.
  package let code: String?
  package let button: Button?
  package let footer: [String]

  /// A link that looks like a button.
  package struct Button: Sendable {
    package let text: String
    package let destination: Destination

    package init(_ text: String, to destination: Destination) {
      self.text = text
      self.destination = destination
    }
  }

  /// Creates the content of a mail.
  ///
  /// - `paragraphs`: the texts before the code and the button.
  /// - `footer`: the last lines, such as the one for readers who did not request the mail.
  package init(
    preheader: String,
    heading: String,
    paragraphs: [String],
    code: String? = nil,
    button: Button? = nil,
    footer: [String] = []
  ) {
    self.preheader = preheader
    self.heading = heading
    self.paragraphs = paragraphs
    self.code = code
    self.button = button
    self.footer = footer
  }
}
