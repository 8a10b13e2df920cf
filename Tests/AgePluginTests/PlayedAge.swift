import Crypto
import Foundation
import SecretMemory
import Synchronization
import Testing
import UnixSocket

@testable import AgePlugin

/// What age says to the plugin, written down beforehand, and what the plugin said.
final class PlayedAge: StanzaStream {
    private struct State {
        var input: ArraySlice<UInt8>
        var output: [UInt8] = []
    }

    private let state: Mutex<State>
    /// How much one read gives at most.
    private let portion: Int

    /// - Parameter answers: to what the plugin says.
    init(_ commands: String, answers: String = String(repeating: "-> ok\n\n", count: 64), portion: Int = .max) {
        state = Mutex(State(input: Array((commands + answers).utf8)[...]))
        self.portion = portion
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemCallError) -> Int {
        state.withLock { state in
            let part = state.input.prefix(min(portion, buffer.count))
            buffer.copyBytes(from: part)
            state.input = state.input.dropFirst(part.count)
            return part.count
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemCallError) { state.withLock { $0.output += bytes } }

    var output: String { state.withLock { String(decoding: $0.output, as: UTF8.self) } }

    /// The messages of the plugin: words, and body.
    var said: [Said] {
        get throws {
            var reader = StanzaReader(PlayedAge(output, answers: ""))
            var said: [Said] = []
            while true {
                do {
                    let stanza = try reader.next()
                    said.append(Said(words: stanza.words.joined(separator: " "), body: Data(exposing: stanza.body)))
                } catch StanzaError.ended(isWithin: false) { return said }
            }
        }
    }
}

struct Said: Equatable, CustomStringConvertible {
    let words: String
    let body: Data
    var text: String { String(decoding: body, as: UTF8.self) }
    var description: String { "\(words): \(text)" }
}

/// The text of a stanza.
func text(_ words: String..., body: Data = Data()) -> String { text(words, body: body) }

func text(_ words: [String], body: Data = Data()) -> String {
    let text = Stanza(words, body: SecretBytes(body)).text
    return String(decoding: Data(exposing: text), as: UTF8.self)
}

extension TaggedStanza {
    /// As age hands it on.
    func command(ofFile index: Int) -> String {
        text(["recipient-stanza", "\(index)"] + words, body: ciphertext)
    }
}

let done = text("done")
let fileKey = Data("a file's own key".utf8)

/// Keys in memory, in the place of the enclave's.
final class PlayedKeys: IdentityKeys, RecipientSource {
    /// Why a question was answered with no.
    struct Refused: Error, CustomStringConvertible { let description: String }

    private struct State {
        var curves: [Data: P256.KeyAgreement.PrivateKey] = [:]
        var lattices: [Data: MLKEM768.PrivateKey] = [:]
        var refused: [Data: String] = [:]
        var questions: [(key: Data, fileCount: Int)] = []
        var usable: Set<Data> = []
    }

    private let state = Mutex(State())

    /// Makes a key, and gives its identity.
    func make(_ kind: TaggedKind) throws -> AgeIdentity {
        let (curve, lattice) = (P256.KeyAgreement.PrivateKey(), try MLKEM768.PrivateKey())
        let point = try #require(TaggedPoint(uncompressed: curve.publicKey.x963Representation))
        let names = (Data(exposing: SecretBytes(random: 16)), Data(exposing: SecretBytes(random: 16)))
        state.withLock { ($0.curves[names.0], $0.lattices[names.1]) = (curve, lattice) }
        return AgeIdentity(curveKey: names.0, latticeKey: kind == .hybrid ? names.1 : nil, point: point)
    }

    func refuse(_ identity: AgeIdentity, _ explanation: String) {
        state.withLock { $0.refused[identity.curveKey] = explanation }
    }

    /// The number of files that each question named.
    func questions(for identity: AgeIdentity) -> [Int] {
        state.withLock { $0.questions.filter { $0.key == identity.curveKey }.map(\.fileCount) }
    }

    var questionCount: Int { state.withLock { $0.questions.count } }

    func privateKey(of identity: AgeIdentity) -> P256.KeyAgreement.PrivateKey? {
        state.withLock { $0.curves[identity.curveKey] }
    }

    func recipient(of identity: AgeIdentity) -> AgeRecipient {
        let lattice = identity.latticeKey.flatMap { name in state.withLock { $0.lattices[name] } }
        return AgeRecipient(identity.point, latticeKey: lattice?.publicKey.rawRepresentation)
    }

    func authorize(_ identity: AgeIdentity, fileCount: Int) throws {
        try state.withLock { state in
            state.questions.append((identity.curveKey, fileCount))
            if let refused = state.refused[identity.curveKey] { throw Refused(description: refused) }
            state.usable.formUnion(identity.keys)
        }
    }

    func agree(_ key: Data, with publicKey: Data) throws -> SecretBytes {
        let curve = try #require(state.withLock { $0.usable.contains(key) ? $0.curves[key] : nil })
        let agreed = try curve.sharedSecretFromKeyAgreement(with: .init(x963Representation: publicKey))
        return SecretBytes(SymmetricKey(data: agreed))
    }

    func decapsulate(_ encapsulated: Data, with key: Data) throws -> SecretBytes {
        let lattice = try #require(state.withLock { $0.usable.contains(key) ? $0.lattices[key] : nil })
        return SecretBytes(try lattice.decapsulate(encapsulated))
    }
}
