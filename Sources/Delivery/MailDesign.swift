package import EventLoop
package import Runtime

/// The look of the mails of each app, which the module of its pages supplies.
@EventLoop package protocol MailDesign: AnyObject {
  /// Returns the name of an app, as its users know it.
  func name(of app: App) -> String

  /// Returns the language of an app, for users whose language is unknown.
  func language(of app: App) -> String

  /// Returns the HTML part of a mail, with the words of its text.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  func html(of mail: QueuedMail, for app: AppID, _ context: RequestContext)
    async throws(Failure) -> String
}
