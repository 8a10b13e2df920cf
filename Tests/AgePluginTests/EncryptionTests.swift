import Crypto
import Foundation
import SecretMemory
import Testing

@testable import AgePlugin

@Suite struct EncryptionTests {
    private let keys = PlayedKeys()

    private func open(_ stanza: TaggedStanza, _ identity: AgeIdentity) throws -> Data {
        try keys.authorize(identity, fileCount: 1)
        return Data(exposing: try stanza.open(with: identity, keys))
    }

    @Test(arguments: TaggedKind.allCases) func `what is wrapped opens with the key, and with no other`(kind: TaggedKind)
        throws
    {
        let identity = try keys.make(kind)
        let stanza = try keys.recipient(of: identity).wrap(SecretBytes(fileKey))
        #expect(try open(stanza, identity) == fileKey)
        let other = try keys.make(kind)
        #expect(throws: UnopenableStanza.self) { try open(stanza, other) }
        let again = try keys.recipient(of: identity).wrap(SecretBytes(fileKey))
        #expect(again.encapsulated != stanza.encapsulated && again.ciphertext != stanza.ciphertext)
    }

    @Test(arguments: TaggedKind.allCases) func `a changed byte of the key's encryption does not open`(kind: TaggedKind)
        throws
    {
        let identity = try keys.make(kind)
        let stanza = try keys.recipient(of: identity).wrap(SecretBytes(fileKey))
        for index in stanza.ciphertext.indices {
            var changed = stanza.ciphertext
            changed[index] ^= 1
            let other = TaggedStanza(
                kind, tag: stanza.tag, encapsulated: stanza.encapsulated, ciphertext: changed)
            #expect(throws: UnopenableStanza.self) { try open(other, identity) }
        }
        // The point of another sender, and in a hybrid stanza a changed encapsulation.
        let foreign = try keys.recipient(of: identity).wrap(SecretBytes(fileKey))
        let point = TaggedStanza(
            kind, tag: stanza.tag, encapsulated: stanza.encapsulated.dropLast(65) + foreign.ephemeralKey,
            ciphertext: stanza.ciphertext)
        #expect(throws: UnopenableStanza.self) { try open(point, identity) }
        guard kind == .hybrid else { return }
        let lattice = TaggedStanza(
            kind, tag: stanza.tag, encapsulated: foreign.latticeCiphertext + stanza.ephemeralKey,
            ciphertext: stanza.ciphertext)
        #expect(throws: UnopenableStanza.self) { try open(lattice, identity) }
    }

    @Test func `a stanza for one purpose does not open for the other`() throws {
        let identity = try keys.make(.hybrid)
        let stanza = try keys.recipient(of: identity).wrap(SecretBytes(fileKey))
        let classic = TaggedStanza(
            .p256, tag: stanza.tag, encapsulated: stanza.ephemeralKey, ciphertext: stanza.ciphertext)
        #expect(throws: UnopenableStanza.self) { try open(classic, identity) }
        let half = AgeIdentity(curveKey: identity.curveKey, point: identity.point)
        #expect(throws: UnopenableStanza.self) { try open(stanza, half) }
    }

    // MARK: other implementations

    @Test func `another implementation of HPKE opens what is wrapped for P-256`() throws {
        struct Case: Encodable { let key, encapsulated, ciphertext: String }
        let identity = try keys.make(.p256)
        let stanza = try keys.recipient(of: identity).wrap(SecretBytes(fileKey))
        let key = try #require(keys.privateKey(of: identity))
        let opened = try PythonHPKE.run(
            """
            key, enc = read_key(data("key")), data("encapsulated")
            secret = shared(key.exchange(ec.ECDH(), read_point(enc)), enc, point(key.public_key()))
            box, nonce = cipher(secret, b"age-encryption.org/p256tag")
            result = box.decrypt(nonce, data("ciphertext"), b"")
            """,
            Case(
                key: key.rawRepresentation.base64EncodedString(),
                encapsulated: stanza.encapsulated.base64EncodedString(),
                ciphertext: stanza.ciphertext.base64EncodedString()))
        #expect(opened == fileKey)
    }

    @Test func `what another implementation of HPKE wraps for P-256 opens`() throws {
        struct Case: Encodable { let recipient, fileKey: String }
        let identity = try keys.make(.p256)
        let wrapped = try PythonHPKE.run(
            """
            key, recipient = ec.generate_private_key(ec.SECP256R1()), data("recipient")
            enc = point(key.public_key())
            secret = shared(key.exchange(ec.ECDH(), read_point(recipient)), enc, recipient)
            box, nonce = cipher(secret, b"age-encryption.org/p256tag")
            result = enc + box.encrypt(nonce, data("fileKey"), b"")
            """,
            Case(
                recipient: identity.point.uncompressed.base64EncodedString(), fileKey: fileKey.base64EncodedString()))
        let encapsulated = Data(wrapped.prefix(65))
        let stanza = TaggedStanza(
            .p256, tag: identity.point.tag(.p256, encapsulated), encapsulated: encapsulated,
            ciphertext: Data(wrapped.dropFirst(65)))
        #expect(try open(stanza, identity) == fileKey)
    }

    @Test func `the hybrid secret and its key schedule are those of the published vector`() throws {
        let lattice = try MLKEM768.PrivateKey(seedRepresentation: HybridVector.latticeSeed, publicKey: nil)
        let curve = try P256.KeyAgreement.PrivateKey(rawRepresentation: HybridVector.curveKey)
        let point = curve.publicKey.x963Representation
        #expect(lattice.publicKey.rawRepresentation + point == HybridVector.publicKey)

        let ephemeral = Data(HybridVector.encapsulated.suffix(65))
        let agreed = try curve.sharedSecretFromKeyAgreement(with: .init(x963Representation: ephemeral))
        let secret = HybridSecret.combine(
            lattice: SecretBytes(try lattice.decapsulate(HybridVector.encapsulated.dropLast(65))),
            curve: SecretBytes(SymmetricKey(data: agreed)), ephemeral: ephemeral, recipient: point)
        #expect(Data(exposing: secret) == HybridVector.sharedSecret)

        let suite = KeySchedule.Suite(encapsulation: 0x0050, encryption: 0x0001, keyByteCount: 16)
        let schedule = KeySchedule(suite, sharedSecret: secret, info: HybridVector.info)
        #expect(schedule.key.withUnsafeBytes { Data($0) } == HybridVector.key)
        #expect(schedule.nonce == HybridVector.nonce)
    }
}

@Suite struct AgeTextTests {
    private let keys = PlayedKeys()

    /// C2SP age, "The tagged recipient types".
    @Test func `the specification's recipient is read, and written the same`() throws {
        let text = "age1tag1qt8lw0ual6avlwmwatk888yqnmdamm7xfd0wak53ut6elz5c4swx2yqdj4e"
        let recipient = try AgeRecipient(text)
        #expect(recipient.kind == .p256 && recipient.text == text && recipient.labels.isEmpty)
        #expect(try AgeRecipient(recipient.pluginText) == recipient)
    }

    @Test(arguments: TaggedKind.allCases) func `recipients and identities come back from their texts`(kind: TaggedKind)
        throws
    {
        let identity = try keys.make(kind)
        let recipient = keys.recipient(of: identity)
        #expect(recipient.text.hasPrefix(kind == .p256 ? "age1tag1" : "age1tagpq1"))
        #expect(recipient.pluginText.hasPrefix("age1ostiary1"))
        for text in [recipient.text, recipient.pluginText] { #expect(try AgeRecipient(text) == recipient) }
        #expect(throws: AgeTextError.foreign) { try AgeRecipient(recipient.text.uppercased()) }
        #expect(identity.text.hasPrefix("AGE-PLUGIN-OSTIARY-1"))
        #expect(try AgeIdentity(identity.text) == identity)
        #expect(try AgeIdentity(identity.text.lowercased()) == identity)
    }

    private func text(_ prefix: String, _ bytes: Data) -> String { Bech32.encode(prefix: prefix, Array(bytes)) }

    @Test func `texts of others and changed ones are no recipients`() throws {
        let (curve, hybrid) = (keys.recipient(of: try keys.make(.p256)), keys.recipient(of: try keys.make(.hybrid)))
        let point = curve.point.compressed
        let both = try #require(hybrid.latticeKey) + hybrid.point.uncompressed
        func refused(_ text: String, _ error: AgeTextError) { #expect(throws: error) { try AgeRecipient(text) } }
        refused("age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj", .foreign)
        refused(text("age1yubikey", point), .foreign)
        refused(text("age1tag", Data([5]) + point.dropFirst()), .publicKey)
        refused(text("age1tag", curve.point.uncompressed), .publicKey)
        refused(text("age1tag", point.dropLast()), .publicKey)
        refused(text("age1tag", Data()), .publicKey)
        refused(text("age1tagpq", point), .publicKey)
        refused(text("age1tagpq", both.dropLast()), .publicKey)
        refused(text("age1tagpq", both + [0]), .publicKey)
        // Numbers that are not below ML-KEM's modulus.
        refused(text("age1tagpq", Data(repeating: 0xff, count: 1184) + hybrid.point.uncompressed), .publicKey)
        refused(text("age1ostiary", Data()), .publicKey)
        refused("", .encoding(.separator))
        refused(String(curve.text.dropLast()), .encoding(.checksum))
    }

    @Test func `texts of others and changed ones are no identities`() throws {
        let identity = try keys.make(.hybrid)
        let bytes = Data(try Bech32.decode(identity.text).bytes)
        let prefix = "AGE-PLUGIN-OSTIARY-"
        func refused(_ text: String, _ error: AgeTextError) { #expect(throws: error) { try AgeIdentity(text) } }
        for count in 0..<bytes.count { refused(text(prefix, bytes.prefix(count)), .size) }
        refused(text(prefix, bytes + [0]), .size)
        refused(text(prefix, Data([2]) + bytes.dropFirst()), .version)
        refused(text(prefix, Data([1, 3]) + bytes.dropFirst(2)), .version)
        refused(text(prefix, Data([1, 1]) + bytes.dropFirst(2)), .size)
        refused(text(prefix, bytes.dropLast(33) + Data(repeating: 9, count: 33)), .publicKey)
        refused(text("AGE-PLUGIN-YUBIKEY-", bytes), .foreign)
        refused("AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX", .foreign)
    }
}
