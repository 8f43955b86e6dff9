import Encoding
import Localization

/// Writes the HTML part of a mail in the colors of an app.
struct MailView {
  private let mail: Mail
  private let branding: Branding
  private let light: Palette

  init(_ mail: Mail, _ branding: Branding) {
    (self.mail, self.branding) = (mail, branding)
    light = Palette.light(brand: branding.color)
  }

  /// The document.
  ///
  /// Mail programs ignore style sheets, except the rules for the dark scheme. Some remove the `html`
  /// and `body` elements, so the outer table has the language too. Outlook ignores `max-width` and
  /// the padding of links, hence the `width` and the padding of the button's cell.
  var document: Markup {
    let dark = Palette.dark(brand: branding.color)
    let direction = Catalog.Direction(ofLanguage: mail.language).rawValue
    let heading = mail.subject.withoutControls
    let name = branding.name.withoutControls
    let initial = name.first.map { $0.uppercased() } ?? ""
    return """
      <!doctype html>
      <html lang="\(mail.language)" dir="\(direction)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="supported-color-schemes" content="light dark">
      <meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
      <title>\(heading)</title>
      <style>
      :root { color-scheme: light dark; supported-color-schemes: light dark }
      @media (prefers-color-scheme: dark) {
      .page { background: \(dark.background.text) !important }
      .card { background: \(dark.surface.text) !important; border-color: \(dark.line.text) !important }
      .words { color: \(dark.text.text) !important }
      .quiet { color: \(dark.muted.text) !important }
      .code { background: \(dark.hover.text) !important; color: \(dark.text.text) !important }
      .button, .mark { background: \(dark.accent.text) !important; \
      border-color: \(dark.accentBorder.text) !important }
      .label, .mark { color: \(dark.onAccent.text) !important }
      .link { color: \(dark.link.text) !important }
      }
      </style>
      </head>
      <body class="page" style="margin:0;padding:0;background:\(light.background.text)">
      <table role="presentation" class="page" lang="\(mail.language)" dir="\(direction)" width="100%" \
      cellpadding="0" cellspacing="0" border="0" style="background:\(light.background.text)">
      <tr><td align="center" style="padding:32px 16px">
      <div style="display:none;max-height:0;overflow:hidden">\(mail.preheader.withoutControls)</div>
      <table role="presentation" width="460" cellpadding="0" cellspacing="0" border="0" \
      style="width:100%;max-width:460px;table-layout:fixed;text-align:start;\
      font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Lato,'Helvetica Neue',Arial,sans-serif;\
      font-size:16px;line-height:24px;mso-line-height-rule:exactly">
      <tr><td style="padding:0 0 24px"><table role="presentation" cellpadding="0" cellspacing="0" \
      border="0"><tr><td class="mark" aria-hidden="true" width="38" height="38" align="center" \
      style="width:38px;height:38px;border:1px solid \(light.accentBorder.text);border-radius:\
      \(min(branding.radius.pixels, 12))px;background:\(light.accent.text);font-size:20px;\
      line-height:24px;font-weight:600;color:\(light.onAccent.text)">\(initial)</td>\
      <td class="words" style="padding:0 12px;font-size:18px;line-height:24px;font-weight:600;\
      color:\(light.text.text)"><bdi>\(name)</bdi></td></tr></table></td></tr>
      <tr><td class="card" style="padding:32px 32px 16px;background:\(light.surface.text);\
      border:1px solid \(light.line.text);border-radius:16px;overflow-wrap:anywhere">
      <h1 class="words" style="margin:0 0 16px;font-size:24px;line-height:32px;font-weight:600;\
      letter-spacing:-0.02em;color:\(light.text.text)">\(heading)</h1>
      \(mail.paragraphs.flatMap(blocks))\(mail.paragraphs.compactMap(Mail.lonelyButton).map(address))</td></tr>
      </table>
      </td></tr>
      </table>
      </body>
      </html>

      """
  }

  /// Returns a paragraph, with a button after it for each link with the secret.
  ///
  /// A code or a link that is the whole paragraph stands alone.
  private func blocks(_ paragraph: [[Mail.Piece]]) -> [Markup] {
    if let link = Mail.lonelyButton(paragraph) { return [button(link)] }
    let pieces = paragraph.joined().filter { !$0.isBlank }
    if pieces.count == 1, case .secret(let text) = pieces[0] { return [code(text)] }
    let lines = paragraph.enumerated().map { index, pieces -> Markup in
      "\(if: index > 0, "<br>")\(pieces.map(piece))"
    }
    let text: Markup = """
      <p class="words" style="margin:0 0 16px;color:\(light.text.text)">\(lines)</p>

      """
    let buttons = pieces.compactMap { piece -> Markup? in
      if case .button(let link) = piece { button(link) } else { nil }
    }
    return buttons.count == pieces.count ? buttons : [text] + buttons
  }

  private func piece(_ piece: Mail.Piece) -> Markup {
    switch piece {
    case .words(let words): "\(String(words).withoutControls)"
    case .secret(let secret):
      """
      <strong dir="ltr" style="font-family:ui-monospace,Menlo,Consolas,monospace">\(secret)</strong>
      """
    case .link(let link), .button(let link):
      """
      <a class="link" href="\(link.text)" style="color:\(light.link.text)">\(link.shown)</a>
      """
    }
  }

  /// - `text`: a code, or a token, which is too long for large digits.
  private func code(_ text: String) -> Markup {
    let size: Markup =
      text.count <= 12
      ? "font-size:32px;line-height:40px;letter-spacing:3px;white-space:nowrap"
      : "font-size:14px;line-height:20px"
    return """
      <p class="code" dir="ltr" style="margin:8px 0 24px;padding:16px;border-radius:\(branding.radius.pixels)px;\
      background:\(light.hover.text);color:\(light.text.text);text-align:center;\
      font-family:ui-monospace,Menlo,Consolas,monospace;\(size)">\(text)</p>

      """
  }

  private func button(_ link: Destination) -> Markup {
    """
    <table role="presentation" cellpadding="0" cellspacing="0" border="0" \
    style="margin:8px 0 24px"><tr><td class="button" style="border:1px solid \
    \(light.accentBorder.text);border-radius:\(branding.radius.pixels)px;\
    background:\(light.accent.text);mso-padding-alt:10px 24px"><a class="label" \
    href="\(link.text)" style="display:inline-block;padding:9px 24px;font-weight:600;color:\(light.onAccent.text);\
    text-decoration:none">\((mail.label ?? mail.subject).withoutControls)</a></td></tr></table>

    """
  }

  /// Returns the address of a button, for programs that do not open it.
  private func address(_ link: Destination) -> Markup {
    let style: Markup = "margin:0 0 4px;font-size:12px;line-height:18px;color:\(light.muted.text)"
    let words = mail.fallback.map { text -> Markup in
      #"<div class="quiet" style="\#(style)">\#(text.withoutControls)</div>"#
    }
    return """
      <div style="padding-top:4px;border-top:1px solid \(light.line.text)"></div>
      \(words)
      <p class="quiet" style="\(style);word-break:break-all"><a class="quiet" href="\(link.text)" \
      style="color:\(light.muted.text)">\(link.shown)</a></p>

      """
  }
}
