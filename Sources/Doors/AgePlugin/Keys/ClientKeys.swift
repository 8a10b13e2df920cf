import CommandFailures
import DoorSupport
import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory

/// The keys of the enclave, used for the program behind the plugin, which is age.
package final class ClientKeys: IdentityKeys, RecipientSource {
    /// A failure is said where a key is needed, and not for files of others.
    private let client: Result<ServedClient, DoorFailure>

    /// Names the program that started this one to the daemon. Asks nobody.
    package convenience init() {
        self.init(
            Result { () throws(DoorFailure) -> ServedClient in
                let client = ServedClient(parent: try ParentClient.ofThisProcess())
                try client.begin()
                return client
            })
    }

    init(_ client: Result<ServedClient, DoorFailure>) { self.client = client }

    // MARK: finding

    func recipient(of identity: AgeIdentity) throws -> AgeRecipient {
        guard identity.latticeKey != nil else { return AgeRecipient(identity.point) }
        return AgeRecipient(identity.point, latticeKey: try verifiedLatticeKey(of: identity))
    }

    /// Refuses an identity whose keys are gone, or are others than it says. Its text is no secret, so anybody may have written it.
    private func requireKeys(of identity: AgeIdentity) throws {
        let key = try key(identity.curveKey)
        guard key.kind == .p256, key.publicKey == identity.point.uncompressed else { throw Self.otherKey }
        if identity.latticeKey != nil { _ = try verifiedLatticeKey(of: identity) }
    }

    private func verifiedLatticeKey(of identity: AgeIdentity) throws -> Data? {
        guard let id = identity.latticeKey else { return nil }
        let key = try key(id)
        guard key.kind == .mlKEM768 else { throw Self.otherKey }
        return key.publicKey
    }

    private func key(_ id: Data) throws -> EnclaveKey {
        do { return try client.get().ostiary.key(id: id) } catch let error as OstiaryError
            where error.isFailure(.notFound)
        {
            throw Self.missingKey
        }
    }

    // MARK: using

    func authorize(_ identity: AgeIdentity, fileCount: Int) throws {
        try requireKeys(of: identity)
        for key in identity.keys { try authorize(key, fileCount: fileCount) }
    }

    /// A proof for one key of an identity counts for the other one: the context keeps it for a while.
    private func authorize(_ key: Data, fileCount: Int) throws {
        let client = try client.get()
        let reason = fileCount == 1 ? "decrypt a file" : "decrypt \(fileCount) files"
        try client.context.authorize(
            .right(id: key), interaction: Interaction(reason: reason), cancellation: client.cancellation)
    }

    func agree(_ key: Data, with publicKey: Data) throws -> SecretBytes {
        try using(key) { client in
            try client.context.exchange(
                publicKey: publicKey, right: key, algorithm: Self.exchange, requestedSize: nil, sharedInfo: nil,
                cancellation: client.cancellation)
        }
    }

    func decapsulate(_ encapsulated: Data, with key: Data) throws -> SecretBytes {
        try using(key) { client in
            try client.context.decapsulate(encapsulated, key: key, cancellation: client.cancellation)
        }
    }

    private static let exchange = "algid:keyexchange:ECDH"

    /// A grant that a limit of the rule has ended is asked for again: the rule wants that.
    private func using(_ key: Data, _ work: (ServedClient) throws -> SecretBytes) throws -> SecretBytes {
        let client = try client.get()
        do { return try work(client) } catch let error as OstiaryError where error.isFailure(.notAuthorized) {
            try authorize(key, fileCount: 1)
            return try work(client)
        }
    }

    // MARK: failures

    private static let missingKey = DoorFailure(
        -175, FailureClass("ageKeyMissing", .failed),
        "The key of this identity is not there: it was removed, or belongs to another user or machine. Nothing was done; "
            + "`age-plugin-ostiary --list` shows the keys that are there.")

    private static let otherKey = DoorFailure(
        -176, FailureClass("ageKeyDiffers", .refused),
        "The identity names a key, and says something about it that is not so: it was changed. Nothing was done; "
            + "`age-plugin-ostiary --identity` writes the right one.")
}
