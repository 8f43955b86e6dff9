/// The keys of the catalog, by meaning.
///
/// The file of English has a text for each key; the other languages fall back to it.
package enum MessageKey: String, Sendable, CaseIterable {
  // The frame of all pages.
  case languageName, languages, pageTitle, errorPageTitle, errorSummary, errorLabel
  case terms, privacy, help, printedOn, noScript
  case showPassword, hidePassword, passwordShown, passwordHidden, copy, copied, print
  // Buttons and links of several pages.
  case `continue`, cancel, change, save, show, verify, confirm, download, remove, delete, end
  case sendCode, sendLink, sendNewCode, savePassword, backToApp, backToClient, backToSignIn,
    contactSupport,
    reload
  // Fields.
  case email, password, newPassword, newPasswordHint, code, mailCodeHint, authenticatorCodeHint
  case recoveryCode, currentPassword, nextPassword, name, language, timeZone, newAddress,
    pictureFile, pictureHint
  // Sign-in.
  case signIn, signInToApp, signInToClient, rememberAddress, enterPassword, forgotPassword,
    or, mailCodeInstead
  case enterCode, codeSent, codeSentToYou, usePassword, sendAnotherMail
  case secondFactor, secondFactorIntroduction, useRecoveryCode
  case recoveryCodeIntroduction, useAuthenticator
  // Sign-in at other issuers.
  case continueWith, lastUsed, moreSignInMethods, signedInWith, signInAnotherWay, retry, tryLater
  case connectionFailedTitle, connectionFailed, connectionFailedText, connectionUnavailable
  case connectionRefusedTitle, connectionRefused, connectionNotAllowedText
  case connectionNotConfirmedText
  case connectionSignUpClosedText, connectionAddressTakenText
  case accountExists, accountExistsText, signInToLink, linkingNotice, notLinked, notLinkedText
  // Sign-up.
  case createAccount, createAccountIntroduction, signUpToClient, haveAccount, readTerms
  // Forgotten passwords and addresses.
  case resetPassword, resetIntroduction, checkMail, resetSent, verificationSent, mailSentNext,
    resetDone, verificationDone, signedIn, signedInText
  case chooseNewPassword
  case verifyAddress, confirmAddress, confirmAddressIntroduction, disown, disownIntroduction
  case restoreAddress, restoreAddressIntroduction, restoreAddressEffect
  case addressConfirmed, addressConfirmedText, alreadyVerified, alreadyVerifiedText
  case addressRestored, addressRestoredText, passwordSaved, passwordSavedText
  case accountDeleted, accountDeletedText
  // Consent.
  case consentTitle, consent, consentScopes, consentTarget, consentRevocation
  case allow, deny, notYou, clientTerms, clientPrivacy
  case scopeResource, scopeOpenID, scopeProfile, scopeEmail, scopePhone
  case scopeOffline, scopeReadData, scopeAddData, scopeChangeData, scopeDeleteData
  case scopeChangeSignIn
  case confirmApplicationTitle, confirmApplication, confirmApplicationIntroduction
  // Accounts of a browser.
  case chooseAccount, useAnotherAccount, switchAccount, signOutAll, signedOutAccount,
    accountWithoutName
  case signOut, signOutQuestion, staySignedIn, signedOut, signedOutText, signedOutOfOne,
    signedOutIssuer, signInAgain
  // Second factors.
  case setUpAuthenticator, setUpAuthenticatorText, setUpAuthenticatorIntroduction,
    replaceAuthenticator, replaceAuthenticatorText, qrCode,
    authenticatorKey, openAuthenticator, turnOn
  case saveRecoveryCodes, saveRecoveryCodesIntroduction, continueAfterSaving
  case recoveryCodeUse, savedOn
  // The start page and the account.
  case start, startHeading, startText
  case account, profile, picture, nameAndLanguage, signInMethods, access, data, yourData
  case yourDataText, nothingYet, verified, unverified, backToAccount
  case passwordIsSet, notSet, set, authenticatorApp, authenticatorIsOn
  case authenticatorIsOff, setUp, turnOff, recoveryCodes, recoveryCodesLeft, replace
  case sessions, sessionCount, identities, identityCount, applications, applicationCount
  case sessionsIntroduction, lastUse, signedInOn, usedByClients, unknownDevice, thisDevice,
    endOtherSessions
  case undoChanges, undoChangesOf, undoSession, undoSessionText, settingsDocument, appDocument,
    undoneValue, undoneRemoval, undoneReturn, keptValue, undoneMore, undoneManyMore, undoConflicts,
    undoNotWritable, undoDeletion, undoCreation, undoHistoryGone, undoTooLarge, undoMismatch,
    undoIncomplete, undoNothing, undoTheseChanges
  case valueYes, valueNo, valueEmpty, valueEntries
  case identitiesIntroduction, linkedOn, unlink, applicationsIntroduction, grantedOn
  case link, linkAccount
  case support, supportText, supportIntroduction, supportCodeUse, createSupportCode,
    createNewSupportCode,
    supportSessionLasts, endSupport, supportEnded
  case passkeys, passkeyCount, passkey, passkeysIntroduction, passkeyMadeOn, addPasskey,
    createPasskey, addPasskeyText,
    removePasskey, removePasskeyText
  case signInWithPasskey, signUpWithPasskey, usePasskey, passkeyStepIntroduction,
    passkeyNeededIntroduction, passkeyOnDevice
  case passkeyOffer, passkeyOfferText, remindLater, notOnThisDevice, passkeysLeft
  case verificationNeeded, verificationLinkSent
  case upload, removePicture, changeAddress, changeAddressIntroduction
  case addAddress, addAddressIntroduction
  case changePassword, changePasswordText
  case turnOffAuthenticator, turnOffAuthenticatorText, turnOffForPasskeyText,
    replaceRecoveryCodes
  case replaceRecoveryCodesText, createCodes, linkIdentity, linkIdentityText, unlinkIdentity,
    unlinkIdentityText
  case removeApplication, removeApplicationText, downloadIntroduction, downloadData
  case deleteAccount, deleteAccountText, deleteAccountIntroduction, deletesData, endsSessions
  case downloadFirst, typeAddress, deleteForever
  case confirmIdentity, confirmIdentityIntroduction, confirmIdentityToClient, useOtherMethod
  // Reports of changes.
  case changesSaved, addressChanged, passwordChanged, sessionEnded, otherSessionsEnded,
    changesUndone, identityLinked,
    identityUnlinked, applicationRemoved, authenticatorTurnedOn,
    authenticatorTurnedOff, passkeyAdded, passkeyRemoved
  // Hand-over.
  case handOver, handOverToApp, handOverToClient, formPostIntroduction, webMessageIntroduction
  // Errors of fields.
  case emailMissing, emailMalformed, nameMalformed, passwordMissing, signInWrong, passwordWrong,
    codeMalformed
  case mailCodeWrong, mailCodeTries, codeExpired, codeAttempts, authenticatorCodeWrong,
    recoveryCodeWrong
  case passwordShort, passwordCommon, passwordPersonal, passwordLong, emailTaken, emailSame
  case pictureMissing, pictureUnreadable, confirmationWrong
  case mailUnavailable, signUpClosed, methodClosed, browserFull, factorLimit, lastIdentity,
    identityTaken, identityLimit, identityOfOther, restorePending
  case passkeyWrong, passkeyUnknown, passkeyNotVerified, passkeyTaken, passkeyLimit
  case changedMeanwhile
  // Errors of pages.
  case unknownApplication, unknownApplicationText, unregisteredRedirect, unregisteredRedirectText
  case unregisteredRedirectURI, signInExpired, signInExpiredText, startAgain
  case otherBrowser, otherBrowserText, cookiesNeeded
  case cookiesNeededText, throttled, throttledText, tryAgain, accountBlocked, accountBlockedText
  case serviceUnavailable, serviceUnavailableText, linkExpired, linkExpiredText, requestNewLink
  case requestRefused, requestRefusedText, pageNotFound, pageNotFoundText, internalError,
    internalErrorText, internalErrorRequest
  // Times.
  case waitSeconds, waitMinutes, waitHours, waitDays, dayFormat, timeFormat
  case january, february, march, april, may, june, july, august, september, october, november
  case december
  // Emails: subjects, texts and buttons.
  case verifyMailSubject, verifyMailText, resetMailSubject, resetMailText, restoreMailSubject,
    restoreMailText, takenMailSubject, takenMailText, unknownMailSubject, unknownMailText,
    codeMailSubject, codeMailText, changeMailSubject, changeMailText, operationMailText,
    verifyMailButton,
    resetMailButton, restoreMailButton, secureMailButton, buttonFallback
  // Emails with a code.
  case signInCodeTitle, registrationCodeTitle, newAddressCodeTitle, newPasswordCodeTitle,
    deviceOnSystem, someDevice
  // Notices of a change.
  case loginMethodAddedNoticeTitle, linkedNotice, loginMethodRemovedNoticeTitle, unlinkedNotice,
    apiKeyDisabledNoticeTitle, keyDisabledNotice, apiKeyEnabledNoticeTitle, keyEnabledNotice,
    addressVerifiedNoticeTitle, emailVerifiedNotice, takenOverNotice,
    passwordChangedNoticeTitle, passwordChangedNotice, passwordResetNotice, passwordSetNotice,
    addressChangedNoticeTitle, emailReplacedNotice, addressRestoredNoticeTitle,
    emailRestoredNotice, emailDisplacedNotice, secondFactorAddedNoticeTitle,
    factorAddedNotice, secondFactorRemovedNoticeTitle, factorRemovedNotice,
    secondFactorsRemovedNotice, newRecoveryCodesNoticeTitle, recoveryCodesMadeNotice,
    newSignInNoticeTitle, signedInNotice, supportNoticeTitle, supportNotice,
    accountDeletedNoticeTitle, deletedNotice
  // Notices to administrators.
  case webhookFailsNoticeTitle, webhookFailsNotice, webhookFailsAdvice,
    webhookDisabledNoticeTitle, webhookDisabledNotice, webhookDisabledAdvice
  // Words of notices.
  case passwordLoginMethod, emailLoginMethod, apiKeyLoginMethod, passkeyLoginMethod,
    issuerLoginMethod, resetAdvice,
    contactAdvice
}

extension MessageKey {
  /// The placeholders that a text may have.
  package var placeholders: Set<String> {
    switch self {
    case .verifyMailSubject, .resetMailSubject, .restoreMailSubject, .takenMailSubject,
      .takenMailText, .unknownMailSubject, .unknownMailText:
      ["app", "email"]
    case .codeMailSubject, .changeMailSubject: ["app", "email", "title"]
    case .verifyMailText, .resetMailText, .restoreMailText: ["app", "email", "link", "token"]
    case .codeMailText: ["app", "email", "title", "code", "device", "time"]
    case .changeMailText, .operationMailText:
      ["app", "email", "title", "change", "advice", "time"]
    default: ownPlaceholders.union(["app"])
    }
  }

  /// The placeholders of a page or of a part of an email, without the name of the app.
  private var ownPlaceholders: Set<String> {
    switch self {
    case .pageTitle, .errorPageTitle: ["page"]
    case .printedOn, .savedOn, .lastUse, .signedInOn, .throttledText, .tryAgain,
      .serviceUnavailableText, .supportSessionLasts:
      ["time"]
    case .backToClient, .signInToClient, .signUpToClient, .consent, .confirmApplication,
      .confirmApplicationIntroduction, .removeApplicationText, .confirmIdentityToClient,
      .handOverToClient, .unregisteredRedirectText, .undoChangesOf:
      ["client"]
    case .newPasswordHint, .code, .recoveryCodesLeft, .sessionCount, .passkeyCount, .passkeysLeft,
      .identityCount,
      .applicationCount, .codeMalformed, .mailCodeTries, .passwordShort, .waitSeconds,
      .waitMinutes, .waitHours, .waitDays, .undoneMore, .undoneManyMore, .valueEntries:
      ["count"]
    case .codeSent, .codeSentToYou, .resetSent, .verificationSent, .confirmAddressIntroduction,
      .restoreAddressIntroduction, .changeAddressIntroduction, .typeAddress:
      ["email"]
    case .consentTarget: ["target"]
    case .undoneValue: ["name", "now", "after"]
    case .undoneRemoval, .keptValue: ["name", "now"]
    case .undoneReturn: ["name", "after"]
    case .usedByClients: ["clients"]
    case .linkedOn, .grantedOn, .passkeyMadeOn: ["day"]
    case .linkIdentityText, .unlinkIdentityText, .issuerLoginMethod, .continueWith, .signedInWith,
      .connectionFailed,
      .connectionFailedText, .connectionUnavailable, .connectionRefused, .connectionNotAllowedText,
      .connectionNotConfirmedText,
      .connectionSignUpClosedText, .connectionAddressTakenText, .accountExistsText, .linkingNotice,
      .signedOutIssuer:
      ["issuer"]
    case .unregisteredRedirectURI: ["uri"]
    case .internalErrorRequest: ["request"]
    case .dayFormat: ["day", "month", "year"]
    case .timeFormat: ["day", "time", "zone"]
    case .deviceOnSystem: ["browser", "system"]
    case .linkedNotice, .unlinkedNotice: ["method"]
    case .signedInNotice: ["device"]
    case .supportNotice: ["reason"]
    case .webhookFailsNotice, .webhookDisabledNotice: ["receiver", "reason", "time"]
    default: []
    }
  }

  /// Whether the text must be one line: the subject of an email.
  package var isOneLine: Bool {
    switch self {
    case .verifyMailSubject, .resetMailSubject, .restoreMailSubject, .takenMailSubject,
      .unknownMailSubject, .codeMailSubject, .changeMailSubject:
      true
    default: false
    }
  }
}
