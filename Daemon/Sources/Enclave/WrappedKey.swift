public import Foundation

/// A key as a store keeps it. Nothing in it is secret.
public struct WrappedKey: Equatable, Sendable {
    /// The enclave that made the key and alone can open it.
    public let kind: EnclaveKind
    public let type: EnclaveKeyType
    /// The public key, of ``EnclaveKeyType/publicKeyByteCount`` bytes; for P-256 `04 || X || Y`.
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

/// The facts that a key is tied to when it is made. Opening it needs them again, unchanged.
///
/// A chip makes a digest of them a part of the key's name, which it checks at each load. If `requiresPasscode` is set, it puts the key below a parent of
/// its owner. That parent loads no key without the owner's passcode. With an `approver` the chip makes each signature only for a
/// digest that this key approved. Software authenticates all but `owner` with the wrapped key.
public struct KeyBinding: Equatable, Sendable {
    /// The greatest size of outside information: a TPM's creation data has no room for more (TPM 2.0 part 2,
    /// TPM2B_DATA).
    public static let maximumByteCount = 64

    /// The id of the user who owns the key.
    public let owner: Data
    /// A digest of rule, owner, store and public halves. The caller computes it.
    public let outsideInfo: Data
    /// Whether every alternative of the key's rule contains the passcode.
    public let requiresPasscode: Bool
    /// ``ApprovalKey/publicKey`` of the key that approves each signature; nil for a key that signs for everybody with its
    /// authorization value.
    public let approver: Data?

    public init(owner: Data, outsideInfo: Data, requiresPasscode: Bool, approver: Data? = nil) {
        self.owner = owner
        self.outsideInfo = outsideInfo
        self.requiresPasscode = requiresPasscode
        self.approver = approver
    }

    /// The facts in one byte: bit 0 `requiresPasscode`, bit 1 whether there is an approver.
    package var flags: UInt8 { (requiresPasscode ? 1 : 0) | (approver == nil ? 0 : 2) }
}

/// The proof that an owner's passcode was checked a moment ago. The passcode's keeper makes it. It opens keys whose
/// binding ``KeyBinding/requiresPasscode``. Each enclave takes sessions of its own type.
///
/// The holder of a session can open such keys, so keep it only as long as the proof counts.
public protocol PasscodeSession: Sendable {
    /// The id of the user whose passcode was proved.
    var owner: Data { get }
}
