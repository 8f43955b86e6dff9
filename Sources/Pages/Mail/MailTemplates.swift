import Localization

enum MailTemplates {
  /// Returns the values of the template.
  static func values(of mail: Mail, _ branding: Branding) -> [String: Any] {
    let light = Palette.light(brand: branding.color)
    let dark = Palette.dark(brand: branding.color)
    return [
      "language": mail.language, "direction": Catalog.Direction(ofLanguage: mail.language).rawValue,
      "app": branding.name.withoutControls, "preheader": mail.preheader.withoutControls,
      "heading": mail.subject.withoutControls,
      "blocks": mail.paragraphs.flatMap { blocks($0, mail) },
      "light": values(of: light), "dark": values(of: dark), "radius": branding.radius.pixels,
    ]
  }

  /// Returns a paragraph, with a button after it for each link with the secret.
  ///
  /// A code or a link that is the whole paragraph stands alone.
  private static func blocks(_ paragraph: [[Mail.Piece]], _ mail: Mail) -> [[String: Any]] {
    let pieces = paragraph.joined().filter { !$0.isBlank }
    if pieces.count == 1, case .secret(let text) = pieces[0] {
      // A token is too long for large digits.
      return [block("code", ["text": text, "isShort": text.count <= 12])]
    }
    let text = block("paragraph", ["lines": paragraph.enumerated().map(line)])
    let buttons = pieces.compactMap { piece -> [String: Any]? in
      guard case .button(let link) = piece else { return nil }
      let label = (mail.label ?? mail.subject).withoutControls
      let values: [String: Any] = ["label": label, "url": link.text, "isAlone": pieces.count == 1]
      return block("button", values)
    }
    return buttons.count == pieces.count ? buttons : [text] + buttons
  }

  private static func block(_ name: String, _ value: Any) -> [String: Any] {
    var block: [String: Any] = ["code": false, "paragraph": false, "button": false]
    block[name] = value
    return block
  }

  private static func line(_ index: Int, _ pieces: [Mail.Piece]) -> [String: Any] {
    ["isNext": index > 0, "pieces": pieces.map(piece)]
  }

  private static func piece(_ piece: Mail.Piece) -> [String: Any] {
    var values: [String: Any] = ["words": false, "inlineCode": false, "url": false]
    switch piece {
    case .words(let words): values["words"] = String(words).withoutControls
    case .secret(let secret): values["inlineCode"] = secret
    case .link(let link), .button(let link): values["url"] = link.text
    }
    return values
  }

  private static func values(of palette: Palette) -> [String: String] {
    [
      "background": palette.background.text, "surface": palette.surface.text,
      "text": palette.text.text, "muted": palette.muted.text, "line": palette.line.text,
      "hover": palette.hover.text, "accent": palette.accent.text,
      "onAccent": palette.onAccent.text, "border": palette.accentBorder.text,
      "link": palette.link.text,
    ]
  }

  /// Mail programs ignore style sheets, except the rules for the dark scheme.
  ///
  /// Some remove the `html` and `body` elements, so the outer table has the language too. Outlook
  /// ignores `max-width` and the padding of links, hence the `width` and the cell of the button.
  static let mail = """
    <!doctype html>
    <html lang="{{language}}" dir="{{direction}}">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="supported-color-schemes" content="light dark">
    <meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
    <title>{{heading}}</title>
    <style>
    :root { color-scheme: light dark; supported-color-schemes: light dark }
    @media (prefers-color-scheme: dark) {
    .page { background: {{dark.background}} !important }
    .card { background: {{dark.surface}} !important; border-color: {{dark.line}} !important }
    .words { color: {{dark.text}} !important }
    .quiet { color: {{dark.muted}} !important }
    .code { background: {{dark.hover}} !important; color: {{dark.text}} !important }
    .button { background: {{dark.accent}} !important; border-color: {{dark.border}} !important }
    .label { color: {{dark.onAccent}} !important }
    .link { color: {{dark.link}} !important }
    }
    </style>
    </head>
    <body class="page" style="margin:0;padding:0;background:{{light.background}}">
    <table role="presentation" class="page" lang="{{language}}" dir="{{direction}}" width="100%" \
    cellpadding="0" cellspacing="0" border="0" style="background:{{light.background}}">
    <tr><td align="center" style="padding:32px 16px">
    <div style="display:none;max-height:0;overflow:hidden">{{preheader}}</div>
    <table role="presentation" width="460" cellpadding="0" cellspacing="0" border="0" \
    style="width:100%;max-width:460px;table-layout:fixed;text-align:start;\
    font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-size:16px;line-height:24px">
    <tr><td class="words" style="padding:0 0 16px;font-size:16px;line-height:24px;font-weight:600;\
    color:{{light.text}}"><bdi>{{app}}</bdi></td></tr>
    <tr><td class="card" style="padding:32px 32px 16px;background:{{light.surface}};\
    border:1px solid {{light.line}};border-radius:12px;overflow-wrap:anywhere">
    <h1 class="words" style="margin:0 0 16px;font-size:24px;line-height:32px;font-weight:600;\
    color:{{light.text}}">{{heading}}</h1>
    {{#blocks}}{{#paragraph}}<p class="words" style="margin:0 0 16px;color:{{light.text}}">\
    {{#lines}}{{#isNext}}<br>{{/isNext}}{{#pieces}}{{#words}}{{words}}{{/words}}\
    {{#inlineCode}}<strong style="font-family:ui-monospace,Menlo,Consolas,monospace">{{inlineCode}}</strong>\
    {{/inlineCode}}{{#url}}<a class="link" href="{{url}}" style="color:{{light.link}}">{{url}}</a>\
    {{/url}}{{/pieces}}{{/lines}}</p>
    {{/paragraph}}\
    {{#code}}<p class="code" style="margin:8px 0 24px;padding:16px;border-radius:{{radius}}px;\
    background:{{light.hover}};color:{{light.text}};text-align:center;\
    font-family:ui-monospace,Menlo,Consolas,monospace;{{#isShort}}font-size:32px;line-height:40px;\
    letter-spacing:3px;white-space:nowrap{{/isShort}}{{^isShort}}font-size:14px;line-height:20px\
    {{/isShort}}">{{text}}</p>
    {{/code}}\
    {{#button}}<table role="presentation" cellpadding="0" cellspacing="0" border="0" \
    style="margin:8px 0 16px"><tr><td class="button" style="border:1px solid {{light.border}};\
    border-radius:{{radius}}px;background:{{light.accent}}"><a class="label" href="{{url}}" \
    style="display:inline-block;padding:10px 24px;font-weight:600;color:{{light.onAccent}};\
    text-decoration:none">{{label}}</a></td></tr></table>
    {{#isAlone}}<p class="quiet" style="margin:0 0 16px;font-size:14px;line-height:20px;word-break:break-all;\
    color:{{light.muted}}"><a class="quiet" href="{{url}}" style="color:{{light.muted}}">{{url}}</a></p>
    {{/isAlone}}{{/button}}{{/blocks}}\
    </td></tr>
    </table>
    </td></tr>
    </table>
    </body>
    </html>

    """
}
