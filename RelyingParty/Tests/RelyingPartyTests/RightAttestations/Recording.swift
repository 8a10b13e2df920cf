import CanonicalCBOR
import Foundation
import RelyingParty
import Testing

@testable import AttestationVerification

/// Enrolments and statements of a real daemon on swtpm (`Recordings/README.md`).
enum Recording {
    /// Each has a certificate for another kind of endorsement key.
    enum Chip: String, CaseIterable { case rsa, p384 }

    /// The rights of ``Chip/rsa``.
    enum Right: String, CaseIterable { case passcode, open, either, confirming }

    static func data(_ name: String, of chip: Chip = .rsa) throws -> Data {
        let path = Bundle.module.bundleURL.appendingPathComponent("Recordings/\(chip)/\(name)")
        return try Data(contentsOf: path)
    }

    static func document(_ name: String, of chip: Chip = .rsa) throws -> TestDocument {
        try TestDocument(data(name, of: chip))
    }

    static func statement(on right: Right) throws -> Data { try data("\(right).cbor") }

    static func challenge() throws -> Data { try data("challenge") }

    static func knownKey(of chip: Chip = .rsa) throws -> KnownAttestationKey {
        try KnownAttestationKey(stored: data("known-key.cbor", of: chip))
    }

    /// A time at which all certificates are valid.
    static let date = WebAuthnVerifier.date

    static func enrollment(
        _ bytes: Data? = nil, of chip: Chip = .rsa, anchors: [Data]? = nil, intermediates: [Data]? = nil,
        at date: Date = date
    ) async throws -> AttestationKeyEnrollment {
        try await AttestationKeyEnrollment(
            bytes ?? data("enrollment.cbor", of: chip), anchors: anchors ?? [data("maker.der", of: chip)],
            intermediates: intermediates ?? [data("intermediate.der", of: chip)], at: date)
    }
}

/// A document whose members a test may change.
struct TestDocument {
    var members: [String: CBORValue]

    init(_ bytes: Data) throws {
        let map = try #require(try CBORDecoder.decode([UInt8](bytes)[...], .canonical).map)
        members = [:]
        for entry in map.entries { members[try #require(entry.key.text)] = entry.value }
    }

    /// A member of bytes.
    subscript(name: String) -> [UInt8]? {
        get { members[name]?.bytes.map(Array.init) }
        set { members[name] = newValue.map { .bytes($0) } }
    }

    /// Changes a member of bytes.
    mutating func change(_ name: String, _ body: (inout [UInt8]) throws -> Void) throws {
        var bytes = try #require(self[name])
        try body(&bytes)
        self[name] = bytes
    }

    func changing(_ name: String, _ body: (inout [UInt8]) throws -> Void) throws -> TestDocument {
        var document = self
        try document.change(name, body)
        return document
    }

    var encoded: Data { Data(CBORValue.map(CBORMap(members.map { (.text($0.key), $0.value) })).encoded) }

    /// The same document with one defect each, which no reader of a document may accept.
    func defects() -> [(name: String, bytes: Data)] {
        var defects: [(String, Data)] = members.keys.filter { $0 != "ver" }.flatMap { name in
            [CBORValue?.none, .null, .number(1), .array([])].map { value in
                var document = self
                document.members[name] = value
                return ("\(name) is \(value.map { "\($0)" } ?? "absent")", document.encoded)
            }
        }
        var more = self
        more["more"] = []
        var other = self
        other.members["fmt"] = .text("another")
        var large = self
        large["more"] = [UInt8](repeating: 0, count: 16 * 1024)
        defects += [
            ("another member", more.encoded), ("another format", other.encoded), ("too large", large.encoded),
            ("a byte behind it", encoded + [0]), ("an array", Data(CBORValue.array([]).encoded)),
        ]
        return defects + encoded.indices.map { ("the first \($0) bytes", encoded.prefix($0)) }
    }
}

/// Bytes with their count in front, as TPMs write them.
func sized(_ bytes: [UInt8]) -> [UInt8] { CBORItem.bigEndian(bytes.count, count: 2) + bytes }

/// Public areas whose name has SHA-256 and whose policy has 32 bytes, or none.
enum AreaPlace {
    static let nameAlgorithm = 2..<4
    static let attributes = 4..<8
    static let policy = 10..<42
    /// Of P-256: the sizes of both coordinates stand before each.
    static let pointByteCount = 68
}

extension KeyArea.Attributes {
    /// Those that the verifier names.
    static let each: [Self] = [
        .fixedTPM, .fixedParent, .sensitiveDataOrigin, .userWithAuth, .adminWithPolicy, .noDA, .restricted, .decrypt,
        .sign,
    ]
}

extension [UInt8] {
    /// Sets or clears bits of the area's attributes.
    mutating func toggle(_ attributes: KeyArea.Attributes) {
        let bytes = CBORItem.bigEndian(Int(attributes.rawValue), count: 4)
        for (offset, byte) in zip(AreaPlace.attributes, bytes) { self[offset] ^= byte }
    }

    mutating func setPolicy(_ digest: [UInt8]) { replaceSubrange(AreaPlace.policy, with: digest) }

    /// - Parameter point: x and y of P-256.
    mutating func setPoint(_ point: Data) {
        removeLast(AreaPlace.pointByteCount)
        self += sized(Array(point.prefix(32))) + sized(Array(point.suffix(32)))
    }
}
