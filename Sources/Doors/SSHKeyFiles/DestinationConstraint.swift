package import Foundation
package import SSHFormats

/// A way that a key may be used over hosts, as `ssh-add -h` states it (`restrict-destination-v00@openssh.com`, `PROTOCOL.agent`,
/// section 2).
package struct DestinationConstraint: Sendable, Equatable {
    /// A host and the keys that prove it.
    package struct Hop: Sendable, Equatable {
        /// A pattern for the user there; nil for any. Compared byte by byte, as names of hosts are.
        package let user: Data?
        package let host: Data
        package let keys: [HostKey]

        package init(user: Data?, host: Data, keys: [HostKey]) {
            (self.user, self.host, self.keys) = (user, host, keys)
        }
    }

    /// A key of a host, or of an authority whose certificates hosts have.
    package struct HostKey: Sendable, Equatable {
        package let key: SSHPublicKey
        package let isAuthority: Bool

        package init(_ key: SSHPublicKey, isAuthority: Bool) { (self.key, self.isAuthority) = (key, isAuthority) }
    }

    /// The host that forwards the agent; nil for the machine of the agent itself.
    package let from: Hop?
    package let to: Hop

    package init(from: Hop?, to: Hop) { (self.from, self.to) = (from, to) }

    /// Reads the contents of the constraint: one destination behind the other.
    package static func list(_ bytes: Data) throws(SSHFormatError) -> [DestinationConstraint] {
        var reader = SSHReader(bytes)
        var constraints: [DestinationConstraint] = []
        while !reader.isAtEnd {
            guard constraints.count < KeyFileLimits.destinationCount else { throw .tooLarge }
            constraints.append(
                try DestinationConstraint(try reader.readString(limit: SSHLimits.messageByteCount)))
        }
        return constraints
    }

    /// Two hops, and a field for extensions that nobody knows yet.
    private init(_ bytes: Data) throws(SSHFormatError) {
        var reader = SSHReader(bytes)
        let from = try Self.readHop(try reader.readString(limit: SSHLimits.messageByteCount))
        let to = try Self.readHop(try reader.readString(limit: SSHLimits.messageByteCount))
        guard try reader.readString(limit: SSHLimits.messageByteCount).isEmpty else { throw .unsupported(.flag) }
        try reader.finish()
        // A host without a key cannot be told from another one, and nobody knows the user on the machine where a hop begins.
        guard from.host.isEmpty == from.keys.isEmpty, from.user == nil, !to.host.isEmpty, !to.keys.isEmpty else {
            throw .malformed(.text)
        }
        self.init(from: from.host.isEmpty ? nil : from, to: to)
    }

    private static func readHop(_ bytes: Data) throws(SSHFormatError) -> Hop {
        var reader = SSHReader(bytes)
        let user = try readName(&reader, limit: KeyFileLimits.userPatternByteCount)
        let host = try readName(&reader, limit: KeyFileLimits.hostByteCount)
        guard try reader.readString(limit: SSHLimits.messageByteCount).isEmpty else { throw .unsupported(.flag) }
        var keys: [HostKey] = []
        while !reader.isAtEnd {
            guard keys.count < KeyFileLimits.hopKeyCount else { throw .tooLarge }
            let key = try SSHPublicKey(blob: try reader.readString(limit: SSHLimits.publicKeyByteCount))
            keys.append(HostKey(key, isAuthority: try reader.readByte() != 0))
        }
        return Hop(user: user.isEmpty ? nil : user, host: host, keys: keys)
    }

    private static func readName(_ reader: inout SSHReader, limit: Int) throws(SSHFormatError) -> Data {
        let name = try reader.readString(limit: limit)
        guard !name.contains(0) else { throw .malformed(.text) }
        return name
    }
}
