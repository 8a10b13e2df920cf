import Foundation
import SecretMemory

/// The keys of the enclave as a session uses them.
protocol IdentityKeys: PrivateKeys {
    /// Makes the keys of `identity` usable; asks the person where their rule says so, once for all uses of the session.
    ///
    /// - Parameter fileCount: of the files that are to be decrypted, for the question.
    func authorize(_ identity: AgeIdentity, fileCount: Int) throws
}

/// Decryption: the plugin's side of `identity-v1` (C2SP age-plugin). However many files and stanzas there are, the person is asked once
/// for each identity that is needed.
struct IdentitySession: ~Copyable {
    private var conversation: PluginConversation
    private let keys: any IdentityKeys
    private var identities: [AgeIdentity] = []
    private var files: [File] = []

    /// The stanzas of one header that this plugin knows, by their places in the header.
    fileprivate struct File {
        let index: Int
        var stanzaCount = 0
        var stanzas: [(place: Int, stanza: TaggedStanza)] = []
        var faults: [Fault] = []
    }

    /// Why a stanza is to blame, and its place in the header.
    fileprivate struct Fault {
        let place: Int
        let explanation: String
    }

    /// Carries out one session. age is told which stanzas could not be decrypted, and why.
    static func run(_ stream: some StanzaStream, _ keys: some IdentityKeys) throws {
        var session = IdentitySession(stream, keys)
        guard try session.read() else { return try session.conversation.end() }
        try session.answer()
        try session.conversation.end()
    }

    private init(_ stream: some StanzaStream, _ keys: some IdentityKeys) {
        conversation = PluginConversation(stream)
        self.keys = keys
    }

    // MARK: what age says

    /// False when an identity is none: then no file may be decrypted, by the others neither.
    private mutating func read() throws -> Bool {
        var (texts, files) = ([String](), [File]())
        try conversation.readCommands { command in
            switch command.type {
            case "add-identity":
                try command.requireForm(argumentCount: 1)
                texts.append(command.words[1])
            case "recipient-stanza": try Self.add(command, to: &files)
            default: break
            }
        }
        self.files = files
        var areAllKnown = true
        for (index, text) in texts.enumerated() {
            do { identities.append(try AgeIdentity(text)) } catch {
                areAllKnown = false
                try conversation.say(
                    error: ["identity", "\(index)"], AgeIdentity.explanation(of: error, "decrypted"))
            }
        }
        return areAllKnown
    }

    private static func add(_ command: borrowing Stanza, to files: inout [File]) throws {
        let arguments = command.arguments
        guard arguments.count >= 2, let text = arguments.first, let index = Int(text), "\(index)" == text, index >= 0,
            index >= files.last?.index ?? 0
        else { throw ConversationError.message(type: command.type) }
        if files.last?.index != index { files.append(File(index: index)) }
        files[files.count - 1].add(arguments.dropFirst(), command.body)
    }

    // MARK: what the plugin says

    /// Why no file could be decrypted with an identity.
    private var failures: [Int: String] = [:]
    private var authorized: Set<Int> = []

    private mutating func answer() throws {
        var needed: Set<Int> = []
        for file in files {
            switch open(file) {
            case .opened(let fileKey):
                try conversation.say(["file-key", "\(file.index)"], SecretBytes(copying: fileKey.bytes))
            case .unopened(let faults, let candidates):
                for fault in faults {
                    try conversation.say(
                        error: ["stanza", "\(file.index)", "\(fault.place)"], fault.explanation)
                }
                needed.formUnion(candidates)
            }
        }
        // An identity that failed is none of age's business where another one opened all files.
        for (index, explanation) in failures.sorted(by: { $0.key < $1.key }) where needed.contains(index) {
            try conversation.say(error: ["identity", "\(index)"], explanation)
        }
    }

    // MARK: decryption

    /// The stanzas of a file, each with an identity that it is addressed to.
    private func candidates(for file: File) -> [Candidate] {
        var found: [Candidate] = []
        for (place, stanza) in file.stanzas {
            for (index, identity) in identities.enumerated()
            where identity.kind == stanza.kind && stanza.isAddressed(to: identity.point) {
                found.append(Candidate(place: place, stanza: stanza, identity: index))
            }
        }
        return found
    }

    private struct Candidate {
        let place: Int
        let stanza: TaggedStanza
        let identity: Int
    }

    private enum Outcome {
        case opened(HeldSecret)
        /// With the stanzas that are to blame, and the identities that the file is addressed to.
        case unopened([Fault], for: Set<Int>)
    }

    private mutating func open(_ file: File) -> Outcome {
        guard file.faults.isEmpty else { return .unopened(file.faults, for: []) }
        let candidates = candidates(for: file)
        var faults: [Fault] = []
        for candidate in candidates.prefix(StanzaLimits.attemptCount) {
            switch attempt(candidate.stanza, with: candidate.identity) {
            case .opened(let fileKey): return .opened(fileKey)
            case .unopenable: faults.append(Fault(place: candidate.place, explanation: Self.unopenable))
            case .failed: break
            }
        }
        return .unopened(faults, for: Set(candidates.map(\.identity)))
    }

    private static let unopenable =
        "The file says that it is for this key, and does not open with it. It was changed on its way, or is for another key; "
        + "get it again."

    private enum Attempt {
        case opened(HeldSecret)
        /// The stanza does not open with the key.
        case unopenable
        /// The key could not be used; ``failures`` says why.
        case failed
    }

    private mutating func attempt(_ stanza: TaggedStanza, with index: Int) -> Attempt {
        guard failures[index] == nil else { return .failed }
        let identity = identities[index]
        do {
            if authorized.insert(index).inserted { try keys.authorize(identity, fileCount: fileCount(for: index)) }
            return .opened(HeldSecret(try stanza.open(with: identity, keys)))
        } catch is UnopenableStanza { return .unopenable } catch {
            failures[index] = "\(error)"
            return .failed
        }
    }

    private func fileCount(for index: Int) -> Int {
        files.count { file in file.faults.isEmpty && candidates(for: file).contains { $0.identity == index } }
    }
}

extension IdentitySession.File {
    /// Notes a stanza of the header, if it is of a known type.
    fileprivate mutating func add(_ words: ArraySlice<String>, _ body: borrowing SecretBytes) {
        defer { stanzaCount += 1 }
        do {
            guard let stanza = try TaggedStanza(words: words, body: Data(exposing: body)) else { return }
            stanzas.append((stanzaCount, stanza))
        } catch { faults.append(IdentitySession.Fault(place: stanzaCount, explanation: error.explanation)) }
    }
}
