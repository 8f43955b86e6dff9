import Accounts
import EventLoop
import HTTP
import HostedPages
import JSON
import Localization
import Pages
import Runtime
import WireKit

/// The name, the language, the time zone and the picture: `/account/profile` and `/account/picture`.
@EventLoop enum ProfilePages {
  nonisolated static let path = "/account/profile"
  nonisolated static let picturePath = "/account/picture"
  private nonisolated static let removalPath = "/account/picture/remove"

  nonisolated static let routes = [
    AccountVisit.show(path, "Show the form of the name, the language and the time zone", show),
    AccountVisit.handle(path, "Change the name, the language and the time zone", save),
    AccountVisit.show(picturePath, "Show the form of the picture") {
      (visit) async throws(Failure) in
      let profile = try await Profiles.read(of: visit.user, visit.context)
      return visit.response(
        with: .changePicture(
          visit.target(picturePath), person: visit.person(profile),
          remove: visit.target(removalPath), back: .account, errors: visit.state.errors.pageErrors
        )
      )
    },
    AccountVisit.upload(picturePath, limit: Pictures.limit, "Upload the picture", upload),
    AccountVisit.handle(
      removalPath, from: LocalPath(checked: picturePath), "Remove the picture"
    ) { (visit, _) async throws(Failure) in
      try await Pictures.remove(of: visit.user, visit.context)
      return try visit.report(.changesSaved)
    },
  ]

  // MARK: The name, the language and the time zone

  private static func show(_ visit: AccountVisit) async throws(Failure) -> Response {
    let profile = try await Profiles.read(of: visit.user, visit.context)
    let languages = visit.call.pages.languages.catalogs.map {
      Field.Option($0.language, .name($0.name))
    }
    let zones = Profiles.zones.map { zone in
      Field.Option(zone, .name(visit.name(ofZone: zone)))
    }
    let locale = visit.state.values[.locale] ?? profile.locale ?? ""
    let zone = visit.state.values[.zone] ?? profile.zone ?? ""
    return visit.response(
      with: .changeProfile(
        visit.target(path), name: visit.state.values[.name] ?? profile.name ?? "",
        language: locale, languages: options(languages, with: locale), zone: zone,
        zones: options(zones, with: zone), back: .account, errors: visit.state.errors.pageErrors
      )
    )
  }

  /// Returns the options of a field, with its value and the empty one.
  ///
  /// The app may have set another value, such as the locale `de-AT`, which stays possible.
  private static func options(_ options: [Field.Option], with value: String) -> [Field.Option] {
    let isListed = options.contains { $0.value.utf8.elementsEqual(value.utf8) }
    let own = value.isEmpty || isListed ? [] : [Field.Option(value, .name(value))]
    return [Field.Option("", .message(.notSet))] + own + options
  }

  private static func save(
    _ visit: AccountVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    func member(_ name: InputName) -> JSON {
      let text = form.trimmed(name)
      return text.isEmpty ? .null : .string(text)
    }
    var members = JSONObject()
    members["name"] = member("name")
    for choice in ["locale", "zone"] as [InputName] where form[choice.text] != nil {
      members[choice.text] = member(choice)
    }
    let errors = try await visit.call.errors(wrong: .changedMeanwhile) {
      () async throws(Failure) in
      _ = try await Profiles.change(members, if: VersionCondition(), of: visit.user, visit.context)
    }
    let values: [PageState.Value: String] = [
      .name: form.trimmed("name"), .locale: form.trimmed("locale"), .zone: form.trimmed("zone"),
    ]
    return try visit.response(to: errors, of: LocalPath(checked: path), values)
  }

  // MARK: The picture

  private static func upload(
    _ visit: AccountVisit, _ form: Multipart
  ) async throws(Failure) -> Response {
    let page = LocalPath(checked: picturePath)
    guard let file = form["picture"]?.content, !file.isEmpty else {
      return try visit.response(to: [FormError(.pictureMissing)], of: page)
    }
    let errors = try await visit.call.errors(wrong: .pictureUnreadable) {
      () async throws(Failure) in
      _ = try await Pictures.set(Array(file), of: visit.user, visit.context)
    }
    return try visit.response(to: errors, of: page)
  }
}
