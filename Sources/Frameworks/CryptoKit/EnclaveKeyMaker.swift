import AccessControl
import Foundation
import OstiaryClient
import SecretMemory
import Security

/// A key of the enclave as all its CryptoKit types hold it.
///
/// Those types are much alike and stay written out: their names, initialisers and defaults are Apple's, one set for each, and
/// behind these they hold nothing but this.
struct EnclaveKeyHolder: Sendable {
    let key: EnclaveKey
    private let use: EnclaveKeyUse
    private let transient: TransientKey?

    /// - Parameter transient: ends the key with the last copy of this, unless its representation is read before.
    fileprivate init(_ key: EnclaveKey, _ context: (any AuthenticationContext)?, transient: TransientKey? = nil) {
        self.key = key
        use = EnclaveKeyUse(key, context: context)
        self.transient = transient
    }

    /// Opens the key again; of no use without the enclave that made it. A key whose representation was read stays.
    var dataRepresentation: Data {
        transient?.keep()
        return EnclaveKeyHandle(keyID: key.id).bytes
    }

    func sign(_ input: Data, algorithm: String) throws -> Data {
        try use.perform(.sign) { try $0.sign(digest: input, right: key.id, algorithm: algorithm) }
    }

    /// ML-DSA alone.
    func sign(_ message: Data, for context: Data) throws -> Data {
        try use.perform(.sign) { try $0.sign(message: message, context: context, key: key.id) }
    }

    func exchange(with peer: Data, algorithm: String) throws -> SecretBytes {
        try use.perform(.keyExchange) {
            try $0.exchange(publicKey: peer, right: key.id, algorithm: algorithm, requestedSize: nil, sharedInfo: nil)
        }
    }

    func decapsulate(_ encapsulated: Data) throws -> SecretBytes {
        try use.perform(.decrypt) { try $0.decapsulate(encapsulated, key: key.id) }
    }
}

/// Makes and opens keys of the enclave.
enum EnclaveKeyMaker {
    static var isAvailable: Bool {
        do {
            _ = try OstiaryClient.shared.status()
            return true
        } catch { return false }  // Apple's property has no error; who needs one makes a key.
    }

    /// - Parameter service: what makes the key; a test puts one of its own here.
    static func make(
        _ kind: EnclaveKeyKind, _ accessControl: SecAccessControl, _ context: (any AuthenticationContextProtocol)?,
        by service: any ItemService = OstiaryClient.shared
    ) throws -> EnclaveKeyHolder {
        try reporting {
            let context = try checked(context)
            let authentication = try context?.authentication()
            var interaction = authentication?.interaction ?? Interaction(reason: "")
            if interaction.reason.isEmpty { interaction.reason = "choose the password of a new key" }
            let key = try service.createKey(
                kind, accessControl: accessControl.canonical(), shownAccessControl: accessControl.derRepresentation,
                accessGroup: nil, awaitsItem: false,
                use: ItemUse(context: authentication?.context, interaction: interaction))
            return EnclaveKeyHolder(key, context, transient: TransientKey(key.id, of: service))
        }
    }

    static func open(
        _ kind: EnclaveKeyKind, _ dataRepresentation: some DataProtocol, _ context: (any AuthenticationContextProtocol)?
    ) throws -> EnclaveKeyHolder {
        try reporting {
            let context = try checked(context)
            guard let handle = EnclaveKeyHandle(bytes: dataRepresentation) else { throw malformed }
            let key = try OstiaryClient.shared.key(id: handle.keyID)
            guard key.kind == kind else { throw malformed }
            return EnclaveKeyHolder(key, context)
        }
    }

    private static func checked(
        _ context: (any AuthenticationContextProtocol)?
    ) throws(StatusError) -> (any AuthenticationContext)? {
        guard let context else { return nil }
        guard let known = context as? any AuthenticationContext else {
            throw .parameter("The authentication context is no LAContext.")
        }
        return known
    }

    static let malformed = StatusError(errSecDecode, "The bytes do not represent a key of this kind.")

    private static func reporting<Result>(_ work: () throws -> Result) throws -> Result {
        do { return try work() } catch let error as OstiaryError {
            throw ErrorSurface.error(for: error)
        } catch { throw NSError.reporting(error) }
    }
}
