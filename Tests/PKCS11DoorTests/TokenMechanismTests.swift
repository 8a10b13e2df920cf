import Foundation
import KeyAlgorithms
import Testing

@testable import PKCS11Door

/// Which mechanisms there are, and what their parameters may be.
@Suite("Mechanisms of the token", .timeLimit(.minutes(10)))
struct TokenMechanismTests {
    private func refusal<Value>(_ work: () throws(TokenRefusal) -> Value) -> TokenRefusal? {
        do {
            _ = try work()
            return nil
        } catch { return error }
    }

    private func signature(_ mechanism: WireMechanism) -> SignatureMechanism? {
        do { return try mechanism.signature() } catch { return nil }
    }

    @Test func `each mechanism means one thing`() {
        let meanings: [(WireMechanism, SignatureMechanism)] = [
            (WireMechanism(0x1041), .ecdsa(nil)), (WireMechanism(0x1044), .ecdsa(.sha256)),
            (WireMechanism(0x1045), .ecdsa(.sha384)), (WireMechanism(0x1046), .ecdsa(.sha512)),
            (WireMechanism(0x1057), .ed25519), (WireMechanism(1), .pkcs1(nil)), (WireMechanism(0x40), .pkcs1(.sha256)),
            (WireMechanism(0x41), .pkcs1(.sha384)), (WireMechanism(0x42), .pkcs1(.sha512)),
            (WireMechanism(0xD, hash: 0x250, mask: 2, salt: 32), .pss(.sha256, ofDigest: true)),
            (WireMechanism(0x43, hash: 0x250, mask: 2, salt: 32), .pss(.sha256, ofDigest: false)),
            (WireMechanism(0x44, hash: 0x260, mask: 3, salt: 48), .pss(.sha384, ofDigest: false)),
            (WireMechanism(0x45, hash: 0x270, mask: 4, salt: 64), .pss(.sha512, ofDigest: false)),
        ]
        for (mechanism, meaning) in meanings { #expect(signature(mechanism) == meaning, "\(mechanism)") }
        // CKM_RSA_X_509, CKM_SHA1_RSA_PKCS, CKM_ECDSA_SHA1, CKM_ECDSA_SHA224, CKM_SHA256, those that do not sign, and none at all.
        for type: UInt32 in [3, 6, 0x1042, 0x1043, 0x250, 9, 0x1050, 0xFFFF_FFFF] {
            #expect(
                refusal { () throws(TokenRefusal) in try WireMechanism(type).signature() } == .mechanismInvalid,
                "\(type)")
        }
    }

    @Test(
        arguments: [
            WireMechanism(0x1041, hash: 0x250), WireMechanism(0x1044, salt: 32), WireMechanism(1, mask: 2),
            // No parameters; SHA-1; another mask; another salt; the hash of another mechanism; an unknown hash.
            WireMechanism(0xD), WireMechanism(0xD, hash: 0x220, mask: 1, salt: 20),
            WireMechanism(0xD, hash: 0x250, mask: 1, salt: 32), WireMechanism(0xD, hash: 0x250, mask: 2, salt: 20),
            WireMechanism(0xD, hash: 0x250, mask: 2, salt: .max), WireMechanism(0x43, hash: 0x260, mask: 3, salt: 48),
            WireMechanism(0xD, hash: 0x999, mask: 2, salt: 32),
        ])
    func `parameters that do not belong to the mechanism`(mechanism: WireMechanism) {
        #expect(refusal { () throws(TokenRefusal) in try mechanism.signature() } == .mechanismParameterInvalid)
    }

    @Test func `decryption has two paddings`() throws {
        #expect(try WireMechanism(1).decryption() == .pkcs1v15)
        #expect(try WireMechanism(9, hash: 0x250, mask: 2).decryption() == .oaep(.sha256))
        #expect(try WireMechanism(9, hash: 0x220, mask: 1).decryption() == .oaep(.sha1))
        for wrong in [
            WireMechanism(9), WireMechanism(9, hash: 0x250, mask: 1), WireMechanism(9, hash: 0x250, mask: 2, salt: 1),
        ] {
            #expect(refusal { () throws(TokenRefusal) in try wrong.decryption() } == .mechanismParameterInvalid)
        }
        #expect(refusal { () throws(TokenRefusal) in try WireMechanism(0x1041).decryption() } == .mechanismInvalid)
    }

    @Test func `agreement is bare`() {
        #expect(refusal { () throws(TokenRefusal) in try WireMechanism(0x1050).requireAgreement() } == nil)
        #expect(
            refusal { () throws(TokenRefusal) in try WireMechanism(0x1050, hash: 0x250).requireAgreement() }
                == .mechanismParameterInvalid)
        #expect(
            refusal { () throws(TokenRefusal) in try WireMechanism(0x1041).requireAgreement() } == .mechanismInvalid)
    }

    // MARK: what is signed

    private func info(_ number: UInt8, _ hash: HashAlgorithm) -> Data {
        let count = UInt8(hash.byteCount)
        return Data([0x30, 17 + count, 0x30, 13, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, number, 5, 0, 4, count])
            + Data(repeating: 9, count: hash.byteCount)
    }

    @Test func `RSA signs the digests of SHA-2 with their names, and no other bytes`() {
        for (number, hash) in [(UInt8(1), HashAlgorithm.sha256), (2, .sha384), (3, .sha512)] {
            let read = DigestInfo.read(info(number, hash))
            #expect(read?.hash == hash && read?.digest == Data(repeating: 9, count: hash.byteCount))
        }
        let right = info(1, .sha256)
        // SHA-1 with its name; MD5 and SHA-1 together, as in TLS 1.1; a digest without its name.
        let others = [
            Data([0x30, 0x21, 0x30, 9, 6, 5, 0x2B, 0x0E, 3, 2, 0x1A, 5, 0, 4, 20]) + Data(count: 20), Data(count: 36),
            Data(count: 32), Data(), right + [0], right.dropLast(), info(2, .sha256), info(1, .sha384),
        ]
        for other in others { #expect(DigestInfo.read(Data(other)) == nil, "\(other.count)") }
        for place in 0..<19 {
            var changed = right
            changed[place] ^= 1
            #expect(DigestInfo.read(changed) == nil, "\(place)")
        }
    }

    private func input(_ mechanism: WireMechanism, _ data: Data) throws(TokenRefusal) -> SignedInput {
        var operation = try OperationData(mechanism)
        operation.add(data)
        return try operation.finished()
    }

    @Test func `ECDSA takes digests from SHA-1 to SHA-512`() throws {
        for count in [20, 32, 64] { #expect(try input(WireMechanism(0x1041), Data(count: count)).digest().hash == nil) }
        for count in [0, 19, 65] {
            #expect(
                refusal { () throws(TokenRefusal) in try input(WireMechanism(0x1041), Data(count: count)).digest() }
                    == .dataLength)
        }
    }

    @Test func `a digest for PSS is as long as its hash`() throws {
        let pss = WireMechanism(0xD, hash: 0x250, mask: 2, salt: 32)
        #expect(try input(pss, Data(count: 32)).digest().hash == .sha256)
        #expect(refusal { () throws(TokenRefusal) in try input(pss, Data(count: 31)).digest() } == .dataLength)
        #expect(
            refusal { () throws(TokenRefusal) in try input(WireMechanism(1), Data(count: 32)).digest() } == .dataInvalid
        )
    }

    @Test func `a message is kept as long as a question can show it, and hashed in any case`() throws {
        var operation = try OperationData(WireMechanism(0x1044))
        operation.add(Data(count: PKCS11Limits.keptByteCount - 1))
        operation.add(Data([1]))
        let whole = Data(count: PKCS11Limits.keptByteCount - 1) + [1]
        #expect(try operation.finished().message == whole)
        #expect(try operation.finished().bytes == HashAlgorithm.sha256.digest(of: whole))
        operation.add(Data([2]))
        #expect(try operation.finished().message == nil)
        #expect(try operation.finished().bytes == HashAlgorithm.sha256.digest(of: whole + [2]))
    }

    @Test func `what is not hashed has a limit`() throws {
        var operation = try OperationData(WireMechanism(0x1057))
        operation.add(Data(count: PKCS11Limits.keptByteCount))
        #expect(try operation.finished().bytes.count == PKCS11Limits.keptByteCount)
        operation.add(Data([1]))
        #expect(refusal { () throws(TokenRefusal) in try operation.finished() } == .dataLength)
    }

    @Test func `a point is bare or in an octet string, and on the curve`() throws {
        let point = PlayedToken.point
        #expect(try PeerPoint.read(point) == point)
        #expect(try PeerPoint.read(Data([4, 65]) + point) == point)
        for wrong in [
            Data(), Data(point.dropLast()), point + [0], Data([4, 64]) + point, Data([2]) + point.dropFirst(),
            PlayedToken.pointOffCurve, Data([4]) + Data(count: 64), Data([4, 65]) + PlayedToken.pointOffCurve,
        ] {
            #expect(refusal { () throws(TokenRefusal) in try PeerPoint.read(wrong) } == .mechanismParameterInvalid)
        }
    }
}
