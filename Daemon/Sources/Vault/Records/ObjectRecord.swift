public import ExactNames
public import Foundation

/// The kinds of objects. The raw value is part of the format.
public enum ObjectKind: UInt8, Sendable, CaseIterable {
    /// A persisted right.
    case right = 1
    /// A key of the enclave that backs no right.
    case enclaveKey = 2
    /// The registration of a program; it has neither key nor slots.
    case application = 3
    /// A credential of a relying party, see `Documentation/formats/passkeys.md`.
    case passkey = 4
}

/// The attributes that find and describe an object. Stored encrypted only.
public struct ObjectAttributes: Equatable, Sendable {
    /// The access group: which programs share the object.
    public let group: ExactName
    /// The name that the app chose.
    public let identifier: ExactName
    public let applicationLabel: Data
    /// Seconds since 1970.
    public let created: UInt64
    /// The caller's flags.
    public let flags: UInt32
    /// The caller's limits of an SSH key, which its slots are bound to; empty for every other object.
    public let sshConstraints: Data

    public init(
        group: ExactName, identifier: ExactName, applicationLabel: Data = Data(), created: UInt64, flags: UInt32 = 0,
        sshConstraints: Data = Data()
    ) {
        self.group = group
        self.identifier = identifier
        self.applicationLabel = applicationLabel
        self.created = created
        self.flags = flags
        self.sshConstraints = sshConstraints
    }
}

/// A protected object: its rule, its key, its payload and the slots that its access secret is wrapped in.
///
/// One code authenticates all of it. The caller encrypts everything secret.
public struct ObjectRecord: Equatable, Sendable {
    public let id: VaultID
    public let owner: VaultID
    public let kind: ObjectKind
    /// The set of algorithms that ``slots`` and ``payload`` were made with.
    public let suite: UInt8
    /// 1 at first; each change adds one. The slots may be bound to it.
    public var generation: UInt64
    public let attributes: ObjectAttributes
    /// The rules of all operations, in their canonical encoding.
    public var accessControl: Data
    /// Which enclave holds the key; the numbers are the caller's.
    public let enclaveKind: UInt8
    public let publicKey: Data
    /// The bytes from which the enclave loads the private key.
    public let keyBlob: Data
    /// Encrypted secret, if the object has one.
    public var payload: Data?
    /// The wrapped access secret, once for each way of satisfying a rule.
    public var slots: Data

    public init(
        id: VaultID = VaultID(), owner: VaultID, kind: ObjectKind, suite: UInt8, generation: UInt64 = 1,
        attributes: ObjectAttributes, accessControl: Data, enclaveKind: UInt8, publicKey: Data, keyBlob: Data,
        payload: Data?, slots: Data
    ) {
        self.id = id
        self.owner = owner
        self.kind = kind
        self.suite = suite
        self.generation = generation
        self.attributes = attributes
        self.accessControl = accessControl
        self.enclaveKind = enclaveKind
        self.publicKey = publicKey
        self.keyBlob = keyBlob
        self.payload = payload
        self.slots = slots
    }
}
