import AccessControl
package import Cancellations
package import DoorSupport
package import Foundation
package import KeyAlgorithms
package import OstiaryClient
import OstiaryMessages
package import SSHAgent
import SSHFormats
import SSHKeyFiles
package import SecretMemory
import Synchronization

/// What the door asks of Ostiary for one client. Every call blocks; the uses as long as the person is asked, or until the cancellation ends
/// the question.
package protocol TokenKeyHolding: Sendable {
    /// The keys and certificates. Asks nobody, also while the store is locked.
    func contents() throws -> TokenContents
    func sign(_ input: SignedInput, with key: TokenKey, cancellation: Cancellation) throws -> Data
    func decrypt(
        _ ciphertext: Data, _ padding: RSAEncryptionPadding, with key: TokenKey, cancellation: Cancellation
    ) throws -> SecretBytes
    /// The x-coordinate of the common point.
    func agree(with point: Data, _ key: TokenKey, cancellation: Cancellation) throws -> SecretBytes
}

package struct TokenContents: Equatable, Sendable {
    package let keys: [TokenKey]
    package let certificates: [TokenCertificate]

    package init(keys: [TokenKey], certificates: [TokenCertificate] = []) {
        (self.keys, self.certificates) = (keys, certificates)
    }

    var objects: [TokenObject] { keys.flatMap(\.objects) + certificates.map(\.object) }
}

/// The keys of the doors' group that are for any purpose, and its certificates, for one client.
package struct KeysOfGroup: TokenKeyHolding {
    private let client: ServedClient
    private let locks = AuthorizationLocks()

    package init(of client: ServedClient) { self.client = client }

    package func sign(_ input: SignedInput, with key: TokenKey, cancellation: Cancellation) throws -> Data {
        switch key.place {
        case .enclave(let id, confirms: true): return try confirmAndSign(input, id, cancellation)
        case .enclave(let id, confirms: false):
            let digest = try input.digest()
            return try using(id, "sign", cancellation) {
                try client.context.sign(
                    digest: digest.bytes, right: id, algorithm: try Self.algorithm(.digest(digest.hash)),
                    cancellation: cancellation)
            }
        case .imported(let held):
            // What cannot be signed is refused before anybody is asked.
            let digest = try input.digest()
            let what = digest.hash.map { "\($0.byteCount * 8)-bit digest" } ?? "\(digest.bytes.count) bytes"
            return try importedKey(held, "sign (\(what))", cancellation).tokenSignature(of: input)
        }
    }

    package func decrypt(
        _ ciphertext: Data, _ padding: RSAEncryptionPadding, with key: TokenKey, cancellation: Cancellation
    ) throws -> SecretBytes {
        guard case .imported(let held) = key.place, case .rsa(let modulus, _) = key.publicKey.material else {
            throw TokenRefusal.mechanismInvalid
        }
        guard ciphertext.count == modulus.count else { throw TokenRefusal.encryptedDataLength }
        return try importedKey(held, "decrypt", cancellation).tokenPlaintext(of: ciphertext, padding)
    }

    package func agree(with point: Data, _ key: TokenKey, cancellation: Cancellation) throws -> SecretBytes {
        guard case .enclave(let id, confirms: false) = key.place else { throw TokenRefusal.keyFunctionNotPermitted }
        let agreed = try using(id, "agree on a secret", cancellation) {
            AgreedSecret(
                try client.context.exchange(
                    publicKey: point, right: id, algorithm: try Self.algorithm(.agreement), requestedSize: nil,
                    sharedInfo: nil, cancellation: cancellation))
        }
        return SecretBytes(copying: agreed.bytes)
    }

    // MARK: keys in the enclave

    private enum Use {
        case digest(HashAlgorithm?), message, agreement
    }

    private static func algorithm(_ use: Use) throws(TokenRefusal) -> String {
        let kind: KeyAlgorithm.Kind =
            switch use {
            case .digest(let hash): .signature(encoding: .rfc4754, input: .digest(hash))
            case .message: .signature(encoding: .rfc4754, input: .message(.sha256))
            case .agreement: .keyExchange(kdf: nil, usesCofactor: false)
            }
        guard let name = KeyAlgorithm(kind: kind)?.rawValue else { throw .mechanismInvalid }
        return name
    }

    /// The person sees the message, if there is one, or its digest.
    private func confirmAndSign(_ input: SignedInput, _ id: Data, _ cancellation: Cancellation) throws -> Data {
        let digest = try input.digest()
        guard digest.hash ?? .sha256 == .sha256 else { throw TokenRefusal.mechanismInvalid }
        guard digest.bytes.count == HashAlgorithm.sha256.byteCount else { throw TokenRefusal.dataLength }
        return try client.ostiary.confirmAndSign(
            input.message ?? digest.bytes, right: id,
            algorithm: try Self.algorithm(input.message == nil ? .digest(.sha256) : .message),
            interaction: Interaction(reason: "sign (PKCS #11)"), cancellation: cancellation)
    }

    /// Uses a key that the client's context may hold already. Where it does not, the person is asked first, once for all threads that wait.
    private func using<Result: Sendable>(
        _ id: Data, _ verb: String, _ cancellation: Cancellation, _ work: () throws -> Result
    ) throws -> Result {
        do { return try work() } catch let error as OstiaryError where Self.isUngranted(error) {}
        return try locks.lock(of: id).turn.withLock { _ in
            do { return try work() } catch let error as OstiaryError where Self.isUngranted(error) {}
            try client.context.authorize(
                .right(id: id), interaction: Interaction(reason: "\(verb) (PKCS #11)"), cancellation: cancellation)
            return try work()
        }
    }

    /// Whether an authorization helps. With the daemon's connection all that it had granted is gone.
    private static func isUngranted(_ error: OstiaryError) -> Bool {
        error.isFailure(.notAuthorized) || error.isFailure(.unknownContext) || error.code == .connectionLost
    }

    // MARK: imported keys

    /// Reads the private half for one use, which asks as the item's rule says.
    private func importedKey(_ held: HeldKey, _ verb: String, _ cancellation: Cancellation) throws -> SSHPrivateKey {
        guard case .imported(let item) = held.place else { throw TokenRefusal.failed }
        let name = ShownText.isName(held.name, scalarCount: 64) ? " (“\(held.name)”)" : ""
        let reason = "\(verb) with the imported key \(held.publicKey.fingerprint)\(name) (PKCS #11)"
        let selection = ItemSelection(
            itemClass: "genp",
            attributes: ["svce": .data(ImportedKey.privateService), "agrp": .text(DoorProgram.accessGroup)], id: item)
        var use = ItemUse(context: client.context, interaction: Interaction(reason: reason))
        use.cancellation = cancellation
        var found: SSHPrivateKey?
        try client.ostiary.findItems(selection, returningData: true, use: use) { _, data in
            found = try Self.key(data, for: held)
        }
        // The client may have gone while the person was asked.
        guard !cancellation.isCancelled else { throw TokenRefusal.canceled }
        guard let found else { throw TokenRefusal.keyHandleInvalid }
        return found
    }

    private static func key(_ data: borrowing SecretBytes?, for held: HeldKey) throws -> SSHPrivateKey? {
        switch data {
        case .some(let data): try ImportedKey.key(data, for: held)
        case .none: nil
        }
    }
}

/// Carries a secret out of a closure whose result must be copyable.
private final class AgreedSecret: Sendable {
    let bytes: SecretBytes
    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// Whose turn it is to ask for the authorization of one key.
private final class AuthorizationLock: Sendable {
    let turn = Mutex(())
}

/// A lock for each key whose authorization is asked for, so that threads which need one answer ask once.
private final class AuthorizationLocks: Sendable {
    private let locks = Mutex<[Data: AuthorizationLock]>([:])

    func lock(of key: Data) -> AuthorizationLock {
        locks.withLock { locks in
            if let lock = locks[key] { return lock }
            let lock = AuthorizationLock()
            locks[key] = lock
            return lock
        }
    }
}

// MARK: - Listing

extension KeysOfGroup {
    package func contents() throws -> TokenContents {
        TokenContents(
            keys: try rights() + enclaveKeys() + importedKeys(), certificates: try certificates())
    }

    /// Rights of the group. Those that sign for SSH alone are left out: they would be refused. So is a row that cannot be read.
    private func rights() throws -> [TokenKey] {
        try client.ostiary.rights(accessGroup: DoorProgram.accessGroup).compactMap { right in
            guard case .intact(let right) = right else { return nil }
            return TokenKey(right)
        }
    }

    /// Keys of the enclave that an item of the group stands for.
    private func enclaveKeys() throws -> [TokenKey] {
        let selection = ItemSelection(
            itemClass: "keys",
            attributes: ["tkid": .text(EnclaveKey.tokenID), "agrp": .text(DoorProgram.accessGroup)],
            synchronizable: .any)
        return try listed(selection).compactMap { item in
            guard let id = item.keyID, !Self.isForAge(item), let key = try self.key(id) else { return nil }
            return TokenKey(key, label: item.text("labl") ?? "")
        }
    }

    /// Nil when it was removed meanwhile.
    private func key(_ id: Data) throws -> EnclaveKey? {
        do { return try client.ostiary.key(id: id) } catch let error as OstiaryError where error.isFailure(.notFound) {
            return nil
        }
    }

    /// age's keys are named by their application tag, and do nothing but open files.
    private static func isForAge(_ item: StoredItem) -> Bool {
        guard case .data(let tag)? = item.attributes["atag"] else { return false }
        return tag.starts(with: Data("org.ostiary.age".utf8))
    }

    private func importedKeys() throws -> [TokenKey] {
        try listed(ImportedKey.list(in: DoorProgram.accessGroup)).compactMap { item in
            HeldKey(listed: item).flatMap(TokenKey.init(imported:))
        }
    }

    /// Certificates that anybody of the group reads without a question. Others are not shown.
    private func certificates() throws -> [TokenCertificate] {
        let selection = ItemSelection(
            itemClass: "cert", attributes: ["agrp": .text(DoorProgram.accessGroup)], synchronizable: .any)
        var (certificates, byteCount): ([TokenCertificate], Int) = ([], 0)
        for item in try listed(selection) where item.lock == .open && item.hasData {
            guard let certificate = try certificate(item) else { continue }
            byteCount += certificate.object.bytes.count
            guard byteCount <= PKCS11Limits.certificatesByteCount else { break }
            certificates.append(certificate)
        }
        return certificates
    }

    private func certificate(_ item: StoredItem) throws -> TokenCertificate? {
        var found: TokenCertificate?
        let selection = ItemSelection(itemClass: "cert", synchronizable: .any, id: item.id)
        do {
            try client.ostiary.findItems(selection, returningData: true) { _, data in
                guard let der = Self.exposed(data) else { return }
                found = TokenCertificate(id: item.id, label: item.text("labl") ?? "", der: der)
            }
        } catch let error as OstiaryError where Self.unavailable.contains(where: { error.isFailure($0) }) {
            return nil
        }
        return found
    }

    /// It was removed, or the store was locked, since it was listed.
    private static let unavailable: [WireFailureCode] = [.notFound, .locked, .questionNeeded]

    /// A certificate is no secret.
    private static func exposed(_ data: borrowing SecretBytes?) -> Data? {
        switch data {
        case .some(let data): Data(exposing: data)
        case .none: nil
        }
    }

    private func listed(_ selection: ItemSelection) throws -> [StoredItem] {
        do {
            return try client.ostiary.listItems(
                selection, limit: PKCS11Limits.objectCount, returningAttributes: true)
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
    }
}

extension StoredItem {
    fileprivate func text(_ attribute: String) -> String? {
        switch attributes[attribute] {
        case .text(let text): text
        case .data(let bytes): String(validating: bytes, as: UTF8.self)
        default: nil
        }
    }
}

extension TokenKey {
    /// Nil for a right that signs for SSH alone.
    package init?(_ right: StoredRight) {
        guard right.sshConstraints == nil, let reference = ObjectReference(.privateKey, .right, id: right.id) else {
            return nil
        }
        self.init(
            reference, label: right.identifier, TokenPublicKey(.p256(right.publicKey)),
            in: .enclave(id: right.id, confirms: right.accessControl.confirmsEachSignature),
            uses: Uses(right.accessControl))
    }

    /// Nil for a key of another kind than P-256, and for one that signs for SSH alone.
    package init?(_ key: EnclaveKey, label: String) {
        guard key.kind == .p256, key.sshConstraints == nil,
            let reference = ObjectReference(.privateKey, .key, id: key.id)
        else { return nil }
        self.init(
            reference, label: label, TokenPublicKey(.p256(key.publicKey)),
            in: .enclave(id: key.id, confirms: key.accessControl.confirmsEachSignature), uses: Uses(key.accessControl))
    }

    /// Nil for a key that was imported with limits. A digest says nothing of host and namespace, so no limit could be kept here.
    package init?(imported key: HeldKey) {
        let constraints = key.constraints
        guard case .imported(let item) = key.place, constraints.permitsUnknown, constraints.hosts == nil,
            constraints.namespaces == nil, !constraints.neverForwarded,
            let publicKey = TokenPublicKey(key.publicKey),
            let reference = ObjectReference(.privateKey, .imported, id: item)
        else { return nil }
        let isRSA = if case .rsa = publicKey.material { true } else { false }
        self.init(
            reference, label: key.name, publicKey, in: .imported(key), uses: isRSA ? [.sign, .decrypt] : [.sign])
    }
}

extension TokenKey.Uses {
    /// ECIES is no mechanism of PKCS #11, so decryption in the enclave is none of its uses.
    fileprivate init(_ accessControl: AccessControl) {
        self = []
        if accessControl[.sign] != nil { insert(.sign) }
        if accessControl[.keyExchange] != nil { insert(.derive) }
    }
}
