/// Is told about each transaction just before and just after it becomes durable. The crash tests end the process there.
public protocol WriteObserver: Sendable {
    /// All changes of the transaction named `label` are made, but not committed.
    func willCommit(_ label: String)
    /// The transaction named `label` is on disk.
    func didCommit(_ label: String)
}
