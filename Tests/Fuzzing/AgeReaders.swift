import Crypto
import Foundation
import SecretMemory
import Synchronization
import UnixSocket

// Compiled by script/fuzz together with the readers and sessions of module AgePlugin.

/// What the plugin for age reads: its recipients and identities, and both of its conversations.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "age-text": { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let decoded = try? Bech32.decode(text) {
            let again = Bech32.encode(prefix: decoded.prefix, decoded.bytes)
            // A prefix without letters has no case.
            precondition(again.lowercased() == text.lowercased(), "the text has another encoding")
        }
        if let recipient = try? AgeRecipient(text) {
            precondition([recipient.text, recipient.pluginText].contains(text), "the recipient has another text")
        }
        if let identity = try? AgeIdentity(text) {
            precondition(identity.text == text.uppercased(), "the identity has another text")
        }
    },
    "age-stanzas": { bytes in
        var reader = StanzaReader(FuzzedAge(bytes))
        var rest = bytes[...]
        while true {
            do {
                let stanza = try reader.next()
                let text = Data(exposing: stanza.text)
                precondition(rest.starts(with: text), "the stanza has another text")
                rest = rest.dropFirst(text.count)
                _ = try? TaggedStanza(words: stanza.words[...], body: Data(exposing: stanza.body))
            } catch let error as StanzaError {
                precondition(!error.explanation.isEmpty, "a failure without words")
                return
            } catch { return }
        }
    },
    "age-encryption": { bytes in
        let age = FuzzedAge(bytes)
        try? RecipientSession.run(age, FixedKeys())
        precondition(age.hasTextOfStanzas, "the plugin said something that is no stanza")
    },
    "age-decryption": { bytes in
        let age = FuzzedAge(bytes)
        try? IdentitySession.run(age, FixedKeys())
        precondition(age.hasTextOfStanzas, "the plugin said something that is no stanza")
    },
]

/// An age that says these bytes, and does not listen to the plugin.
private final class FuzzedAge: StanzaStream {
    private let input: Mutex<ArraySlice<UInt8>>
    private let output = Mutex<[UInt8]>([])

    init(_ bytes: [UInt8]) { input = Mutex(bytes[...]) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemCallError) -> Int {
        input.withLock { input in
            let part = input.prefix(buffer.count)
            buffer.copyBytes(from: part)
            input = input.dropFirst(part.count)
            return part.count
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemCallError) { output.withLock { $0 += bytes } }

    var hasTextOfStanzas: Bool {
        var reader = StanzaReader(FuzzedAge(output.withLock { $0 }))
        while true {
            do { _ = try reader.next() } catch { return error as? StanzaError == .ended(isWithin: false) }
        }
    }
}

/// One key of each kind, always the same, so that inputs of the corpus open.
private struct FixedKeys: IdentityKeys, RecipientSource {
    private static let keys = Result {
        (
            curve: try P256.KeyAgreement.PrivateKey(rawRepresentation: Data(1...32)),
            lattice: try MLKEM768.PrivateKey(seedRepresentation: Data(0..<64), publicKey: nil)
        )
    }

    func authorize(_ identity: AgeIdentity, fileCount: Int) throws {
        precondition(fileCount > 0, "nobody is asked for nothing")
        guard try identity.point.uncompressed == Self.keys.get().curve.publicKey.x963Representation else {
            throw CancellationError()
        }
    }

    func recipient(of identity: AgeIdentity) throws -> AgeRecipient {
        guard identity.latticeKey != nil else { return AgeRecipient(identity.point) }
        return AgeRecipient(identity.point, latticeKey: try Self.keys.get().lattice.publicKey.rawRepresentation)
    }

    func agree(_ key: Data, with publicKey: Data) throws -> SecretBytes {
        let agreed = try Self.keys.get().curve.sharedSecretFromKeyAgreement(with: .init(x963Representation: publicKey))
        return SecretBytes(SymmetricKey(data: agreed))
    }

    func decapsulate(_ encapsulated: Data, with key: Data) throws -> SecretBytes {
        SecretBytes(try Self.keys.get().lattice.decapsulate(encapsulated))
    }
}
