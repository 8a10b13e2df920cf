import Crypto
package import Foundation
package import SSHFormats

/// The lines of `known_hosts` files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). A key that one of them revokes is no host's key in any of them.
package struct KnownHosts: Sendable {
    /// A line that could be read.
    package struct Entry: Sendable, Equatable {
        package enum Marker: Sendable, Equatable {
            case none, authority, revoked
        }

        package let marker: Marker
        /// Patterns with commas between them, or one hashed name.
        package let names: Data
        package let key: SSHPublicKey
    }

    package let entries: [Entry]
    /// The revoked keys' blobs, without certificates.
    private let revoked: Set<Data>

    /// Reads a file. Lines of a form or with a key that is not known are passed over, as ssh does.
    package init(_ text: Data) { self.init(files: [text]) }

    /// Reads several files, in the order in which ssh looks into them.
    package init(files: [Data]) {
        let entries: [Entry] = files.flatMap { text in
            text.split(separator: UInt8(ascii: "\n")).compactMap { Self.entry($0) }
        }
        self.entries = entries
        revoked = Set(entries.filter { $0.marker == .revoked }.map(\.key.plainBlob))
    }

    private static func entry(_ line: Data) -> Entry? {
        var fields = line.split { [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")].contains($0) }[...]
        guard let first = fields.first, first.first != UInt8(ascii: "#") else { return nil }
        let marker: Entry.Marker
        switch String(decoding: first, as: UTF8.self) {
        case "@cert-authority": marker = .authority
        case "@revoked": marker = .revoked
        case let name where name.hasPrefix("@"): return nil
        default: marker = .none
        }
        if marker != .none { fields = fields.dropFirst() }
        let parts = Array(fields)
        guard parts.count >= 3, let blob = Data(base64Encoded: Data(parts[2])), let key = try? SSHPublicKey(blob: blob),
            key.name.utf8.elementsEqual(parts[1])
        else { return nil }
        return Entry(marker: marker, names: Data(parts[0]), key: key)
    }

    /// The keys of a host that are not revoked, without those of authorities.
    ///
    /// - Parameter name: as ssh writes it: `[NAME]:PORT` for another port than 22.
    package func keys(of name: String) -> [SSHPublicKey] {
        standing.filter { $0.isName(name) }.map(\.key)
    }

    /// A key of a host, and its name; of a hashed line the name that was looked for.
    package struct HostKey: Sendable, Equatable {
        package let key: SSHPublicKey
        package let name: String
    }

    /// The keys of the hosts that a name or pattern stands for. A pattern finds no hashed names.
    package func hostKeys(of pattern: String) -> [HostKey] {
        guard pattern.contains(where: { "*?".contains($0) }) else {
            return keys(of: pattern).map { HostKey(key: $0, name: pattern) }
        }
        let wanted = Data(pattern.lowercased().utf8)
        return standing.compactMap { entry in
            entry.readableNames.first { NamePattern.matches($0.lowercased().utf8, wanted) }.map {
                HostKey(key: entry.key, name: $0)
            }
        }
    }

    /// The first readable name of a host's key: that of a line without hashing and without patterns; empty when there is none, and for a
    /// revoked key.
    package func name(of key: SSHPublicKey) -> String {
        for entry in standing where entry.key.isSameKey(as: key) {
            if let name = entry.readableNames.first { return name }
        }
        return ""
    }

    /// The lines of hosts whose keys are not revoked.
    private var standing: [Entry] { entries.filter { $0.marker == .none && !revoked.contains($0.key.plainBlob) } }
}

extension KnownHosts.Entry {
    fileprivate var patterns: [Data] { names.split(separator: UInt8(ascii: ",")).map { Data($0) } }

    /// Whether the line is one of the host. Names are compared in lower case, as ssh writes and looks for them.
    fileprivate func isName(_ name: String) -> Bool {
        let name = Data(name.lowercased().utf8)
        if names.starts(with: Data("|1|".utf8)) { return isHash(of: name) }
        var isFound = false
        for pattern in patterns {
            let isNegated = pattern.first == UInt8(ascii: "!")
            let written = String(decoding: isNegated ? pattern.dropFirst() : pattern, as: UTF8.self)
            let text = Data(written.lowercased().utf8)
            guard NamePattern.matches(name, text) else { continue }
            if isNegated { return false }
            isFound = true
        }
        return isFound
    }

    /// `|1|SALT|HASH`: HMAC-SHA1 of the name.
    private func isHash(of name: Data) -> Bool {
        let parts = names.split(separator: UInt8(ascii: "|"))
        guard parts.count == 3, let salt = Data(base64Encoded: Data(parts[1])),
            let hash = Data(base64Encoded: Data(parts[2]))
        else { return false }
        return HMAC<Insecure.SHA1>.isValidAuthenticationCode(
            hash, authenticating: name, using: SymmetricKey(data: salt))
    }

    /// The names that are neither hashed nor patterns.
    fileprivate var readableNames: [String] {
        guard names.first != UInt8(ascii: "|") else { return [] }
        let special = Data("*?!".utf8)
        return patterns.filter { !$0.contains(where: special.contains) }.compactMap {
            String(validating: $0, as: UTF8.self)
        }
    }
}

/// Patterns of OpenSSH for users and hosts: `*` stands for any bytes, `?` for one (ssh_config(5), PATTERNS).
package enum NamePattern {
    /// Compares byte by byte. Takes at most as many steps as both lengths multiplied.
    package static func matches(_ name: some Collection<UInt8>, _ pattern: some Collection<UInt8>) -> Bool {
        let (name, pattern) = (Array(name), Array(pattern))
        var (position, place) = (0, 0)
        // Where the last star stands, and how much of the name it has taken.
        var star: (place: Int, position: Int)?
        while position < name.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                star = (place, position)
                place += 1
            } else if place < pattern.count, [name[position], UInt8(ascii: "?")].contains(pattern[place]) {
                (position, place) = (position + 1, place + 1)
            } else if let last = star {
                star = (last.place, last.position + 1)
                (position, place) = (last.position + 1, last.place + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
