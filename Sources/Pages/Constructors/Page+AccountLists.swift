internal import Encoding
import Localization

extension Page {
  /// Lists the sessions of a user.
  package static func sessions(
    _ sessions: [SessionDescription], endOthers: FormTarget?, back: Destination
  ) -> Page {
    var page = accountPage(.sessions, back: back)
    page.introduction = [.message(.sessionsIntroduction)]
    let rows = sessions.map { session in
      var values = [session.browser, session.place].compactMap(\.self).map(Text.name)
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
        actions: button(.end, session.end)
      )
    }
    page.body = [.rows(rows)]
    page.add(.endOtherSessions, endOthers)
    return page
  }

  /// Lists the identities of a user.
  package static func identities(_ identities: [IdentityDescription], back: Destination) -> Page {
    var page = accountPage(.identities, back: back)
    page.introduction = [.message(.identitiesIntroduction)]
    let rows = identities.map { identity in
      let values = identity.linkedOn.map { [Text.message(.linkedOn, ["day": .day($0)])] } ?? []
      return Row(identity.issuer, values: values, actions: button(.unlink, identity.unlink))
    }
    page.body = [rows.isEmpty ? .paragraphs([.message(.nothingYet)]) : .rows(rows)]
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

  private static func button(_ key: MessageKey, _ target: FormTarget?) -> [Row.Action] {
    target.map { [.button(Button(.message(key), style: .secondary), $0)] } ?? []
  }
}
