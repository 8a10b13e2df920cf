import Crypto
import Foundation
import IndependentTools
import KeyAlgorithms
import Testing

@Suite struct P256PublicKeyTests {
    /// The base point of P-256 (SEC 2, section 2.4.2): public key of the private key 1.
    static let x = Data(hex: "6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296")
    static let y = Data(hex: "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5")
    static let point = Data([4]) + x + y

    @Test func `a point of the curve is taken, from a slice too`() throws {
        #expect(try P256PublicKey(x963: Self.point).x963 == Self.point)
        #expect(try P256PublicKey(x963: Self.point.asSlice) == P256PublicKey(x963: Self.point))
    }

    static let refusedPoints: [(String, Data)] = [
        ("nothing", Data()),
        ("infinity", Data([0])),
        ("zero coordinates", Data([4]) + Data(count: 64)),
        ("infinity, padded", Data(count: 65)),
        ("64 bytes", point.dropLast()),
        ("66 bytes", point + Data([0])),
        ("raw coordinates", x + y),
        ("compressed, odd", Data([3]) + x),
        ("compressed, padded", Data([3]) + x + Data(count: 32)),
        ("hybrid, even", Data([6]) + x + y),
        ("hybrid, odd", Data([7]) + x + y),
        ("coordinates swapped", Data([4]) + y + x),
        ("above the field", Data([4]) + Data(repeating: 0xFF, count: 64)),
        ("private key", point + Data(count: 31) + Data([1])),
        ("P-384 point", P384.Signing.PrivateKey().publicKey.x963Representation),
    ]

    @Test(arguments: refusedPoints) func `what is not an uncompressed point is refused`(name: String, bytes: Data) {
        #expect(throws: KeyAlgorithmError.invalidParameter(.publicKey)) { try P256PublicKey(x963: bytes) }
    }

    @Test func `every flipped bit leaves the curve`() {
        for byte in Self.point.indices {
            for bit in 0..<8 {
                let forged = Self.point.flipping(bit: bit, ofByte: byte)
                #expect(throws: KeyAlgorithmError.invalidParameter(.publicKey)) { try P256PublicKey(x963: forged) }
            }
        }
    }

    @Test func `DER and PEM come back as the same key`() throws {
        let key = P256PublicKey(P256.Signing.PrivateKey().publicKey)
        #expect(try P256PublicKey(der: key.der) == key)
        #expect(try P256PublicKey(pem: key.pem) == key)
        #expect(key.der.count == 91)
        #expect(key.pem.utf8.count == 178)
        #expect(try P256PublicKey(pem: key.pem.replacing("\n", with: "\r\n")) == key)
    }

    @Test func `openssl reads our PEM and we read what it writes`() throws {
        let key = P256PublicKey(P256.Signing.PrivateKey().publicKey)
        let pem = try convert(key, to: "PEM", form: "uncompressed")
        #expect(try P256PublicKey(pem: String(decoding: pem, as: UTF8.self)) == key)
        let der = try convert(key, to: "DER", form: "uncompressed")
        #expect(der == key.der)
        #expect(try P256PublicKey(der: der) == key)
    }

    @Test func `a compressed point is refused in PEM and DER too`() throws {
        let key = P256PublicKey(P256.Signing.PrivateKey().publicKey)
        let pem = try String(decoding: convert(key, to: "PEM", form: "compressed"), as: UTF8.self)
        #expect(throws: KeyAlgorithmError.invalidParameter(.publicKey)) { try P256PublicKey(pem: pem) }
        let der = try convert(key, to: "DER", form: "compressed")
        #expect(throws: KeyAlgorithmError.invalidParameter(.publicKey)) { try P256PublicKey(der: der) }
    }

    private func convert(_ key: P256PublicKey, to format: String, form: String) throws -> Data {
        let arguments = ["ec", "-pubin", "-conv_form", form, "-pubout", "-outform", format]
        let outcome = try IndependentTool.run("openssl", arguments, input: Data(key.pem.utf8))
        try #require(outcome.status == 0, "openssl: \(outcome.diagnostics)")
        return outcome.output
    }

    static var refusedDER: [(String, Data)] {
        let der = P256.Signing.PrivateKey().publicKey.derRepresentation
        var offCurve = der
        offCurve[offCurve.endIndex - 1] ^= 1
        return [
            ("nothing", Data()),
            ("trailing byte", der + Data([0])),
            ("point off the curve", offCurve),
            ("private key", P256.Signing.PrivateKey().derRepresentation),
            ("another curve", P384.Signing.PrivateKey().publicKey.derRepresentation),
            ("bare point", point),
            ("above the limit", der + Data(count: KeyAlgorithmLimits.encodedPublicKey)),
        ]
    }

    @Test(arguments: refusedDER) func `another DER value is refused`(name: String, der: Data) {
        #expect(throws: KeyAlgorithmError.invalidParameter(.publicKey)) { try P256PublicKey(der: der) }
    }

    @Test func `every truncation of DER is refused`() throws {
        let der = try P256PublicKey(x963: Self.point).der
        for count in 0..<der.count {
            #expect(throws: KeyAlgorithmError.invalidParameter(.publicKey)) {
                try P256PublicKey(der: der.prefix(count))
            }
        }
    }

    static var refusedPEM: [(String, String)] {
        let pem = P256.Signing.PrivateKey().publicKey.pemRepresentation
        return [
            ("nothing", ""),
            ("no lines", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----"),
            ("another label", pem.replacing("PUBLIC KEY", with: "CERTIFICATE")),
            ("labels that differ", pem.replacing("END PUBLIC KEY", with: "END EC KEY")),
            ("private key", P256.Signing.PrivateKey().pemRepresentation),
            ("another curve", P521.Signing.PrivateKey().publicKey.pemRepresentation),
            ("not base 64", pem.replacing("M", with: "*")),
            ("above the limit", pem + String(repeating: "\n", count: KeyAlgorithmLimits.encodedPublicKey)),
        ]
    }

    @Test(arguments: refusedPEM) func `another PEM text is refused`(name: String, pem: String) {
        #expect(throws: KeyAlgorithmError.invalidParameter(.publicKey)) { try P256PublicKey(pem: pem) }
    }
}
