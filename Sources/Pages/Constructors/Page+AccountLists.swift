internal import Encoding
import Localization

extension Page {
  /// Lists the sessions of a user, that of this device first.
  package static func sessions(
    _ sessions: [SessionDescription], endOthers: FormTarget?, back: Destination
  ) -> Page {
    var page = accountPage(.sessions, back: back)
    page.introduction = [.message(.sessionsIntroduction)]
    let own = sessions.filter(\.isCurrent)
    let rows = (own + sessions.filter { !$0.isCurrent }).map { session in
      var values = [session.place].compactMap(\.self).map(Text.name)
      let time: [String: Text.Argument] = ["time": .time(session.time)]
      if !session.isCurrent {
        values.append(.message(session.isUsed ? .lastUse : .signedInOn, time))
      }
      if !session.clients.isEmpty {
        let names = session.clients.joined(separator: ", ")
        values.append(.message(.usedByClients, ["clients": .name(names)]))
      }
      return Row(
        session.device, values: values, badge: session.isCurrent ? .message(.thisDevice) : nil,
        actions: session.undos.map(action) + button(.end, session.end)
      )
    }
    page.body = [.rows(rows)]
    page.add(.endOtherSessions, endOthers)
    return page
  }

  /// Lists the identities of a user, and the issuers at which more can be linked.
  ///
  /// - `connections`: begin to link an account of an issuer.
  package static func identities(
    _ identities: [IdentityDescription], connections: [ConnectionButton] = [], back: Destination,
    errors: [PageError] = []
  ) -> Page {
    var page = accountPage(.identities, back: back)
    page.errors = errors
    page.introduction = [.message(.identitiesIntroduction)]
    let rows = identities.map { identity in
      let times: [Text?] = [
        identity.linkedOn.map { .message(.linkedOn, ["day": .day($0)]) },
        identity.lastUsed.map { .message(.lastUse, ["time": .day($0)]) },
      ]
      var row = Row(
        identity.issuer, values: ([identity.account.map { .name($0) }] + times).compactMap(\.self),
        actions: button(.unlink, identity.unlink)
      )
      row.mark = identity.mark
      return row
    }
    page.body = [rows.isEmpty ? .paragraphs([.message(.nothingYet)]) : .rows(rows)]
    guard !connections.isEmpty else { return page }
    let links = connections.map { connection in
      var row = Row(
        .name(connection.label),
        actions: [.link(Link(.message(.link), to: connection.destination))]
      )
      row.mark = connection.mark
      return row
    }
    page.body += [.subheading(.message(.linkAccount)), .rows(links)]
    return page
  }

  /// Lists the clients that a user gave access.
  package static func applications(
    _ applications: [ApplicationDescription], back: Destination
  ) -> Page {
    var page = accountPage(.applications, back: back)
    page.introduction = [.message(.applicationsIntroduction)]
    let rows = applications.map { application in
      Row(
        .name(application.name),
        values: application.groups.flatMap(\.scopes)
          + [.message(.grantedOn, ["day": .day(application.grantedOn)])],
        actions: button(.remove, application.remove)
      )
    }
    page.body = [rows.isEmpty ? .paragraphs([.message(.nothingYet)]) : .rows(rows)]
    return page
  }

  /// Offers the data of a user as a file.
  package static func data(download: Destination, deletion: Destination?, back: Destination) -> Page
  {
    var page = accountPage(.yourData, back: back)
    page.introduction = [.message(.downloadIntroduction)]
    var links = [
      Link(.message(.downloadData), to: download, download: "account.json", style: .secondary)
    ]
    if let deletion { links.append(Link(.message(.deleteAccount), to: deletion)) }
    page.body = [.links(links)]
    return page
  }

  private static func action(_ undo: SessionDescription.Undo) -> Row.Action {
    let text: Text =
      undo.client.map { .message(.undoChangesOf, ["client": .name($0)]) } ?? .message(.undoChanges)
    return .link(Link(text, to: Destination(undo.page)))
  }

  private static func button(_ key: MessageKey, _ target: FormTarget?) -> [Row.Action] {
    target.map { [.button(Button(.message(key), style: .secondary), $0)] } ?? []
  }
}
