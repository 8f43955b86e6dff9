/// The languages of the pages and mails, with their tags.
///
/// A new case does not compile until `Pages` has its catalog of pages, and `Delivery` its texts of
/// mails. All else, such as discovery and the settings, follows from the list.
package enum Language: String, CaseIterable, Sendable {
  case english = "en"
  case german = "de"
}
