import SecretItems

/// The owner's keyring, as the commands use it. Calls block; those with a reason may ask the person.
protocol OwnerKeyring {
    /// The items or rows that match, oldest first, locked ones too. Asks nobody.
    func list(_ query: SecretQuery) throws(SecretsFailure) -> [OwnedSecret]
    /// Has the passcode open the store. Asks nobody if it is open.
    func open(asking reason: String) throws(SecretsFailure)
    /// Reads a secret that asks for nothing.
    func read(_ id: SecretID, in collection: String) throws(SecretsFailure) -> HeldSecret
    func add(_ new: NewSecret, origin: String?, asking reason: String) throws(SecretsFailure) -> SecretID
    func change(
        _ id: SecretID, in collection: String, to change: SecretChange, origin: String?, asking reason: String
    ) throws(SecretsFailure)
    func protect(
        _ query: SecretQuery, by protection: SecretProtection, asking reason: String
    ) throws(SecretsFailure) -> Int
    func setDefaults(
        _ protection: SecretProtection, ofRows rows: [(id: SecretID, attributes: [String: String])],
        asking reason: String
    ) throws(SecretsFailure)
}

/// The daemon's.
struct DaemonKeyring: OwnerKeyring {
    func list(_ query: SecretQuery) throws(SecretsFailure) -> [OwnedSecret] { try OwnerSecrets.list(query) }

    func open(asking reason: String) throws(SecretsFailure) { try OwnerSecrets.open(asking: reason) }

    func read(_ id: SecretID, in collection: String) throws(SecretsFailure) -> HeldSecret {
        try OwnerSecrets.read(id, in: collection)
    }

    func add(_ new: NewSecret, origin: String?, asking reason: String) throws(SecretsFailure) -> SecretID {
        try OwnerSecrets.add(new, origin: origin, asking: reason)
    }

    func change(
        _ id: SecretID, in collection: String, to change: SecretChange, origin: String?, asking reason: String
    ) throws(SecretsFailure) {
        try OwnerSecrets.change(id, in: collection, to: change, origin: origin, asking: reason)
    }

    func protect(
        _ query: SecretQuery, by protection: SecretProtection, asking reason: String
    ) throws(SecretsFailure) -> Int {
        try OwnerSecrets.protect(query, by: protection, asking: reason)
    }

    func setDefaults(
        _ protection: SecretProtection, ofRows rows: [(id: SecretID, attributes: [String: String])],
        asking reason: String
    ) throws(SecretsFailure) {
        try OwnerSecrets.setDefaults(protection, ofRows: rows, asking: reason)
    }
}
