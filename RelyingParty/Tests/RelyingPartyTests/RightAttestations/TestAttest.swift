import Crypto
import Foundation
import RelyingParty
import Testing

@testable import AttestationVerification

/// `TPMS_ATTEST`, field by field.
struct TestAttest {
    static let magic: [UInt8] = [0xFF, 0x54, 0x43, 0x47]

    var magic: [UInt8]
    var type: [UInt8]
    var signer: [UInt8]
    var extraData: [UInt8]
    /// Milliseconds (8), resets (4), restarts (4), whether it is safe (1).
    var clock: [UInt8]
    var firmware: [UInt8]
    var name: [UInt8]
    /// A qualified name with its size; of an index offset, and content with its size.
    var rest: [UInt8]

    init(_ bytes: [UInt8]) throws {
        var reader = TPMReader(bytes[...], .certInfo)
        magic = Array(try reader.take(4))
        type = Array(try reader.take(2))
        signer = Array(try reader.string())
        extraData = Array(try reader.string())
        clock = Array(try reader.take(17))
        firmware = Array(try reader.take(8))
        name = Array(try reader.string())
        rest = []
        rest = Array(bytes.dropFirst(encoded.count))
    }

    var encoded: [UInt8] {
        [magic, type, sized(signer), sized(extraData), clock, firmware, sized(name), rest].flatMap(\.self)
    }
}

/// An attestation key of software, enrolled as if it were a chip's. With it a test signs everything that a chip would refuse.
struct TestAttestationKey {
    private let key = P256.Signing.PrivateKey()
    let known: KnownAttestationKey

    init() throws {
        let recorded = try Recording.document("known-key.cbor")
        var area = try #require(recorded["ak"])
        area.setPoint(key.publicKey.rawRepresentation)
        known = KnownAttestationKey(
            area: area, parentName: try #require(recorded["akParent"]),
            certificateDigest: Data(try #require(recorded["ekCertDigest"])))
    }

    func signature(of content: [UInt8]) throws -> [UInt8] {
        Array(try key.signature(for: content).rawRepresentation)
    }
}
