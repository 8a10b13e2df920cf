import SecretItems
import SecretMemory

/// The secrets of applications in sandboxes: 64 random bytes for each, which it encrypts its own files with.
struct ApplicationSecrets: Sendable {
    static let byteCount = 64
    /// Stands in the attribute `coll`, and is no collection's.
    static let collection = "portal"
    private static let attribute = "app_id"

    let store: any ClientStore

    /// The application's secret, which is made at the first time.
    ///
    /// - Parameter question: nil: nobody is asked, and a locked store refuses.
    func secret(
        of application: ApplicationName, asking question: SecretQuestion?
    ) throws(StoreRefusal) -> HeldSecret {
        if let present = try ids(of: application).first { return try read(present, question) }
        let made = HeldSecret(SecretBytes(random: Self.byteCount))
        let new = NewSecret(
            collection: Self.collection, label: "Secret of \(application.text)",
            contentType: "application/octet-stream",
            attributes: [Self.attribute: application.text], secret: made)
        let id = try store.add(new, asking: question)
        // Two services of one owner may have made one at the same time. Both use the older one.
        guard let oldest = try ids(of: application).first, oldest != id else { return made }
        try store.delete([SecretQuery(collection: Self.collection, id: id)], asking: question)
        return try read(oldest, question)
    }

    /// Oldest first.
    private func ids(of application: ApplicationName) throws(StoreRefusal) -> [SecretID] {
        try store.list(
            SecretQuery(collection: Self.collection, attributes: [Self.attribute: application.text])
        ).map(\.id)
    }

    /// To the daemon all applications are one program, the portal. So what the person proved for one of them must not count for the next one.
    private func read(_ id: SecretID, _ question: SecretQuestion?) throws(StoreRefusal) -> HeldSecret {
        store.forgetProofs(of: .item(id, in: Self.collection))
        let opened = try store.read(id, in: Self.collection, asking: question)
        guard opened.secret.bytes.count == Self.byteCount else {
            throw .failed("The application's secret has another size than it was made with. Look at the item \(id).")
        }
        return opened.secret
    }
}
