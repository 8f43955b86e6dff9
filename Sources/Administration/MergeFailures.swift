package import Runtime

/// The errors of merges of users, which `OpenID` carries out.
extension Failure {
  package static let mergeNotPossible = Failure("merge_not_possible", .conflict)
    .titled("These users cannot be merged.")
    .remedied("Correct what the detail says, or merge the users the other way round.")
  package static let notUndoable = Failure("not_undoable", .gone)
    .titled("The merge cannot be undone: it is unknown, undone or older than seven days.")
    .remedied("Create the user again, or restore earlier versions of documents.")
}
