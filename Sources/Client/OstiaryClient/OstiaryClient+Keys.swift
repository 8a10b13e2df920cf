public import AccessControl
public import Foundation
import KeyAlgorithms
import OstiaryMessages

/// The kinds of enclave keys.
public enum EnclaveKeyKind: Sendable, CaseIterable {
    /// ECDSA signatures, ECDH and ECIES on P-256.
    case p256
    case mlKEM768, mlKEM1024
    case mlDSA65, mlDSA87
}

/// A key of the enclave that backs no right. It is used as a right is, by an ``AuthorizationContext``: authorize its id,
/// then sign, decrypt, exchange or decapsulate with it.
public struct EnclaveKey: Sendable, Equatable {
    /// 16 bytes that name the key.
    public let id: Data
    public let kind: EnclaveKeyKind
    /// P-256: X9.63 uncompressed point, 65 bytes; otherwise the raw public key.
    public let publicKey: Data
    public let accessControl: AccessControl
    /// The access control as the program gave it, for showing it again.
    public let shownAccessControl: Data
    /// The kind of enclave that holds the key: `software` or `tpm`.
    public let enclaveKind: String
    /// The limits of a key that signs for SSH alone; nil for another key.
    public let sshConstraints: SSHKeyConstraints?

    public init(
        id: Data, kind: EnclaveKeyKind, publicKey: Data, accessControl: AccessControl, shownAccessControl: Data,
        enclaveKind: String, sshConstraints: SSHKeyConstraints? = nil
    ) {
        self.id = id
        self.kind = kind
        self.publicKey = publicKey
        self.accessControl = accessControl
        self.shownAccessControl = shownAccessControl
        self.enclaveKind = enclaveKind
        self.sshConstraints = sshConstraints
    }
}

/// A key of the enclave in the list of all, whichever program made it.
public struct ListedKey: Sendable, Equatable {
    /// Without the access control as it was given.
    public let key: EnclaveKey
    /// Whose programs may use the key.
    public let accessGroup: String
    public let createdAt: Date
    /// Whether a keychain item stands for it. Without one only its program can find it again, if it kept the handle.
    public let hasItem: Bool

    public init(key: EnclaveKey, accessGroup: String, createdAt: Date, hasItem: Bool) {
        self.key = key
        self.accessGroup = accessGroup
        self.createdAt = createdAt
        self.hasItem = hasItem
    }
}

/// The keys without a keychain item, of all programs.
public struct UnusedKeyList: Sendable, Equatable {
    public var groups: [UnusedKeyGroup]
    /// Uses before this time are not known.
    public var usesKnownSince: Date
}

/// The keys of an access group that no keychain item refers to. A program may have kept the handle of one and still need it.
public struct UnusedKeyGroup: Sendable, Equatable {
    public let accessGroup: String
    /// All of them.
    public let keyCount: Int
    /// Those that are unused: neither made nor used lately, not open in a program, and permitted to be deleted.
    public let unusedCount: Int
    /// When the oldest and the newest of the unused ones were made; nil if there are none.
    public let oldest: Date?
    public let newest: Date?
    /// When one of the unused ones was used last, as far as it is known.
    public let lastUse: Date?
}

extension UnusedKeyGroup {
    fileprivate init(_ group: WireUnusedKeyGroup) {
        self.init(
            accessGroup: group.accessGroup, keyCount: Int(group.keyCount), unusedCount: Int(group.unusedCount),
            oldest: group.oldest.map(Date.init(timeIntervalSince1970:)),
            newest: group.newest.map(Date.init(timeIntervalSince1970:)),
            lastUse: group.lastUse.map(Date.init(timeIntervalSince1970:)))
    }
}

extension OstiaryClient {
    /// Makes a key that never leaves the enclave. Asks nobody, except for an application password that the rule has and the
    /// context of `use` lacks. A kind that the enclave cannot make is refused with `unsupportedAlgorithm`.
    ///
    /// - Parameter accessGroup: whose programs may find and use the key, for good; nil for the first group of this
    ///   program. One that this program is not in is refused with `missingEntitlement`.
    /// - Parameter awaitsItem: the key is stored together with the item that is added for it next, and cannot be used before;
    ///   without one it ends with the program, or by ``removeKey(id:)``.
    public func createKey(
        _ kind: EnclaveKeyKind, accessControl: AccessControl, shownAccessControl: Data = Data(),
        accessGroup: String? = nil, awaitsItem: Bool = false, use: ItemUse = ItemUse()
    ) throws -> EnclaveKey {
        try makeKey(under: use) {
            $0.kind = kind.message
            $0.accessControl = Data(accessControl.canonicalBytes)
            $0.shownAccessControl = shownAccessControl
            $0.accessGroup = accessGroup ?? ""
            $0.awaitsItem = awaitsItem
        }
    }

    /// Makes a P-256 key that signs for SSH alone, within these limits. As for the other keys, nobody is asked.
    public func createKey(
        accessControl: AccessControl, accessGroup: String? = nil, sshConstraints: SSHKeyConstraints,
        use: ItemUse = ItemUse()
    ) throws -> EnclaveKey {
        try makeKey(under: use) {
            $0.kind = .p256
            $0.accessControl = Data(accessControl.canonicalBytes)
            $0.accessGroup = accessGroup ?? ""
            $0.sshConstraints = Data(sshConstraints.canonicalBytes)
        }
    }

    private func makeKey(
        under use: ItemUse, _ set: (inout WireCreateKeyRequest) -> Void
    ) throws -> EnclaveKey {
        try key(
            call(under: use) { use in
                .createKey(
                    .with {
                        set(&$0)
                        $0.use = use
                    })
            })
    }

    /// The key called `id`; throws `notFound`. Asks nobody.
    public func key(id: Data) throws -> EnclaveKey { try key(call(.findKey(.with { $0.keyID = id }))) }

    /// Destroys a key; data that was encrypted to it is lost. Throws `notFound`.
    public func removeKey(id: Data) throws { _ = try call(.removeKey(.with { $0.keyID = id })) }

    /// All keys of the user, whichever program made them, by group and age.
    public func keysOfAllPrograms() throws -> [ListedKey] {
        var (keys, offset): ([ListedKey], UInt32) = ([], 0)
        repeat {
            guard case .keys(let page) = try call(.listKeys(.with { $0.offset = offset })).body,
                page.next == 0 || page.next > offset
            else { throw Self.unexpected() }
            keys += try page.keys.map(ListedKey.init)
            offset = page.next
        } while offset != 0
        return keys.sorted { ($0.accessGroup, $0.createdAt) < ($1.accessGroup, $1.createdAt) }
    }

    /// The keys of the user that no keychain item refers to, whichever program made them, by group. Asks nobody.
    ///
    /// - Parameters:
    ///   - group: only the keys of this access group; nil for all.
    ///   - unusedSince: only keys that were neither made nor, as far as the daemon knows, used after this time count as
    ///     unused; nil for now.
    public func unusedKeys(group: String? = nil, unusedSince: Date? = nil) throws -> UnusedKeyList {
        var list = UnusedKeyList(groups: [], usesKnownSince: .distantFuture)
        while true {
            let request = Self.pruning(group, unusedSince) { $0.offset = UInt32(clamping: list.groups.count) }
            guard case .unusedKeys(let page) = try call(.pruneKeys(request)).body else { throw Self.unexpected() }
            list.groups += page.groups.map(UnusedKeyGroup.init)
            list.usesKnownSince = Date(timeIntervalSince1970: page.usesKnownSince)
            if page.groups.isEmpty || list.groups.count >= Int(page.total) { return list }
        }
    }

    /// Destroys the unused keys of an access group, as ``unusedKeys(group:unusedSince:)`` counts them; returns how many. The
    /// owner is asked, unless there is none. A key that is used while the owner is asked stays. If the request ends before all
    /// are destroyed, the others stay.
    public func pruneKeys(group: String, unusedSince: Date? = nil, interaction: Interaction) throws -> Int {
        let request = Self.pruning(group, unusedSince) {
            $0.removes = true
            $0.question = interaction.question
        }
        guard case .unusedKeys(let answer) = try call(.pruneKeys(request), terminal: interaction.terminal).body else {
            throw Self.unexpected()
        }
        return Int(answer.removedCount)
    }

    private static func pruning(
        _ group: String?, _ unusedSince: Date?, _ change: (inout WirePruneKeysRequest) -> Void
    ) -> WirePruneKeysRequest {
        .with {
            $0.accessGroup = group ?? ""
            $0.unusedSince = unusedSince?.timeIntervalSince1970
            change(&$0)
        }
    }

    /// Destroys a key, whichever program made it, with the items that stand for it. The owner is asked. Throws `notFound`.
    public func removeKeyOfAnyProgram(id: Data, interaction: Interaction) throws {
        let request = WireRemoveKeyRequest.with {
            $0.keyID = id
            $0.ofAnyGroup = true
            $0.question = interaction.question
        }
        _ = try call(.removeKey(request), terminal: interaction.terminal)
    }

    private func key(_ answer: consuming DaemonAnswer) throws -> EnclaveKey {
        guard case .key(let key) = answer.body else { throw Self.unexpected() }
        return try EnclaveKey(key)
    }
}

extension ListedKey {
    fileprivate init(_ listed: WireListedKey) throws {
        self.init(
            key: try EnclaveKey(listed.key), accessGroup: listed.accessGroup,
            createdAt: Date(timeIntervalSince1970: listed.createdAt), hasItem: listed.hasItem_p)
    }
}

extension EnclaveKey {
    fileprivate init(_ key: WireKey) throws {
        guard let kind = EnclaveKeyKind(key.kind) else { throw OstiaryClient.unexpected() }
        self.init(
            id: key.keyID, kind: kind, publicKey: key.publicKey,
            accessControl: try AccessControl(answered: key.accessControl), shownAccessControl: key.shownAccessControl,
            enclaveKind: key.enclaveKind, sshConstraints: try SSHKeyConstraints(answered: key.sshConstraints))
    }
}

extension EnclaveKeyKind {
    fileprivate var message: WireKeyKind {
        switch self {
        case .p256: .p256
        case .mlKEM768: .mlKem768
        case .mlKEM1024: .mlKem1024
        case .mlDSA65: .mlDsa65
        case .mlDSA87: .mlDsa87
        }
    }

    fileprivate init?(_ message: WireKeyKind) {
        guard let kind = Self.allCases.first(where: { $0.message == message }) else { return nil }
        self = kind
    }
}

extension EnclaveKey {
    /// The attributes of a keychain item that stands for the key, under Apple's names. They identify the key and say
    /// what it can do.
    ///
    /// `klbl` is the SHA-1 of the public key, as programs compute it to find the private half.
    public var itemAttributes: ItemAttributeValues {
        let isP256 = kind == .p256
        var attributes: ItemAttributeValues = [
            "tkid": .text(Self.tokenID), "kcls": .number(1), "klbl": .data(HashAlgorithm.sha1.digest(of: publicKey)),
            "perm": .number(1), "priv": .number(1), "modi": .number(1), "sens": .number(1), "asen": .number(1),
            "extr": .number(0), "next": .number(1), "sign": .number(kind.signs ? 1 : 0),
            "decr": .number(isP256 ? 1 : 0),
            "drve": .number(isP256 ? 1 : 0), "encr": .number(0), "vrfy": .number(0), "wrap": .number(0),
            "unwp": .number(isP256 ? 1 : 0),
        ]
        if isP256 {
            attributes["type"] = .number(73)
            attributes["bsiz"] = .number(256)
            attributes["esiz"] = .number(256)
        }
        return attributes
    }

    /// `kSecAttrTokenIDSecureEnclave`.
    public static let tokenID = "com.apple.setoken"
}

extension EnclaveKeyKind {
    fileprivate var signs: Bool {
        switch self {
        case .p256, .mlDSA65, .mlDSA87: true
        case .mlKEM768, .mlKEM1024: false
        }
    }
}
