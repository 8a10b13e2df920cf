public import Foundation

/// A key at rest: what a store keeps of it. Nothing in it is secret.
public struct WrappedKey: Equatable, Sendable {
    /// The enclave that made the key and alone can open it.
    public let kind: EnclaveKind
    public let type: EnclaveKeyType
    /// The public key, of ``EnclaveKeyType/publicKeyByteCount`` bytes; of P-256 `04 || X || Y`.
    public let publicKey: Data
    /// The wrapped private key, in the enclave's own format.
    public let blob: Data

    public init(kind: EnclaveKind, type: EnclaveKeyType = .p256, publicKey: Data, blob: Data) {
        self.kind = kind
        self.type = type
        self.publicKey = publicKey
        self.blob = blob
    }
}

/// What a key is tied to when it is made and must be shown again whenever it is opened.
///
/// A chip writes `outsideInfo` into the creation data. Where `requiresPasscode` is set, it puts the key below a parent of the
/// owner's that loads nothing without the owner's passcode. Software authenticates `outsideInfo` and `requiresPasscode` with
/// the wrapped key.
public struct KeyBinding: Equatable, Sendable {
    /// Most bytes of outside information: a TPM's creation data has no room for more (TPM 2.0 part 2, TPM2B_DATA).
    public static let maximumByteCount = 64

    /// The id of the user whom the key belongs to.
    public let owner: Data
    /// Digest of rule, owner, store and public halves, as the caller computes it.
    public let outsideInfo: Data
    /// Whether every alternative of the key's rule contains the passcode.
    public let requiresPasscode: Bool

    public init(owner: Data, outsideInfo: Data, requiresPasscode: Bool) {
        self.owner = owner
        self.outsideInfo = outsideInfo
        self.requiresPasscode = requiresPasscode
    }
}

/// That an owner's passcode was proved a moment ago. The passcode's keeper makes it, and it opens keys whose binding
/// ``KeyBinding/requiresPasscode``; each enclave takes sessions of its own type.
///
/// The holder of a session can open such keys, so it is kept as long as the proof counts and no longer.
public protocol PasscodeSession: Sendable {
    /// The id of the user whose passcode was proved.
    var owner: Data { get }
}
