package import Runtime

extension ErrorType {
  package static let unknownApp = ErrorType("app_not_found", .notFound)
    .titled("No app has that name.")
    .remedied("Name an app of dossier app list in Dossier-App, or use one of its host names.")
  package static let wireDisabled = ErrorType("api_disabled", .notFound)
    .titled("This app does not offer this API.")
    .remedied(
      "Enable it, if the app has clients of it: dossier app set --app NAME app_services=true, "
        + "parra=true, auth0_management=true or auth0_dbconnections=true."
    )
  package static let appExists = ErrorType("app_exists", .conflict)
    .titled("An app with that name already exists.")
    .remedied("Choose another name.")
  package static let hostTaken = ErrorType("host_taken", .conflict)
    .titled("One of the host names belongs to another app.")
    .remedied("Remove the host name from the other app first: dossier app host remove.")

  package static let appErrors = [unknownApp, wireDisabled, appExists, hostTaken]
}

extension Failure {
  package static let unknownApp = Failure(.unknownApp)
  package static let wireDisabled = Failure(.wireDisabled)
  package static let appExists = Failure(.appExists)
  package static let hostTaken = Failure(.hostTaken)
}
