import Foundation
import SSHFormats
import SSHKeyFiles
import SecretMemory
import Testing

/// What `ssh-add` sends, and what nobody sends.
@Suite("Keys for an agent", .timeLimit(.minutes(10)))
struct KeyAdditionTests {
    private let folder: KeyFileFolder

    init() throws { folder = try KeyFileFolder() }

    private func addition(_ contents: Data, isConstrained: Bool = true) throws(KeyFileError) -> KeyAddition {
        try KeyAddition(SecretBytes(contents), isConstrained: isConstrained)
    }

    @Test(arguments: OpenSSHKeyFileTests.types) func `a key of ssh-add is the one of the file`(
        type: String, options: [String]
    ) throws {
        let file = try openedKey(folder.make("key", type, options: options))
        let message = try folder.addition([folder.path("key")])
        #expect(message.number == 17)
        let added = try addition(message.contents, isConstrained: false)
        #expect(added.key.key.publicKey == file.key.publicKey && added.key.comment == "comment of key")
        let isSame = added.key.key.secret.isEqual(to: file.key.secret)
        #expect(isSame)
        #expect(added.constraints == KeyAdditionConstraints())
    }

    @Test func `a key with a certificate is the key of that certificate`() throws {
        try folder.make("key", "ecdsa", options: ["-b", "384"])
        try folder.make("ca", "ed25519")
        try folder.run("ssh-keygen", ["-q", "-s", folder.path("ca"), "-I", "id", "-n", "me", folder.path("key.pub")])
        let certificate = try SSHPublicKey(
            line: String(contentsOfFile: folder.path("key-cert.pub"), encoding: .utf8))
        // The certificate alone: ssh-add sends the plain key first.
        let plain = try addition(folder.addition([folder.path("key")]).contents, isConstrained: false)
        #expect(certificate.isCertificate && certificate.isSameKey(as: plain.key.key.publicKey))
        #expect(plain.key.key.named(by: certificate).publicKey == certificate)
    }

    @Test func `lifetime, confirmation and destinations come with a key`() throws {
        try folder.make("key", "ed25519")
        try folder.make("host", "ed25519")
        let line = try folder.publicKey("host").line
        try Data("example.org,192.0.2.1 \(line)\n".utf8).write(to: folder.url.appendingPathComponent("known"))
        let message = try folder.addition([
            "-t", "60", "-c", "-h", "example.org", "-h", "example.org>me@example.org", "-H", folder.path("known"),
            folder.path("key"),
        ])
        #expect(message.number == 25)
        let constraints = try addition(message.contents).constraints
        #expect(constraints.lifetime == 60 && constraints.confirms)
        let host = DestinationConstraint.HostKey(try folder.publicKey("host"), isAuthority: false)
        let hop = DestinationConstraint.Hop(user: nil, host: Data("example.org".utf8), keys: [host])
        let asMe = DestinationConstraint.Hop(user: Data("me".utf8), host: hop.host, keys: [host])
        #expect(
            constraints.destinations == [
                DestinationConstraint(from: nil, to: hop), DestinationConstraint(from: hop, to: asMe),
            ])
        // A key with constraints is none without them.
        #expect(throws: KeyFileError.damaged(.trailingBytes)) {
            try addition(message.contents, isConstrained: false)
        }
    }

    @Test func `each message that ends too early is refused`() throws {
        try folder.make("key", "ed25519")
        let contents = try folder.addition(["-t", "60", "-c", folder.path("key")]).contents
        // Without its last constraints the message is a whole one.
        let whole = [contents.count - 6, contents.count - 1]
        for count in 0..<contents.count where !whole.contains(count) {
            #expect(throws: KeyFileError.self, "\(count)") { try addition(Data(contents.prefix(count))) }
        }
    }

    /// A key without constraints, to put some behind.
    private func plainContents() throws -> Data {
        try folder.make("key", "ed25519")
        return try folder.addition([folder.path("key")]).contents
    }

    private static func constraint(_ name: String, _ contents: Data) -> Data {
        SSHWriter.bytes { writer in
            writer.write(UInt8(255))
            writer.write(text: name)
            writer.write(string: contents)
        }
    }

    @Test func `a constraint that is unknown, or comes twice, is refused with its key`() throws {
        let plain = try plainContents()
        #expect(try addition(plain + [2]).constraints.confirms)
        #expect(throws: KeyFileError.damaged(.malformed(.flag))) { try addition(plain + [2, 2]) }
        #expect(throws: KeyFileError.damaged(.malformed(.flag))) {
            try addition(plain + [1, 0, 0, 0, 9, 1, 0, 0, 0, 9])
        }
        #expect(throws: KeyFileError.damaged(.unsupported(.flag))) { try addition(plain + [3]) }
        #expect(throws: KeyFileError.damaged(.unsupported(.flag))) {
            try addition(plain + Self.constraint("other@example.org", Data()))
        }
    }

    @Test func `destinations without hosts, users at the origin, and fields of the future are refused`() throws {
        let plain = try plainContents()
        let key = try folder.publicKey("key").blob
        func hop(_ user: String, _ host: String, keys: Bool, rest: Data = Data()) -> Data {
            SSHWriter.bytes { writer in
                writer.write(text: user)
                writer.write(text: host)
                writer.write(string: rest)
                if keys {
                    writer.write(string: key)
                    writer.write(UInt8(0))
                }
            }
        }
        func list(_ from: Data, _ to: Data, rest: Data = Data()) -> Data {
            let one = SSHWriter.bytes { writer in
                writer.write(string: from)
                writer.write(string: to)
                writer.write(string: rest)
            }
            return Self.constraint(
                "restrict-destination-v00@openssh.com", SSHWriter.bytes { $0.write(string: one) })
        }
        let origin = hop("", "", keys: false)
        let host = hop("me", "example.org", keys: true)
        #expect(try addition(plain + list(origin, host)).constraints.destinations.count == 1)
        let wrong: [(Data, Data, SSHFormatError)] = [
            (origin, origin, .malformed(.text)), (origin, hop("", "example.org", keys: false), .malformed(.text)),
            (hop("me", "", keys: false), host, .malformed(.text)), (host, host, .malformed(.text)),
            (hop("", "", keys: true), host, .malformed(.text)),
            (hop("", "example.org", keys: false), host, .malformed(.text)),
            (origin, hop("", "example.org", keys: true, rest: Data([0])), .unsupported(.flag)),
            (origin, hop(String(repeating: "u", count: 257), "example.org", keys: true), .tooLarge),
        ]
        for (from, to, error) in wrong {
            #expect(throws: KeyFileError.damaged(error)) { try addition(plain + list(from, to)) }
        }
        #expect(throws: KeyFileError.damaged(.unsupported(.flag))) {
            try addition(plain + list(origin, host, rest: Data([1])))
        }
        // No destination at all would be a key for all of them.
        #expect(throws: KeyFileError.damaged(.malformed(.flag))) {
            try addition(plain + Self.constraint("restrict-destination-v00@openssh.com", Data()))
        }
        #expect(throws: KeyFileError.damaged(.malformed(.flag))) {
            try addition(plain + list(origin, host) + list(origin, host))
        }
    }

    @Test func `keys of unknown kinds are named`() throws {
        let contents = SSHWriter.bytes { $0.write(text: "ssh-dss") }
        #expect(throws: KeyFileError.unsupported(keyType: "ssh-dss")) { try addition(contents) }
    }

    @Test func `numbers of RSA that do not belong together are refused`() throws {
        let bytes = try folder.make("key", "rsa", options: ["-b", "2048"])
        let key = try openedKey(bytes)
        let contents = try folder.addition([folder.path("key")]).contents
        #expect(try addition(contents, isConstrained: false).key.key.publicKey == key.key.publicKey)
        // Behind the type: modulus and exponent, then the private numbers. The last byte of the last one is of the prime q.
        let end = contents.count - 4 - "comment of key".utf8.count
        for index in [end - 1, end - 150, end - 300, end - 400] {
            var changed = contents
            changed[index] ^= 2
            #expect(throws: KeyFileError.mismatch, "\(end - index)") { try addition(changed, isConstrained: false) }
        }
    }
}
