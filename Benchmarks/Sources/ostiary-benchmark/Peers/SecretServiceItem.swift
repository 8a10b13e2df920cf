import CSecretService

/// The same password in the desktop's Secret Service.
struct SecretServiceItem {
    private static let password = String(decoding: KeychainItem.data, as: UTF8.self)

    /// Waits until the service is there, and stores it.
    func add() throws {
        guard benchmark_secret_store(KeychainItem.service, KeychainItem.account, Self.password) == 0 else {
            throw NotFound()
        }
    }

    func find() throws {
        guard benchmark_secret_find(KeychainItem.service, KeychainItem.account) == KeychainItem.data.count else {
            throw NotFound()
        }
    }

    struct NotFound: Error, CustomStringConvertible {
        var description: String { "the Secret Service did not keep the password" }
    }
}
