package import Encoding
import Localization

extension Page {
  /// Offers a code by which support sees the account.
  ///
  /// - `code`: a new code, which is shown once; nil without one.
  /// - `sessions`: the ends of the sessions in which support sees the account now.
  /// - `end`: ends these sessions.
  package static func support(
    code: String?, sessions: [CalendarTime], create: FormTarget, end: FormTarget, back: Destination,
    errors: [PageError] = []
  ) -> Page {
    var page = accountPage(.support, back: back)
    page.errors = errors
    page.introduction = [.message(code == nil ? .supportIntroduction : .supportCodeUse)]
    if let code { page.body = [.codes([code])] }
    page.notices = sessions.map { time in
      Notice(.information, .message(.supportSessionLasts, ["time": .time(time)]))
    }
    if !sessions.isEmpty { page.add(.endSupport, end, code == nil ? .primary : .secondary) }
    page.add(
      code == nil ? .createSupportCode : .createNewSupportCode, create,
      sessions.isEmpty && code == nil ? .primary : .secondary)
    return page
  }
}
