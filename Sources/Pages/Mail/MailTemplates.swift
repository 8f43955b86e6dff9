enum MailTemplates {
  /// Returns the values of the template.
  static func values(of mail: Mail, _ branding: Branding, _ catalog: Catalog) -> [String: Any] {
    let light = Palette.light(brand: branding.color)
    let dark = Palette.dark(brand: branding.color)
    return [
      "language": catalog.language, "direction": catalog.direction.rawValue,
      "app": branding.name.withoutControls, "preheader": mail.preheader.withoutControls,
      "heading": mail.heading.withoutControls,
      "paragraphs": mail.paragraphs.map(\.withoutControls),
      "code": mail.code?.withoutControls ?? false,
      "button": mail.button.map { button in
        ["text": button.text.withoutControls, "url": button.destination.text]
      } ?? false,
      "hasFooter": !mail.footer.isEmpty, "footer": mail.footer.map(\.withoutControls),
      "light": values(of: light), "dark": values(of: dark), "radius": branding.radius.pixels,
    ]
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
  static let mail = """
    <!doctype html>
    <html lang="{{language}}" dir="{{direction}}">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="supported-color-schemes" content="light dark">
    <title>{{heading}}</title>
    <style>
    :root { color-scheme: light dark; supported-color-schemes: light dark }
    @media (prefers-color-scheme: dark) {
    .page { background: {{dark.background}} !important }
    .card { background: {{dark.surface}} !important; border-color: {{dark.line}} !important }
    .words { color: {{dark.text}} !important }
    .quiet { color: {{dark.muted}} !important }
    .code { background: {{dark.hover}} !important; color: {{dark.text}} !important }
    .button { background: {{dark.accent}} !important; color: {{dark.onAccent}} !important; \
    border-color: {{dark.border}} !important }
    .link { color: {{dark.link}} !important }
    }
    </style>
    </head>
    <body class="page" style="margin:0;padding:0;background:{{light.background}}">
    <div style="display:none;max-height:0;overflow:hidden">{{preheader}}</div>
    <table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" \
    style="background:{{light.background}}">
    <tr><td align="center" style="padding:32px 16px">
    <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" \
    style="max-width:460px;font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;\
    font-size:16px;line-height:24px">
    <tr><td class="words" style="padding:0 0 16px;font-size:16px;line-height:24px;font-weight:600;\
    color:{{light.text}}"><bdi>{{app}}</bdi></td></tr>
    <tr><td class="card" style="padding:32px;background:{{light.surface}};\
    border:1px solid {{light.line}};border-radius:12px">
    <h1 class="words" style="margin:0 0 16px;font-size:24px;line-height:32px;font-weight:600;\
    color:{{light.text}}">{{heading}}</h1>
    {{#paragraphs}}<p class="words" style="margin:0 0 16px;color:{{light.text}};\
    overflow-wrap:anywhere">{{.}}</p>
    {{/paragraphs}}
    {{#code}}<p class="code" style="margin:8px 0 16px;padding:16px;border-radius:{{radius}}px;\
    background:{{light.hover}};color:{{light.text}};text-align:center;font-size:32px;\
    line-height:40px;letter-spacing:6px;font-family:ui-monospace,Menlo,Consolas,monospace">{{code}}</p>{{/code}}
    {{#button}}<p style="margin:8px 0 16px"><a class="button" href="{{url}}" \
    style="display:inline-block;padding:10px 24px;border:1px solid {{light.border}};\
    border-radius:{{radius}}px;background:{{light.accent}};color:{{light.onAccent}};\
    font-weight:600;text-decoration:none">{{text}}</a></p>
    <p class="quiet" style="margin:0;font-size:14px;line-height:20px;color:{{light.muted}};\
    overflow-wrap:anywhere"><a class="link" href="{{url}}" style="color:{{light.link}}">{{url}}</a></p>{{/button}}
    </td></tr>
    {{#hasFooter}}<tr><td class="quiet" style="padding:16px 0 0;font-size:14px;line-height:20px;\
    color:{{light.muted}}">
    {{#footer}}<p class="quiet" style="margin:0 0 8px;color:{{light.muted}}">{{.}}</p>
    {{/footer}}</td></tr>{{/hasFooter}}
    </table>
    </td></tr>
    </table>
    </body>
    </html>

    """
}
