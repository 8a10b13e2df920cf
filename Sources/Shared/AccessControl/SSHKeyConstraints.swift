/// A host that a key may log in to, known by its key.
public struct SSHHostPin: Hashable, Sendable {
    /// SHA-256 of the host key's blob (RFC 4253, section 6.6); of a host certificate, of the key within. 32 bytes.
    public let fingerprint: [UInt8]
    /// The owner's name for the host, which questions and lists show; empty for none. At most
    /// ``SSHKeyConstraints/textByteCount`` bytes of UTF-8 without control characters.
    public let name: String

    public init(fingerprint: [UInt8], name: String = "") {
        self.fingerprint = fingerprint
        self.name = name
    }
}

/// The limits of a key that signs for SSH and for nothing else. They are fixed when the key is made, and are checked before a person is
/// asked.
///
/// Canonical bytes: version (1), flags (bit 0 hosts, bit 1 namespaces, bit 2 never forwarded, bit 3 unknown data); with bit 0 the number of
/// hosts and for each, ascending by fingerprint, the fingerprint (32) and its name behind its length; with bit 1 the number of
/// namespaces and each, ascending, behind its length. Numbers and lengths are single bytes. Example: no limit but that nothing is
/// forwarded is `01 04`; namespace `git` alone is `01 02 01 03 67 69 74`.
public struct SSHKeyConstraints: Hashable, Sendable {
    /// The only hosts that the key may log in to, and that may forward requests to it, by ascending fingerprint; nil for any. An empty
    /// list permits no login.
    public let hosts: [SSHHostPin]?
    /// The only namespaces of SSH signatures, such as `git`, ascending by their bytes; nil for any. An empty list permits no signature.
    public let namespaces: [String]?
    /// Whether requests over a forwarded agent are refused.
    public let neverForwarded: Bool
    /// Whether the key signs bytes that are neither a login nor an SSH signature. Nothing is known of these.
    public let permitsUnknown: Bool

    /// A key with more hosts is a key for any host; the question and the list could not show them.
    public static let hostCount = 64
    public static let namespaceCount = 32
    /// Of a host's name and of a namespace, in UTF-8: what a name of DNS has.
    public static let textByteCount = 255
    public static let fingerprintByteCount = 32
    /// Of ``canonicalBytes``. A page of a list holds 25 keys with theirs.
    public static let byteCount = 4096

    /// - Throws: ``SSHKeyConstraintsError`` for a list that is too long or names something twice, and for texts that cannot be shown.
    public init(
        hosts: [SSHHostPin]? = nil, namespaces: [String]? = nil, neverForwarded: Bool = false,
        permitsUnknown: Bool = false
    ) throws(SSHKeyConstraintsError) {
        self.hosts = try hosts.map { hosts throws(SSHKeyConstraintsError) in try Self.sorted(hosts) }
        self.namespaces = try namespaces.map { names throws(SSHKeyConstraintsError) in try Self.sorted(names) }
        self.neverForwarded = neverForwarded
        self.permitsUnknown = permitsUnknown
        guard canonicalBytes.count <= Self.byteCount else { throw .tooLarge }
    }

    /// The pin of a host's key; nil when the key is pinned to other hosts, or to none.
    public func pin(of fingerprint: some Sequence<UInt8>) -> SSHHostPin? {
        let fingerprint = Array(fingerprint)
        return hosts?.first { $0.fingerprint == fingerprint }
    }

    /// Whether the key may make SSH signatures in a namespace. Names are compared byte by byte.
    public func permits(namespace: String) -> Bool {
        namespaces?.contains { $0.utf8.elementsEqual(namespace.utf8) } ?? true
    }

    private static func sorted(_ hosts: [SSHHostPin]) throws(SSHKeyConstraintsError) -> [SSHHostPin] {
        guard hosts.count <= hostCount else { throw .tooManyHosts }
        guard hosts.allSatisfy({ $0.fingerprint.count == fingerprintByteCount }) else { throw .fingerprintLength }
        guard hosts.allSatisfy({ $0.name.isEmpty || isShowable($0.name) }) else { throw .hostName }
        let sorted = hosts.sorted { $0.fingerprint.lexicographicallyPrecedes($1.fingerprint) }
        guard zip(sorted, sorted.dropFirst()).allSatisfy({ $0.fingerprint != $1.fingerprint }) else {
            throw .repeated
        }
        return sorted
    }

    private static func sorted(_ namespaces: [String]) throws(SSHKeyConstraintsError) -> [String] {
        guard namespaces.count <= namespaceCount else { throw .tooManyNamespaces }
        guard namespaces.allSatisfy(isShowable) else { throw .namespace }
        let sorted = namespaces.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard zip(sorted, sorted.dropFirst()).allSatisfy({ !$0.utf8.elementsEqual($1.utf8) }) else { throw .repeated }
        return sorted
    }

    private static func isShowable(_ text: String) -> Bool {
        (1...textByteCount).contains(text.utf8.count)
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

/// Why lists are no constraints of an SSH key.
public enum SSHKeyConstraintsError: Error, Hashable, Sendable {
    case tooManyHosts
    case tooManyNamespaces
    case fingerprintLength
    case hostName
    case namespace
    case repeated
    case tooLarge
}

extension SSHKeyConstraintsError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooManyHosts: "a key is pinned to at most \(SSHKeyConstraints.hostCount) hosts"
        case .tooManyNamespaces: "a key is pinned to at most \(SSHKeyConstraints.namespaceCount) namespaces"
        case .fingerprintLength: "the fingerprint of a host has \(SSHKeyConstraints.fingerprintByteCount) bytes"
        case .hostName: "a host's name has at most \(SSHKeyConstraints.textByteCount) bytes without control characters"
        case .namespace:
            "a namespace has 1 to \(SSHKeyConstraints.textByteCount) bytes without control characters"
        case .repeated: "a host or namespace is named twice"
        case .tooLarge: "the names of the hosts and namespaces are too long together; take shorter names, or none"
        }
    }
}

// MARK: - Canonical bytes

extension SSHKeyConstraints {
    private static let version: UInt8 = 1

    private enum Flag {
        static let hosts: UInt8 = 1
        static let namespaces: UInt8 = 2
        static let neverForwarded: UInt8 = 4
        static let unknown: UInt8 = 8
    }

    private var flags: UInt8 {
        let present = [
            hosts != nil ? Flag.hosts : 0, namespaces != nil ? Flag.namespaces : 0,
            neverForwarded ? Flag.neverForwarded : 0, permitsUnknown ? Flag.unknown : 0,
        ]
        return present.reduce(0, |)
    }

    /// The canonical bytes; equal constraints have equal bytes.
    public var canonicalBytes: [UInt8] {
        var bytes = [Self.version, flags]
        if let hosts {
            bytes.append(UInt8(hosts.count))
            for host in hosts {
                bytes += host.fingerprint
                bytes.append(UInt8(host.name.utf8.count))
                bytes += host.name.utf8
            }
        }
        if let namespaces {
            bytes.append(UInt8(namespaces.count))
            for namespace in namespaces {
                bytes.append(UInt8(namespace.utf8.count))
                bytes += namespace.utf8
            }
        }
        return bytes
    }

    /// Reads canonical bytes.
    ///
    /// - Throws: ``CanonicalFormError`` for anything that ``canonicalBytes`` does not produce.
    public init(canonicalBytes bytes: [UInt8]) throws(CanonicalFormError) {
        var reader = RuleReader(bytes)
        guard try reader.readByte() == Self.version else { throw .unsupportedVersion }
        let flags = try reader.readByte()
        guard flags < Flag.unknown << 1 else { throw .unknownLimit }
        let hosts = flags & Flag.hosts == 0 ? nil : try reader.readHosts()
        let namespaces = flags & Flag.namespaces == 0 ? nil : try reader.readNamespaces()
        do {
            self = try SSHKeyConstraints(
                hosts: hosts, namespaces: namespaces, neverForwarded: flags & Flag.neverForwarded != 0,
                permitsUnknown: flags & Flag.unknown != 0)
        } catch { throw .invalidSSHConstraints(error) }
        try reader.finish(comparingWith: canonicalBytes)
    }
}

extension RuleReader {
    fileprivate mutating func readHosts() throws(CanonicalFormError) -> [SSHHostPin] {
        var hosts: [SSHHostPin] = []
        for _ in 0..<(try readByte()) {
            let fingerprint = try readBytes(SSHKeyConstraints.fingerprintByteCount)
            hosts.append(SSHHostPin(fingerprint: fingerprint, name: try readShortText()))
        }
        return hosts
    }

    fileprivate mutating func readNamespaces() throws(CanonicalFormError) -> [String] {
        var namespaces: [String] = []
        for _ in 0..<(try readByte()) { namespaces.append(try readShortText()) }
        return namespaces
    }

    /// Text behind its length in one byte. Bytes that are no UTF-8 come out changed, and are found by the comparison at the end.
    private mutating func readShortText() throws(CanonicalFormError) -> String {
        String(decoding: try readBytes(Int(try readByte())), as: UTF8.self)
    }

    private mutating func readBytes(_ count: Int) throws(CanonicalFormError) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes.append(try readByte()) }
        return bytes
    }
}
