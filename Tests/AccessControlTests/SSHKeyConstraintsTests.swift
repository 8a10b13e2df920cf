import AccessControl
import Testing

@Suite("Constraints of SSH keys")
struct SSHKeyConstraintsTests {
    private static let print = [UInt8](0..<32)
    private static let later = [UInt8](1..<33)

    // MARK: canonical bytes

    @Test func `the documented bytes are those of the documentation`() throws {
        #expect(try SSHKeyConstraints(neverForwarded: true).canonicalBytes == [1, 4])
        #expect(
            try SSHKeyConstraints(namespaces: ["git"]).canonicalBytes == [1, 2, 1, 3, 0x67, 0x69, 0x74])
        #expect(try SSHKeyConstraints().canonicalBytes == [1, 0])
        #expect(
            try SSHKeyConstraints(
                hosts: [SSHHostPin(fingerprint: Self.print, name: "h")], namespaces: [], neverForwarded: true,
                permitsUnknown: true
            ).canonicalBytes == [1, 15, 1] + Self.print + [1, 0x68, 0])
    }

    private static var samples: [SSHKeyConstraints] {
        get throws {
            let pins = [SSHHostPin(fingerprint: later, name: "é"), SSHHostPin(fingerprint: print)]
            return try [
                SSHKeyConstraints(), SSHKeyConstraints(permitsUnknown: true),
                SSHKeyConstraints(hosts: [], namespaces: []), SSHKeyConstraints(hosts: pins),
                SSHKeyConstraints(hosts: pins, namespaces: ["file", "git"], neverForwarded: true),
            ]
        }
    }

    @Test func `what was written is read back, and nothing else is`() throws {
        for sample in try Self.samples {
            let bytes = sample.canonicalBytes
            #expect(try SSHKeyConstraints(canonicalBytes: bytes) == sample)
            for count in 0..<bytes.count {
                #expect(throws: CanonicalFormError.self) {
                    try SSHKeyConstraints(canonicalBytes: Array(bytes[..<count]))
                }
            }
            #expect(throws: CanonicalFormError.trailingBytes) { try SSHKeyConstraints(canonicalBytes: bytes + [0]) }
            for bit in 0..<bytes.count * 8 {
                var changed = bytes
                changed[bit / 8] ^= 1 << UInt8(bit % 8)
                if let read = try? SSHKeyConstraints(canonicalBytes: changed) {
                    #expect(read != sample && read.canonicalBytes == changed)
                }
            }
        }
    }

    @Test(
        arguments: [
            ([0, 0], .unsupportedVersion), ([2, 0], .unsupportedVersion), ([1, 16], .unknownLimit),
            ([1, 2, 1, 0], .invalidSSHConstraints(.namespace)), ([1, 2, 1, 1, 0xFF], .notCanonical),
            ([1, 2, 2, 1, 0x62, 1, 0x61], .notCanonical),
            ([1, 2, 2, 1, 0x61, 1, 0x61], .invalidSSHConstraints(.repeated)),
            ([1, 2, 1, 1, 0x0A], .invalidSSHConstraints(.namespace)),
            ([1, 1, 2] + later + [0] + print + [0], .notCanonical),
            ([1, 1, 2] + print + [0] + print + [0], .invalidSSHConstraints(.repeated)),
        ] as [([UInt8], CanonicalFormError)])
    func `other bytes are refused`(_ bytes: [UInt8], _ error: CanonicalFormError) {
        #expect(throws: error) { try SSHKeyConstraints(canonicalBytes: bytes) }
    }

    // MARK: limits

    private static func pins(_ count: Int, name: String = "") -> [SSHHostPin] {
        (0..<count).map { SSHHostPin(fingerprint: [UInt8(truncatingIfNeeded: $0)] + print.dropFirst(), name: name) }
    }

    @Test func `lists that are too long are refused, and the longest are not`() throws {
        _ = try SSHKeyConstraints(hosts: Self.pins(64), namespaces: (0..<32).map { "n\($0)" })
        _ = try SSHKeyConstraints(namespaces: [String(repeating: "n", count: 255)])
        _ = try SSHKeyConstraints(hosts: Self.pins(1, name: String(repeating: "n", count: 255)))
        for (error, make) in [
            (.tooManyHosts, { try SSHKeyConstraints(hosts: Self.pins(65)) }),
            (.tooManyNamespaces, { try SSHKeyConstraints(namespaces: (0..<33).map { "n\($0)" }) }),
            (.fingerprintLength, { try SSHKeyConstraints(hosts: [SSHHostPin(fingerprint: [1, 2])]) }),
            (.hostName, { try SSHKeyConstraints(hosts: Self.pins(1, name: String(repeating: "n", count: 256))) }),
            (.hostName, { try SSHKeyConstraints(hosts: Self.pins(1, name: "a\nb")) }),
            (.namespace, { try SSHKeyConstraints(namespaces: [String(repeating: "n", count: 256)]) }),
            (.namespace, { try SSHKeyConstraints(namespaces: [""]) }),
            (.repeated, { try SSHKeyConstraints(namespaces: ["git", "git"]) }),
            (.repeated, { try SSHKeyConstraints(hosts: Self.pins(1) + Self.pins(1, name: "other")) }),
            (.tooLarge, { try SSHKeyConstraints(hosts: Self.pins(64, name: String(repeating: "n", count: 40))) }),
        ] as [(SSHKeyConstraintsError, () throws -> SSHKeyConstraints)] {
            #expect(throws: error) { try make() }
        }
    }

    // MARK: names

    @Test func `names are compared byte by byte`() throws {
        // The same letter as one character and as two.
        let constraints = try SSHKeyConstraints(namespaces: ["é"])
        #expect(constraints.permits(namespace: "é") && !constraints.permits(namespace: "e\u{301}"))
        #expect(try SSHKeyConstraints(namespaces: ["é", "e\u{301}"]).namespaces?.count == 2)
        #expect(try SSHKeyConstraints().permits(namespace: "anything"))
        #expect(try !SSHKeyConstraints(namespaces: []).permits(namespace: "git"))
    }

    @Test func `a host is found by its whole fingerprint`() throws {
        let constraints = try SSHKeyConstraints(hosts: [SSHHostPin(fingerprint: Self.print, name: "h")])
        #expect(constraints.pin(of: Self.print)?.name == "h")
        for other in [Self.later, Array(Self.print.dropLast()), Self.print + [0], []] {
            #expect(constraints.pin(of: other) == nil)
        }
        #expect(try SSHKeyConstraints().pin(of: Self.print) == nil)
    }
}
