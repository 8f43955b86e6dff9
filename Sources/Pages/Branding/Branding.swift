/// The look of an app's pages and mails.
package struct Branding: Sendable {
  /// The name of the app, as users know it.
  package let name: String
  package let logo: Logo?
  /// The icon in the tabs of browsers; nil for one that is made from the name.
  package let icon: ImageSource?
  /// The color of primary buttons; nil for the default blue.
  package let color: Color?
  package let radius: CornerRadius

  package init(
    name: String, logo: Logo? = nil, icon: ImageSource? = nil, color: Color? = nil,
    radius: CornerRadius = .standard
  ) {
    self.name = name
    self.logo = logo
    self.icon = icon ?? logo?.light
    self.color = color
    self.radius = radius
  }

  /// A logo of at most 160 × 40 px, with a variant for the dark scheme.
  package struct Logo: Sendable, Hashable {
    package let light: ImageSource
    package let dark: ImageSource?

    package init(light: ImageSource, dark: ImageSource? = nil) {
      self.light = light
      self.dark = dark
    }
  }

  /// Returns the look with the logo of one scheme, for a page that has only this scheme.
  package func shown(in scheme: ColorScheme) -> Branding {
    guard scheme == .dark, let dark = logo?.dark else {
      return Branding(
        name: name, logo: logo.map { Logo(light: $0.light) }, icon: icon, color: color,
        radius: radius)
    }
    return Branding(name: name, logo: Logo(light: dark), icon: icon, color: color, radius: radius)
  }

  /// The radius of the corners of buttons and fields.
  package struct CornerRadius: Sendable, Hashable {
    package let pixels: Int
    package static let standard = CornerRadius(clamping: 8)

    /// Creates a radius between 0 and 22, half of the height of a button.
    package init(clamping pixels: Int) { self.pixels = min(max(pixels, 0), 22) }
  }
}

/// The address of an image, which the policy of its page allows.
package struct ImageSource: Sendable, Hashable {
  package let destination: Destination

  package init(_ path: LocalPath) { destination = Destination(path) }

  /// Checks the URL of another server; nil unless it is `https`, or `http` to this machine.
  package init?(url: String) {
    guard let destination = Destination(url: url) else { return nil }
    self.destination = destination
  }
}

/// The files that each page loads, under paths that the web server chooses.
package struct PageAssets: Sendable {
  package let stylesheet: LocalPath
  package let script: LocalPath

  /// - Parameters:
  ///   - stylesheet: the path of `Stylesheet.text`; it should contain its version.
  ///   - script: the path of `PageScript.text`; it should contain its version.
  package init(stylesheet: LocalPath, script: LocalPath) {
    self.stylesheet = stylesheet
    self.script = script
  }
}
