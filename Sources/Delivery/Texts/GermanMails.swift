import Tenancy
import ReferenceData
import Runtime

struct GermanMails: MailCatalog {
  let language = Language.german.rawValue

  func texts(of kind: MailKind) -> (subject: String, text: String) {
    switch kind {
    case .token(.verify):
      (
        "Adresse für {{app}} bestätigen",
        """
        Diesen Link innerhalb eines Tages öffnen und anmelden:

        {{link}}

        Das bestätigt die Adresse des Kontos bei {{app}}.

        Nicht angefordert? Diese E-Mail ignorieren.

        """
      )
    case .token(.reset):
      (
        "Passwort für {{app}} zurücksetzen",
        """
        Diesen Link innerhalb einer Stunde öffnen und ein neues Passwort wählen:

        {{link}}

        Bis dahin ändert sich nichts.

        Nicht angefordert? Diese E-Mail ignorieren.

        """
      )
    case .taken:
      (
        "Es gibt ein Konto bei {{app}}",
        """
        Jemand wollte diese Adresse bei {{app}} verwenden. Dort gibt es zu ihr ein Konto.

        Selbst angefordert? Wie bisher anmelden oder das Passwort zurücksetzen.

        Nicht angefordert? Diese E-Mail ignorieren. Das Konto ist unverändert.

        """
      )
    case .unknown:
      (
        "Anmeldeversuch bei {{app}}",
        """
        Jemand wollte sich mit dieser Adresse bei {{app}} anmelden oder ihr Passwort zurücksetzen. Dort gibt es zu ihr kein Konto.

        Selbst versucht? Eine andere Adresse verwenden.

        Nicht angefordert? Diese E-Mail ignorieren.

        """
      )
    case .change:
      (
        "{{title}}",
        """
        {{change}}

        Zeit: {{time}}.

        Selbst veranlasst? Diese E-Mail ignorieren.

        Nicht veranlasst? {{advice}}

        """
      )
    case .token(.restore):
      (
        "Adresse bei {{app}} geändert",
        """
        Diese Adresse gehört nicht mehr zum Konto bei {{app}}. Sie wurde geändert oder entfernt.

        Selbst veranlasst? Diese E-Mail ignorieren.

        Nicht veranlasst? Diesen Link innerhalb einer Woche öffnen. Er stellt die Adresse wieder her, führt zu einem neuen Passwort und meldet alle anderen ab:

        {{link}}

        """
      )
    case .code:
      (
        "{{title}}",
        """
        Diesen Code dort eingeben, wo er angefordert wurde:

        {{code}}

        Er gilt einmal, innerhalb von 10 Minuten. Nicht weitergeben.

        Anfrage: {{time}}, {{device}}.

        Nicht angefordert? Diese E-Mail ignorieren.

        """
      )
    }
  }

  func label(of purpose: EmailToken.Purpose) -> String {
    switch purpose {
    case .verify: "Adresse bestätigen"
    case .reset: "Neues Passwort wählen"
    case .restore: "Adresse wiederherstellen"
    }
  }

  func title(of code: CodePurpose, _ app: String) -> String {
    switch code {
    case .signIn: "Anmeldecode für \(app)"
    case .registration: "Adresse für \(app) bestätigen"
    case .newAddress: "Neue Adresse für \(app) bestätigen"
    case .newPassword: "Neues Passwort für \(app) wählen"
    }
  }

  func device(_ name: BrowserName?) -> String {
    switch (name?.browser, name?.system) {
    case (let browser?, let system?): "\(browser) unter \(system)"
    case (let name?, nil), (nil, let name?): name
    case (nil, nil): "unbekanntes Gerät"
    }
  }

  func notice(
    of change: SecurityNotice, on device: String, _ app: String
  ) -> (title: String, text: String) {
    switch change {
    case .linked(let provider):
      (
        "Anmeldemethode bei \(app) hinzugefügt",
        "\(name(of: provider)) ermöglicht ab jetzt die Anmeldung beim Konto."
      )
    case .unlinked(let provider):
      (
        "Anmeldemethode bei \(app) entfernt",
        "\(name(of: provider)) ermöglicht die Anmeldung beim Konto nicht mehr."
      )
    case .keyDisabled:
      ("API-Schlüssel bei \(app) deaktiviert", "Ein API-Schlüssel des Kontos wurde deaktiviert.")
    case .keyEnabled:
      (
        "API-Schlüssel bei \(app) aktiviert",
        "Ein deaktivierter API-Schlüssel des Kontos gilt wieder."
      )
    case .emailVerified:
      ("Adresse bei \(app) bestätigt", "Diese Adresse wurde für das Konto bestätigt.")
    case .takenOver:
      (
        "Adresse bei \(app) bestätigt",
        "Diese Adresse ist jetzt bestätigt. Vorher kann jemand anderes das Konto angelegt haben. "
          + "Alle Sitzungen, das Passwort und alle anderen Zugänge sind deshalb ungültig. Die Daten "
          + "des Kontos sind noch da."
      )
    case .passwordChanged:
      ("Passwort für \(app) geändert", "Das Passwort des Kontos wurde geändert.")
    case .passwordReset:
      (
        "Passwort für \(app) geändert",
        "Über einen Link an diese Adresse wurde ein neues Passwort für das Konto gewählt."
      )
    case .passwordSet:
      (
        "Passwort für \(app) geändert",
        "Die Betreiber von \(app) haben ein neues Passwort für das Konto gesetzt."
      )
    case .emailReplaced:
      (
        "Adresse bei \(app) geändert",
        "Die Betreiber von \(app) haben eine andere Adresse für das Konto gesetzt."
      )
    case .emailRestored:
      (
        "Adresse bei \(app) wiederhergestellt",
        "Über einen Link an diese Adresse gehört sie wieder zum Konto. Ein neues Passwort wurde "
          + "gewählt. Alle anderen Zugänge sind ungültig."
      )
    case .emailDisplaced:
      (
        "Adresse bei \(app) geändert",
        "Diese Adresse gehört nicht mehr zum Konto. Über einen Link an die vorige Adresse wurde diese "
          + "wiederhergestellt. Ein neues Passwort wurde gewählt. Alle anderen Zugänge sind ungültig."
      )
    case .factorAdded:
      (
        "Zweiter Faktor bei \(app) hinzugefügt",
        "Das Konto hat einen zweiten Faktor: Jede Anmeldung fragt ab jetzt nach seinem Code. Alle "
          + "anderen Sitzungen sind beendet."
      )
    case .factorRemoved:
      (
        "Zweiter Faktor bei \(app) entfernt",
        "Ein zweiter Faktor des Kontos wurde entfernt: Seine Codes gelten nicht mehr."
      )
    case .secondFactorsRemoved:
      (
        "Zweiter Faktor bei \(app) entfernt",
        "Die Betreiber von \(app) haben die zweiten Faktoren des Kontos entfernt. Eine Anmeldung "
          + "fragt nicht mehr nach einem Code."
      )
    case .recoveryCodesMade:
      (
        "Neue Wiederherstellungscodes für \(app)",
        "Für das Konto gibt es neue Wiederherstellungscodes. Die bisherigen gelten nicht mehr."
      )
    case .signedIn:
      (
        "Neue Anmeldung bei \(app)",
        "Es gab eine Anmeldung beim Konto auf einem Gerät, das dort neu ist: \(device)."
      )
    case .deleted:
      ("Konto bei \(app) gelöscht", "Das Konto wurde mit allen Daten gelöscht.")
    }
  }

  private func name(of provider: IdentityProvider) -> String {
    switch provider {
    case .password, .linkedPassword: "Eine E-Mail-Adresse mit Passwort"
    case .email: "Eine E-Mail-Adresse"
    case .apiKey: "Ein API-Schlüssel"
    case .anonymous, .issuer: "Eine Identität von \(provider.issuer ?? provider.text)"
    }
  }

  func advice(_ remedy: SecurityNotice.Remedy, _ app: String) -> String {
    switch remedy {
    case .reset:
      "Das Passwort mit dieser Adresse zurücksetzen. Das beendet alle Sitzungen und alle "
        + "API-Schlüssel. Danach unbekannte Identitäten entfernen."
    case .contact:
      "Die Betreiber von \(app) verständigen. Selbst rückgängig machen lässt es sich nicht."
    }
  }
}
