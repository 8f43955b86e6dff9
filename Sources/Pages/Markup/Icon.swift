/// The icons of the pages, which only repeat what a text says.
enum Icon: String {
  case check, alert, information, mail, person, key

  /// The icon as inline SVG, in the color of the text around it.
  var markup: Markup {
    """
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">\(shapes)</svg>
    """
  }

  private var shapes: Markup {
    switch self {
    case .check: #"<path d="m4.5 10.5 3.5 3.5 7.5-8"/>"#
    case .alert: #"<circle cx="10" cy="10" r="7.25"/><path d="M10 6.5v4.25M10 13.5v.01"/>"#
    case .information: #"<circle cx="10" cy="10" r="7.25"/><path d="M10 9.25v4.25M10 6.5v.01"/>"#
    case .mail:
      #"<rect x="2.75" y="4.25" width="14.5" height="11.5" rx="2"/><path d="m3.5 5.5 6.5 5.25 6.5-5.25"/>"#
    case .key:
      #"<circle cx="7" cy="7.5" r="4.25"/><path d="m10 10.5 7 6.75M13.5 14l2-2M7 7.5v.01"/>"#
    case .person:
      #"<circle cx="10" cy="6.75" r="3.25"/><path d="M3.75 16.5c.9-2.9 3.3-4.25 6.25-4.25s5.35 1.35 6.25 4.25"/>"#
    }
  }
}
