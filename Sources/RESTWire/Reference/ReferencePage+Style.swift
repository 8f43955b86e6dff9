import Crypto
import Encoding

extension ReferencePage {
  static func head(_ title: String) -> String {
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>\(escaped(title))</title>"
      + "<meta name=\"viewport\" content=\"width=device-width\">"
      + "<meta name=\"color-scheme\" content=\"light dark\"><style>\(style)</style></head><body>\n"
  }

  /// The page has a style, and this script alone may run.
  static let policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-\(digest)'; base-uri 'none'; "
    + "form-action 'none'; frame-ancestors 'none'"

  private static let digest = Array(SHA256.hash(data: Array(script.utf8))).paddedBase64

  private static let style = """

    :root { background: Canvas; color: CanvasText; --quiet: #595959 }
    @media (prefers-color-scheme: dark) { :root { --quiet: #b0b0b0 } }
    body { font: 16px/1.5 system-ui, sans-serif; margin: 0; display: flex; overflow-wrap: anywhere }
    nav { position: sticky; top: 0; box-sizing: border-box; height: 100vh; overflow-y: auto;
      padding: 1rem; flex: 0 0 20rem }
    nav ul { list-style: none; padding: 0 } nav ul ul { font-size: .8rem }
    nav ul ul a { color: inherit; text-decoration: none }
    nav input { font: inherit; width: 100%; box-sizing: border-box }
    ::placeholder { color: var(--quiet); opacity: 1 }
    main { max-width: 52rem; padding: 1rem 2rem; min-width: 0; flex: 1 }
    section { border-top: 1px solid #8884; padding: .5rem 0 }
    h1 { font-size: 1.4rem } h3 { font-size: 1rem; margin: .5rem 0 }
    code, pre { font: .9em ui-monospace, monospace }
    pre { background: #8882; padding: .8rem; white-space: pre-wrap; margin: .5rem 0 }
    dl { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: .2rem 1rem; margin: 0 }
    dt { color: var(--quiet) } dd { margin: 0 } summary { color: var(--quiet); cursor: pointer } i { color: var(--quiet) }
    table { border-collapse: collapse; width: 100% }
    td, th { text-align: left; padding: .2rem .5rem .2rem 0; vertical-align: top }
    th, .number { overflow-wrap: normal } td:first-child { min-width: 7rem }
    :target { background: #fd03 }
    @media (max-width: 48rem) {
      body { display: block }
      nav { position: static; height: auto } nav > ul { max-height: 40vh; overflow-y: auto }
      main { padding: 1rem } dl { grid-template-columns: 4.5rem minmax(0, 1fr) }
    }

    """
}
