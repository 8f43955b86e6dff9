/// The mark of another issuer, which tells people where they sign in.
///
/// The drawings are of this project; the marks and their colors belong to the issuers.
package enum ConnectionMark: String, Sendable, CaseIterable {
  case google, apple, microsoft, github, gitlab, facebook, discord, linkedin, x, slack
  /// An issuer without a mark here, which shows the initial of its label.
  case other

  /// Returns the mark of a preset.
  package init(preset: String) { self = Self(rawValue: preset) ?? .other }

  /// The mark as inline SVG; nil for an issuer without one.
  ///
  /// Black marks have the color of the text around them, so they are white on a dark page.
  var markup: Markup? {
    shapes.map { shapes in
      #"<svg class="brand" viewBox="0 0 24 24" aria-hidden="true">\#(shapes)</svg>"#
    }
  }

  private var shapes: Markup? {
    switch self {
    case .google:
      """
      <path fill="#ea4335" d="M2 6.9a11.2 11.2 0 0 1 18.1-2.7l-3.2 3.1A6.75 6.75 0 0 0 6 8.9z"/>\
      <path fill="#fbbc04" d="M2 17.1A11.2 11.2 0 0 1 2 6.9l4 2a6.75 6.75 0 0 0 0 6.2z"/>\
      <path fill="#34a853" d="M18.9 20.8A11.2 11.2 0 0 1 2 17.1l4-2a6.75 6.75 0 0 0 10.2 2.2z"/>\
      <path fill="#4285f4" d="M23 10.1a11.2 11.2 0 0 1-4.1 10.7l-2.7-3.5a6.75 6.75 0 0 0 2.1-2.8H12\
      v-4.4z"/>
      """
    case .apple:
      """
      <path fill="currentColor" d="M12.2 7.4c.9 0 2.4-1.2 4.2-1.2 1.5.1 2.9.8 3.8 2.1-1.6 1-2.5 \
      2.5-2.5 4.2 0 2.1 1.2 3.7 3.1 4.5-.5 1.5-1.3 2.9-2.2 4-.9 1.1-1.7 1.6-2.7 1.6-1.3 0-1.9-.8-3.5\
      -.8s-2.3.8-3.5.8c-1 0-1.8-.6-2.7-1.8-1.8-2.3-3-5.5-3-8.4 0-3.8 2.3-6.2 5-6.2 1.7 0 3 1.2 4 1.2z\
      M16.1 1c.1 1.3-.4 2.6-1.2 3.6-.8 1-2.1 1.7-3.3 1.6-.1-1.3.5-2.5 1.2-3.4.9-1 2.2-1.8 3.3-1.8z"/>
      """
    case .microsoft:
      """
      <path fill="#f25022" d="M1 1h10.4v10.4H1z"/><path fill="#7fba00" d="M12.6 1H23v10.4H12.6z"/>\
      <path fill="#00a4ef" d="M1 12.6h10.4V23H1z"/>\
      <path fill="#ffb900" d="M12.6 12.6H23V23H12.6z"/>
      """
    case .github:
      """
      <path fill="currentColor" d="M8.6 22.6a11.1 11.1 0 1 1 6.8 0c-.4.1-.5-.2-.5-.6v-2.7c0-1.1-.3-1.9\
      -.8-2.4 2.7-.4 4.8-1.6 4.8-5.3 0-1.1-.4-2.1-1.1-2.9.3-.9.2-2-.2-3-1-.1-2.1.5-3 1.1a12 12 0 0 0\
      -5.2 0c-.9-.6-2-1.2-3-1.1-.4 1-.5 2.1-.2 3-.7.8-1.1 1.8-1.1 2.9 0 3.7 2.1 4.9 4.8 5.3-.4.4-.7.9\
      -.8 1.5-1 .4-1.7.1-2.3-.7-.6-.9-1.5-1.5-2.7-1.1.7.3 1.1.8 1.5 1.5.6 1.3 1.8 2 3.5 1.7V22c0 .4-.1\
      .7-.5.6z"/>
      """
    case .gitlab:
      """
      <path fill="#e24329" d="M5.6 1.8 8 9.3h8l2.4-7.5 3.2 7.5L12 22.4 2.4 9.3z"/>\
      <path fill="#fc6d26" d="M2.4 9.3H8l4 13.1zM21.6 9.3H16l-4 13.1z"/>\
      <path fill="#fca326" d="m2.4 9.3-1.3 3.6a1 1 0 0 0 .4 1.2L12 22.4zM21.6 9.3l1.3 3.6a1 1 0 0 1\
      -.4 1.2L12 22.4z"/>
      """
    case .facebook:
      """
      <circle cx="12" cy="12" r="11.2" fill="#0866ff"/>\
      <path fill="#fff" d="M9.9 23v-8.2H7v-3.3h2.9V9.2c0-2.9 1.7-4.5 4.5-4.5.8 0 1.7.1 2.3.2v2.8h-1.6\
      c-1.4 0-1.9.8-1.9 1.9v1.9h3.3l-.5 3.3h-2.8V23a11 11 0 0 1-3.3 0z"/>
      """
    case .discord:
      """
      <path fill="#5865f2" fill-rule="evenodd" d="M19.4 4.9a16 16 0 0 0-4.3-1.3l-.6 1.2a16 16 0 0 0-5 \
      0l-.6-1.2c-1.4.2-2.9.6-4.3 1.3-2.7 4-3.5 8-3.1 11.9 1.7 1.3 3.5 2.1 5.3 2.7l1.1-1.8c-.6-.2-1.2\
      -.5-1.7-.9l.4-.3c3.4 1.6 7.4 1.6 10.8 0l.4.3c-.5.4-1.1.7-1.7.9l1.1 1.8c1.8-.6 3.6-1.4 5.3-2.7.4\
      -4.4-.7-8.3-3.1-11.9zM8.5 14.5a1.9 2.1 0 1 1 0-4.2 1.9 2.1 0 0 1 0 4.2zm7 0a1.9 2.1 0 1 1 0-4.2 \
      1.9 2.1 0 0 1 0 4.2z"/>
      """
    case .linkedin:
      """
      <rect x="1" y="1" width="22" height="22" rx="2" fill="#0a66c2"/>\
      <path fill="#fff" d="M5 9.6h3.2v9.7H5zM6.6 8.4a1.9 1.9 0 1 1 0-3.7 1.9 1.9 0 0 1 0 3.7zM10.1 9.6\
      h3.1v1.3c.6-1 1.7-1.6 3-1.6 2.6 0 3.5 1.7 3.5 4.3v5.7h-3.2v-5.1c0-1.3-.4-2.2-1.5-2.2-1.2 0-1.7.9\
      -1.7 2.2v5.1h-3.2z"/>
      """
    case .x:
      """
      <path fill="currentColor" fill-rule="evenodd" d="M1.4 2.2h6.9l14.3 19.6h-6.9zM4.9 4l11.7 16h2.5\
      L7.4 4z"/><path fill="currentColor" d="M20 2.2h2.4l-8.1 9.3-1.2-1.6zM1.6 21.8l8.5-9.8 1.2 1.6\
      L4 21.8z"/>
      """
    case .slack:
      """
      <g fill="#36c5f0">\(Self.quarter)</g>\
      <g fill="#2eb67d" transform="rotate(90 12 12)">\(Self.quarter)</g>\
      <g fill="#ecb22e" transform="rotate(180 12 12)">\(Self.quarter)</g>\
      <g fill="#e01e5a" transform="rotate(270 12 12)">\(Self.quarter)</g>
      """
    case .other: nil
    }
  }

  /// A quarter of Slack's mark.
  private static let quarter: Markup = """
    <path d="M3.2 6.9h5.9a2.2 2.2 0 0 1 0 4.4H3.2a2.2 2.2 0 0 1 0-4.4zM9.1 1a2.2 2.2 0 0 0 0 4.4h2.2\
    V3.2A2.2 2.2 0 0 0 9.1 1z"/>
    """
}
