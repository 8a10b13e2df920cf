import Crypto
import Foundation
import IndependentTools
import KeyAlgorithms
import SecretMemory
import Testing

@Suite struct ECIESTests {
    let recipient = P256.KeyAgreement.PrivateKey()
    var publicKey: P256PublicKey { get throws { try P256PublicKey(x963: recipient.publicKey.x963Representation) } }
    static let plaintext = Data("attack at dawn".utf8)

    private func encrypt(_ plaintext: Data, _ name: String) throws -> Data {
        try ECIES.encrypt(plaintext, to: publicKey, algorithm: KeyAlgorithm(name))
    }

    private func decrypt(
        _ ciphertext: Data, _ name: String, _ key: P256.KeyAgreement.PrivateKey? = nil
    ) throws -> Data {
        let key = key ?? recipient
        return try Data(ECIES.decrypt(ciphertext, algorithm: KeyAlgorithm(name), sharedSecret: key.rawAgreement))
    }

    // MARK: Vectors

    @Test(arguments: ECIESVector.all) func `a known ciphertext gives the known plaintext`(vector: ECIESVector) throws {
        #expect(try decrypt(vector.bytes, vector.algorithm, vector.key) == ECIESVector.plaintext)
        #expect(try decrypt(vector.bytes.asSlice, vector.algorithm, vector.key) == ECIESVector.plaintext)
    }

    @Test(arguments: ECIESVector.variableIV) func `the shared secret is the known one`(vector: ECIESVector) throws {
        let envelope = try ECIES.Envelope(vector.bytes, algorithm: KeyAlgorithm(vector.algorithm))
        let secret = try vector.key.sharedSecret(with: envelope.ephemeralKey)
        #expect(Data(secret) == Data(hex: ECIESVector.variableIVSharedSecret))
    }

    @Test(arguments: ECIESVector.all) func `every other algorithm but the twin fails`(vector: ECIESVector) throws {
        let names = Set(
            [vector.algorithm, vector.algorithm.replacing("ECDHC", with: "ECDH")]
                + [vector.algorithm.replacing("ECDH:", with: "ECDHC:")])
        for name in AlgorithmStrings.encryptions where !names.contains(name) {
            #expect(throws: KeyAlgorithmError.decryptionFailed, "\(name)") {
                try decrypt(vector.bytes, name, vector.key)
            }
        }
        for name in names { #expect(try decrypt(vector.bytes, name, vector.key) == ECIESVector.plaintext) }
        #expect(names.count == 2)
    }

    @Test(arguments: ECIESVector.all) func `every flipped bit is refused`(vector: ECIESVector) throws {
        let key = try vector.key
        for index in 0..<vector.bytes.count {
            for bit in 0..<8 {
                #expect(throws: KeyAlgorithmError.decryptionFailed, "byte \(index), bit \(bit)") {
                    try decrypt(vector.bytes.flipping(bit: bit, ofByte: index), vector.algorithm, key)
                }
            }
        }
    }

    @Test(arguments: ECIESVector.all) func `every truncation and any more bytes are refused`(vector: ECIESVector) throws
    {
        let key = try vector.key
        for count in 0..<vector.bytes.count {
            #expect(throws: KeyAlgorithmError.decryptionFailed, "\(count) bytes") {
                try decrypt(vector.bytes.prefix(count), vector.algorithm, key)
            }
        }
        for extended in [vector.bytes + Data([0]), Data([4]) + vector.bytes] {
            #expect(throws: KeyAlgorithmError.decryptionFailed) { try decrypt(extended, vector.algorithm, key) }
        }
    }

    // MARK: Round trips

    @Test(arguments: AlgorithmStrings.encryptions, [0, 1, 15, 16, 17, 1000])
    func `what is encrypted can be decrypted`(name: String, count: Int) throws {
        let plaintext = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let ciphertext = try encrypt(plaintext, name)
        #expect(ciphertext.count == count + 81)
        #expect(try decrypt(ciphertext, name) == plaintext)
    }

    @Test(arguments: AlgorithmStrings.encryptions) func `two encryptions share no bytes of key or text`(name: String)
        throws
    {
        let (first, second) = try (encrypt(Self.plaintext, name), encrypt(Self.plaintext, name))
        #expect(first.prefix(65) != second.prefix(65))
        #expect(first.dropFirst(65) != second.dropFirst(65))
    }

    @Test(arguments: AlgorithmStrings.encryptions) func `another key cannot decrypt`(name: String) throws {
        let ciphertext = try encrypt(Self.plaintext, name)
        #expect(throws: KeyAlgorithmError.decryptionFailed) {
            try decrypt(ciphertext, name, P256.KeyAgreement.PrivateKey())
        }
    }

    @Test func `the bytes of a secret can be lent`() throws {
        let secret = SecretBytes(Self.plaintext)
        let algorithm = KeyAlgorithm(AlgorithmStrings.encryptions[0])
        let ciphertext = try secret.withUnsafeBytes { try ECIES.encrypt($0, to: publicKey, algorithm: algorithm) }
        #expect(try decrypt(ciphertext, algorithm.rawValue) == Self.plaintext)
    }

    // MARK: Another implementation

    private struct PythonCase: Codable {
        let hash: String
        let variableIV: Bool
        let scalar: Data
        let ciphertext: Data
        let plaintext: Data
    }

    private struct PythonAnswer: Codable {
        let plaintext: Data
        let ciphertext: Data
    }

    @Test func `Python decrypts what we encrypt and we decrypt what it encrypts`() throws {
        let cases = try AlgorithmStrings.encryptions.map { name in
            PythonCase(
                hash: String(name.split(separator: ":")[5]), variableIV: name.hasSuffix("KDFIV"),
                scalar: recipient.rawRepresentation, ciphertext: try encrypt(Self.plaintext, name),
                plaintext: Data(name.utf8))
        }
        let answers = try IndependentTool.python(Self.script, cases, returning: [PythonAnswer].self)
        for (name, answer) in zip(AlgorithmStrings.encryptions, answers) {
            #expect(answer.plaintext == Self.plaintext, "\(name)")
            #expect(try decrypt(answer.ciphertext, name) == Data(name.utf8), "\(name)")
        }
        #expect(answers.count == 18)
    }

    private static let script = """
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.kdf.x963kdf import X963KDF
        curve = ec.SECP256R1()

        def keys(case, z, e):
            size = 32 if case["variableIV"] else 16
            material = X963KDF(getattr(hashes, case["hash"])(), size, e).derive(z)
            return AESGCM(material[:16]), (material[16:] if case["variableIV"] else bytes(16))

        def answer(case):
            key = ec.derive_private_key(int.from_bytes(base64.b64decode(case["scalar"]), "big"), curve)
            text = base64.b64decode(case["ciphertext"])
            peer = ec.EllipticCurvePublicKey.from_encoded_point(curve, text[:65])
            aead, iv = keys(case, key.exchange(ec.ECDH(), peer), text[:65])
            plaintext = aead.decrypt(iv, text[65:], None)
            own = ec.generate_private_key(curve)
            e = own.public_key().public_bytes(
                serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
            aead, iv = keys(case, own.exchange(ec.ECDH(), key.public_key()), e)
            ciphertext = e + aead.encrypt(iv, base64.b64decode(case["plaintext"]), None)
            encode = lambda data: base64.b64encode(data).decode()
            return {"plaintext": encode(plaintext), "ciphertext": encode(ciphertext)}

        print(json.dumps([answer(case) for case in cases]))
        """

    // MARK: Refusals

    @Test(arguments: AlgorithmStrings.signatures + AlgorithmStrings.keyExchanges + AlgorithmStrings.rsaEncryptions)
    func `an algorithm that is not ECIES is refused`(name: String) {
        #expect(throws: KeyAlgorithmError.unsupportedAlgorithm) { try encrypt(Self.plaintext, name) }
        #expect(throws: KeyAlgorithmError.unsupportedAlgorithm) { try decrypt(Data(count: 100), name) }
    }

    @Test func `the limits are inclusive and fit each other`() throws {
        let name = AlgorithmStrings.encryptions[0]
        let plaintext = Data(count: KeyAlgorithmLimits.plaintext)
        let ciphertext = try encrypt(plaintext, name)
        #expect(ciphertext.count == KeyAlgorithmLimits.ciphertext)
        #expect(try decrypt(ciphertext, name) == plaintext)
        #expect(throws: KeyAlgorithmError.invalidParameter(.plaintextLength)) {
            try encrypt(plaintext + Data([0]), name)
        }
        #expect(throws: KeyAlgorithmError.invalidParameter(.ciphertextLength)) {
            try decrypt(ciphertext + Data([0]), name)
        }
    }

    @Test(arguments: P256PublicKeyTests.refusedPoints.filter { $0.1.count >= 65 })
    func `a malformed ciphertext is refused before the key is used`(name: String, point: Data) {
        var uses = 0
        for ciphertext in [Data(point.prefix(65)) + Data(count: 32), Data(point.prefix(65)), Data()] {
            // The two refused values that begin with a whole point are refused by the tag alone.
            guard ciphertext.prefix(65) != P256PublicKeyTests.point else { continue }
            #expect(throws: KeyAlgorithmError.decryptionFailed) {
                _ = try ECIES.decrypt(ciphertext, algorithm: KeyAlgorithm(AlgorithmStrings.encryptions[0])) { peer in
                    uses += 1
                    return try recipient.rawAgreement(peer)
                }
            }
        }
        #expect(uses == 0)
    }

    private struct Cancelled: Error {}

    @Test func `what the private operation throws goes through`() throws {
        let algorithm = KeyAlgorithm(AlgorithmStrings.encryptions[0])
        let ciphertext = try encrypt(Self.plaintext, algorithm.rawValue)
        #expect(throws: Cancelled.self) {
            _ = try ECIES.decrypt(ciphertext, algorithm: algorithm) { _ in throw Cancelled() }
        }
    }

    @Test(arguments: AlgorithmStrings.encryptions, [0, 16, 31, 33])
    func `a shared secret of another length is refused`(name: String, count: Int) throws {
        let envelope = try ECIES.Envelope(encrypt(Self.plaintext, name), algorithm: KeyAlgorithm(name))
        #expect(throws: KeyAlgorithmError.computationFailed) {
            _ = try envelope.open(sharedSecret: SecretBytes(zeroed: count))
        }
    }
}
