package import ConsolePages
import EventLoop
package import HTTP
import HostedPages
package import Pages
package import Runtime
package import WireKit

/// A page that asks before an action which cannot be taken back, and lists what follows.
package struct ConsoleQuestion {
  package let title: String
  /// The heading; nil for the title.
  package let heading: Markup?
  package let section: ConsoleSection
  /// The page from which the administrator comes.
  package let back: ConsoleLink
  /// Each is a sentence, which may have a number.
  package let consequences: [String]
  /// Sentences about the data that the action leaves; empty if it leaves none.
  package var remains: [String] = []
  package let button: String
  /// A text that the administrator types to confirm; nil if a click is enough.
  package let confirmation: String?
  package let commands: [String]
  /// Further fields of the form.
  package private(set) var fields: [ConsoleField]
  /// Links to what is done before, beside the heading.
  package var actions: [Markup] = []

  package init(
    title: String, heading: Markup? = nil, section: ConsoleSection, back: ConsoleLink,
    consequences: [String], button: String, confirmation: String? = nil, commands: [String] = [],
    fields: [ConsoleField] = []
  ) {
    (self.title, self.heading, self.section, self.back) = (title, heading, section, back)
    (self.consequences, self.button) = (consequences, button)
    (self.confirmation, self.commands, self.fields) = (confirmation, commands, fields)
  }

  private static let field = "confirmation"

  /// Returns the page, whose form has the path of the page.
  @EventLoop package func page(_ visit: ConsoleVisit, mistakes: [Mistake] = []) -> ConsolePage {
    var page = ConsolePage(title, heading: heading, section: section)
    page.back = back
    page.mistakes = mistakes
    page.commands = commands
    page.actions = actions
    let fields = fields + [confirmation.map(Self.field(typing:))].compactMap(\.self)
    let form = Part.form(
      visit.target(visit.call.pagePath(above: 0)), isWide: true,
      """
      \(fields.markup(mistakes))\
      \(Part.buttons(
        Part.submit(button, .danger), Part.link("Cancel", to: back.path, style: .secondary)))
      """)
    page.body = [
      """
      <section class="card danger-zone"><h2>What happens</h2>\(Part.list(consequences))\
      \(if: !remains.isEmpty, "<h3>What stays</h3>\(Part.list(remains))")\(form)\
      </section>
      """
    ]
    return page
  }

  /// Returns the question with the values of a form in its fields.
  func filled(by form: FormValues) -> ConsoleQuestion {
    var question = self
    for index in fields.indices { question.fields[index].value = form[fields[index].name] ?? "" }
    return question
  }

  /// Returns the error of a form that does not confirm; none if it does.
  package func mistakes(_ form: FormValues) -> [Mistake] {
    confirmation.map { Self.mistakes(form, typing: $0) } ?? []
  }

  /// Returns the field into which the administrator types a text to confirm.
  package static func field(typing text: String) -> ConsoleField {
    ConsoleField(field, "Type \(text) to confirm")
  }

  /// Returns the error of a form whose field has another text; none if it has this one.
  ///
  /// Case does not count.
  package static func mistakes(_ form: FormValues, typing text: String) -> [Mistake] {
    form.trimmed(named: field).lowercased() == text.lowercased()
      ? [] : [Mistake("Type exactly \(text).", field: field)]
  }
}

extension ConsoleVisit {
  /// Returns the routes of an action: the page that asks, and its form at the same path.
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - right: the right without which the page is refused, as the action is by its operation.
  ///   - isRecent: whether the administrator must have authenticated within the last minutes.
  ///   - summary: what the action does.
  ///   - ask: returns the question.
  ///   - work: returns the response to a confirmed form.
  /// - Returns: the routes.
  package nonisolated static func asked(
    _ pattern: String, for right: AdministratorRight, isRecent: Bool = false, _ summary: String,
    ask: @escaping Finding<ConsoleQuestion>,
    _ work: @escaping Handling<FormValues, ConsoleOutcome>
  ) -> [Route] {
    [
      page(pattern, for: right, isRecent: isRecent, "Ask before the form: \(summary)") {
        (visit) async throws(Failure) in
        try await ask(visit).page(visit)
      },
      form(pattern, for: right, isRecent: isRecent, summary) {
        (visit, form) async throws(Failure) in
        let question = try await ask(visit).filled(by: form)
        let mistakes = question.mistakes(form)
        guard mistakes.isEmpty else {
          return .refused(question.page(visit, mistakes: mistakes), .unprocessable)
        }
        do throws(Failure) {
          return try await work(visit, form)
        } catch {
          guard error.isMendable else { throw error }
          visit.call.failure = error
          return .refused(
            question.page(visit, mistakes: error.mistakes(question.fields.map(\.name))),
            error.type.status)
        }
      },
    ]
  }
}
