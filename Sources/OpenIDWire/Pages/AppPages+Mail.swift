package import Delivery
import EventLoop
import Outbound
import Pages
package import Runtime
import Tenancy

extension AppPages: MailDesign {
  package func name(of app: App) -> String { app.branding.name }

  package func language(of app: App) -> String { app.brandingSettings.language }

  package func html(of mail: QueuedMail, for app: AppID, _ context: RequestContext)
    async throws(Failure) -> String
  {
    let app = try await context.apps.app(app)
    return pages(of: app).renderer.html(
      Mail(
        subject: mail.message.subject, text: mail.message.text, language: mail.language,
        secret: mail.secret, label: mail.label
      )
    )
  }
}
