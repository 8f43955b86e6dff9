import Accounts
import Delivery
import EventLoop
import HTTP
import Imaging
import JSON
import OpenID
package import Pages
import Passkeys
package import Runtime
import Sessions
import Tenancy
import WireKit

extension FormError {
  /// Returns the errors that a page shows for a failure; nil if the failure has a page of its own.
  ///
  /// - Parameters:
  ///   - failure: the failure of a verb.
  ///   - wrong: the error for a wrong password or code, which each page words in its own way.
  ///   - app: the app.
  /// - Returns: at least one error, or nil.
  static func errors(of failure: Failure, wrong: Kind, in app: App) -> [FormError]? {
    let seconds = failure.retryAfter?.wholeSeconds
    switch failure {
    case .invalid: return failure.faults.map { error(of: $0, in: app) }
    case .wrongCredentials, .invalidCode: return [FormError(wrong)]
    case .tooManyAttempts, .tooManyRequests: return [FormError(.attempts, seconds)]
    case .overloaded: return [FormError(.unavailable, seconds)]
    case .emailTaken: return [FormError(.emailTaken)]
    case .mailNotConfigured: return [FormError(.mailUnavailable)]
    case .signUpClosed: return [FormError(.signUpClosed)]
    case .loginMethodDisabled, .mfaDisabled: return [FormError(.methodClosed)]
    case .deviceFull: return [FormError(.browserFull)]
    case .tooManyFactors: return [FormError(.factorLimit)]
    case .lastIdentity: return [FormError(.lastIdentity)]
    case .tooManyIdentities: return [FormError(.identityLimit)]
    case .identityTaken: return [FormError(.identityTaken)]
    case .passkeysOff: return [FormError(.methodClosed)]
    case .passkeyInvalid, .passkeyFlowExpired: return [FormError(.passkeyWrong)]
    case .passkeyUnknown:
      return [FormError(.passkeyUnknown, 0, typed: failure["credential_id"]?.string)]
    case .userVerificationMissing: return [FormError(.passkeyNotVerified)]
    case .passkeyExists: return [FormError(.passkeyTaken)]
    case .tooManyPasskeys: return [FormError(.passkeyLimit)]
    case .emailRestorePending: return [FormError(.restorePending)]
    case .preconditionFailed, .identityExists, .noEmail: return [FormError(.changedMeanwhile)]
    case .pictureType, .pictureTruncated, .pictureDamaged, .picturePixels, .pictureTooComplex:
      return [FormError(.pictureUnreadable)]
    default: return nil
    }
  }

  /// Returns the error for a broken rule of an address or a password.
  private static func error(of fault: FieldError, in app: App) -> FormError {
    switch fault.place {
    case "/name": return FormError(.nameMalformed)
    case "/email":
      return FormError(fault.code.hasSameBytes(as: "same") ? .emailSame : .emailMalformed)
    case "/password", "/new_password": break
    default: return FormError(.changedMeanwhile)
    }
    switch fault.code {
    case "common", "breached": return FormError(.passwordCommon)
    case "personal": return FormError(.passwordPersonal)
    default: return FormError(.passwordShort, app.accountSettings.passwordMinLength)
    }
  }

  /// Returns the error of a new password that the user has typed; nil if the domain may accept it.
  ///
  /// So a form reports all its errors at once, also that of a field which the domain checks before.
  package static func error(
    ofNew password: String, email: String? = nil, in app: App
  ) -> FormError? {
    if password.isEmpty { return FormError(.newPasswordMissing) }
    // The domain reports one error for both limits of the length.
    if password.utf8.count > Credentials.longestPassword { return FormError(.passwordLong) }
    return Credentials.fault(in: password, of: email, at: "/password", app)
      .map { error(of: $0, in: app) }
  }

  /// Returns the error of an address that the user has typed; nil if it may be one.
  package static func error(ofEmail email: String) -> FormError? {
    if email.isEmpty { return FormError(.emailMissing) }
    // Imported users may have addresses that mix scripts.
    let fault = EmailAddress.fault(in: email, at: "/email", mixed: true)
    return fault == nil ? nil : FormError(.emailMalformed)
  }
}
