import Crypto
import Foundation
import IndependentTools
import SSHFormats
import Testing

@Suite struct SSHPublicKeyTests {
    private static let vectors = SSHVectors.openSSH
    private static let types: [String: SSHKeyType] = [
        "host_ed25519": .ed25519, "host_256": .p256, "host_384": .p384, "host_521": .p521, "host_rsa2048": .rsa,
    ]

    private static func write(_ body: (inout SSHWriter) -> Void) -> Data { SSHWriter.bytes(body) }

    // MARK: reading

    @Test(arguments: types.keys.sorted()) func `keys and certificates of ssh-keygen are read`(_ name: String) throws {
        let host = try #require(Self.vectors.hosts[name])
        let key = try SSHPublicKey(blob: host.key)
        let certificate = try SSHPublicKey(blob: host.cert)
        #expect(key.type == Self.types[name] && certificate.type == key.type)
        #expect(!key.isCertificate && certificate.isCertificate)
        #expect(key.blob == host.key && certificate.blob == host.cert && certificate.plain == key)
        #expect(key != certificate && key.isSameKey(as: certificate))
        #expect(key.fingerprint.description == host.fp && certificate.fingerprint.description == host.fp)
        #expect(try SSHFingerprint(host.fp) == key.fingerprint)
        #expect(try SSHPublicKey(line: key.line) == key && SSHPublicKey(line: key.line + " me@here") == key)
        #expect(try SSHPublicKey(line: certificate.line) == certificate)
    }

    @Test func `a P-256 key is written as OpenSSH writes it`() throws {
        let key = try SSHPublicKey(blob: Self.vectors.user)
        #expect(try SSHPublicKey(p256: #require(key.x963)) == key)
        #expect(key.fingerprint.description == Self.vectors.userFP)
        #expect(throws: SSHFormatError.malformed(.point)) { try SSHPublicKey(p256: Data(count: 65)) }
    }

    @Test(arguments: ["ed25519", "ecdsa", "rsa"]) func `the installed ssh-keygen agrees on fingerprint and line`(
        _ type: String
    ) throws {
        try IndependentTool.withFolder { folder in
            let file = folder.appendingPathComponent("key").path
            let made = try IndependentTool.run("ssh-keygen", ["-q", "-t", type, "-N", "", "-C", "a b", "-f", file])
            try #require(made.status == 0, "\(made.diagnostics)")
            let line = try String(contentsOfFile: file + ".pub", encoding: .utf8)
            let key = try SSHPublicKey(line: line)
            #expect(line.hasPrefix(key.line + " "))
            let shown = try IndependentTool.run("ssh-keygen", ["-l", "-f", file + ".pub"])
            #expect(String(decoding: shown.output, as: UTF8.self).contains(" \(key.fingerprint) "))
        }
    }

    @Test func `keys of security keys are read with their application`() throws {
        let point = try #require(SSHPublicKey(blob: Self.vectors.user).x963)
        func blob(_ application: Data) -> Data {
            Self.write { writer in
                writer.write(text: "sk-ecdsa-sha2-nistp256@openssh.com")
                writer.write(text: "nistp256")
                writer.write(string: point)
                writer.write(string: application)
            }
        }
        let (here, there) = (try SSHPublicKey(blob: blob(Data("ssh:".utf8))), blob(Data("ssh:other".utf8)))
        #expect(here.type == .securityKeyP256 && here.plain == here)
        #expect(try !here.isSameKey(as: SSHPublicKey(blob: there)))
        #expect(throws: SSHFormatError.malformed(.text)) { try SSHPublicKey(blob: blob(Data([0xFF]))) }
        #expect(throws: SSHFormatError.unsupported(.signatureType)) {
            try here.isValid(SSHSignature(name: here.name, bytes: Data(count: 70)), of: Data())
        }
    }

    // MARK: refusals

    @Test(arguments: types.keys.sorted()) func `each truncation and a byte too many are refused`(_ name: String) throws
    {
        let host = try #require(Self.vectors.hosts[name])
        for bytes in Spoiled.lengths(of: host.key) + Spoiled.lengths(of: host.cert) {
            #expect(throws: SSHFormatError.self) { try SSHPublicKey(blob: bytes) }
        }
    }

    @Test(arguments: types.keys.sorted()) func `a key with a changed bit is refused or is another key`(
        _ name: String
    ) throws {
        let host = try #require(Self.vectors.hosts[name])
        for bytes in Spoiled.bits(of: host.key) {
            guard let read = try? SSHPublicKey(blob: bytes) else { continue }
            #expect(read.blob == bytes && read.plain == read && read.fingerprint.description != host.fp)
        }
    }

    @Test func `other forms of a key are refused`() throws {
        let point = try #require(SSHPublicKey(blob: Self.vectors.user).x963)
        func curve(_ type: String, _ curve: String, _ point: Data) -> Data {
            Self.write { writer in
                writer.write(text: type)
                writer.write(text: curve)
                writer.write(string: point)
            }
        }
        func ed25519(_ count: Int) -> Data {
            Self.write { writer in
                writer.write(text: "ssh-ed25519")
                writer.write(string: Data(count: count))
            }
        }
        let compressed = try P256.Signing.PublicKey(x963Representation: point).compressedRepresentation
        var offCurve = point
        offCurve[64] ^= 1
        for (blob, error) in [
            (curve("ecdsa-sha2-nistp256", "nistp384", point), .malformed(.curve)),
            (curve("ecdsa-sha2-nistp384", "nistp384", point), .malformed(.point)),
            (curve("ecdsa-sha2-nistp256", "nistp256", compressed), .malformed(.point)),
            (curve("ecdsa-sha2-nistp256", "nistp256", offCurve), .malformed(.point)),
            (curve("ecdsa-sha2-nistp256", "nistp256", Data()), .malformed(.point)),
            (curve("ssh-dss", "x", point), .unsupported(.keyType)),
            (ed25519(31), .malformed(.point)), (ed25519(33), .malformed(.point)),
            (Data(count: 8 * 1024 + 1), .tooLarge), (Data(), .truncated),
        ] as [(Data, SSHFormatError)] {
            #expect(throws: error) { try SSHPublicKey(blob: blob) }
        }
    }

    @Test func `weak and odd RSA keys are refused`() {
        func rsa(_ exponent: [UInt8], bits: Int, last: UInt8 = 1) -> Data {
            var modulus = [UInt8](repeating: 0xA5, count: bits / 8)
            modulus[0] = 0x80
            modulus[modulus.count - 1] = last
            return Self.write { writer in
                writer.write(text: "ssh-rsa")
                writer.write(positiveInteger: exponent)
                writer.write(positiveInteger: modulus)
            }
        }
        #expect(throws: Never.self) { try SSHPublicKey(blob: rsa([1, 0, 1], bits: 2048)) }
        for (blob, error) in [
            (rsa([1], bits: 2048), .malformed(.exponent)), (rsa([4], bits: 2048), .malformed(.exponent)),
            (rsa([1, 0, 1], bits: 2040), .unsupported(.modulus)), (rsa([3], bits: 1024), .unsupported(.modulus)),
            (rsa([3], bits: 2048, last: 2), .malformed(.modulus)), (rsa([3], bits: 16 * 1024 + 8), .tooLarge),
            (rsa([1, 0, 0, 0, 0, 1], bits: 2048), .tooLarge),
        ] as [(Data, SSHFormatError)] {
            #expect(throws: error) { try SSHPublicKey(blob: blob) }
        }
    }

    @Test(arguments: ["", "ssh-ed25519", "ssh-ed25519 !!", "ssh-rsa KEY", "command=\"x\" ssh-ed25519 KEY"])
    func `a line that is no key's is refused`(_ line: String) throws {
        let key = try #require(Self.vectors.hosts["host_ed25519"]).key.base64EncodedString()
        #expect(throws: SSHFormatError.self) {
            try SSHPublicKey(line: line.replacingOccurrences(of: "KEY", with: key))
        }
    }

    @Test(arguments: [
        "", "SHA256:", "sha256:FP", "SHA256:FP=", "SHA256:FPA", " SHA256:FP", "MD5:00:11", "SHA256:FP\n",
    ])
    func `a fingerprint has one form`(_ text: String) throws {
        let fingerprint = try SSHPublicKey(blob: Self.vectors.user).fingerprint.description
        let digits = String(fingerprint.dropFirst("SHA256:".count))
        #expect(throws: SSHFormatError.malformed(.fingerprint)) {
            try SSHFingerprint(text.replacingOccurrences(of: "FP", with: digits))
        }
        #expect(SSHFingerprint(bytes: Data(count: 31)) == nil && SSHFingerprint(bytes: Data(count: 33)) == nil)
    }

    // MARK: signatures

    @Test(arguments: types.keys.sorted()) func `signatures of ssh-agent are valid, but RSA with SHA-1 is not known`(
        _ name: String
    ) throws {
        let host = try #require(Self.vectors.hosts[name])
        for blob in [host.key, host.cert] {
            let key = try SSHPublicKey(blob: blob)
            for (kind, bytes) in host.sigs {
                let signature = try SSHSignature(blob: bytes)
                #expect(signature.blob == bytes)
                guard kind != "sha1" else {
                    #expect(signature.name == "ssh-rsa")
                    #expect(throws: SSHFormatError.unsupported(.signatureType)) {
                        try key.isValid(signature, of: Self.vectors.sessionID)
                    }
                    continue
                }
                #expect(try key.isValid(signature, of: Self.vectors.sessionID), "\(kind)")
                #expect(try !key.isValid(signature, of: Self.vectors.sessionID + [0]))
                #expect(try !key.isValid(signature, of: Data()))
            }
        }
    }

    @Test(arguments: types.keys.sorted()) func `a signature with a changed bit, a byte less or more is none`(
        _ name: String
    ) throws {
        let host = try #require(Self.vectors.hosts[name])
        let key = try SSHPublicKey(blob: host.key)
        let blob = try #require(host.sigs["sha512"] ?? host.sigs[""])
        for bytes in Spoiled.bits(of: blob, atMost: 400) + Spoiled.lengths(of: blob) {
            let isValid = try? key.isValid(SSHSignature(blob: bytes), of: Self.vectors.sessionID)
            #expect(isValid != true)
        }
    }

    @Test func `a signature counts for its own key only`() throws {
        let hosts = Self.vectors.hosts
        for (name, host) in hosts {
            let signature = try SSHSignature(blob: #require(host.sigs["sha256"] ?? host.sigs[""]))
            for (other, another) in hosts where other != name {
                let isValid = try? SSHPublicKey(blob: another.key).isValid(signature, of: Self.vectors.sessionID)
                #expect(isValid != true, "\(name) \(other)")
            }
        }
    }

    @Test func `a raw signature of P-256 becomes two numbers`() throws {
        let key = P256.Signing.PrivateKey()
        let message = Data("message".utf8)
        for _ in 0..<20 {
            let raw = try key.signature(for: message).rawRepresentation
            let signature = try SSHSignature(p256: raw)
            #expect(signature.name == "ecdsa-sha2-nistp256")
            let isValid = try SSHPublicKey(p256: key.publicKey.x963Representation)
                .isValid(SSHSignature(blob: signature.blob), of: message)
            #expect(isValid)
        }
        #expect(throws: SSHFormatError.malformed(.signature)) { try SSHSignature(p256: Data(count: 63)) }
    }
}
