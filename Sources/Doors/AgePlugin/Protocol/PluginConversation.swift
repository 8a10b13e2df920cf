import SecretMemory

/// A secret that lists can hold.
final class HeldSecret: Sendable {
    let bytes: SecretBytes
    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// A fault of age against the protocol. It ends the conversation.
package enum ConversationError: Error, Equatable {
    /// What it said is no message.
    case malformed(StanzaError)
    /// A message of a known type has other arguments or another body than the protocol gives it.
    case message(type: String)
    /// There are more messages than any age sends.
    case tooMany
    /// It did not answer as the protocol says.
    case answer

    package var explanation: String {
        switch self {
        case .malformed(let error): "The program that started the plugin sent something wrong: \(error.explanation)."
        case .message(let type): "The program that started the plugin sent a malformed message “\(type)”."
        case .tooMany: "The program that started the plugin sent too many messages."
        case .answer: "The program that started the plugin did not answer as age does."
        }
    }
}

/// The messages between age and its plugin (C2SP age-plugin, "State machines"): first age speaks, then the plugin.
struct PluginConversation: ~Copyable {
    private var reader: StanzaReader
    private let stream: any StanzaStream

    init(_ stream: any StanzaStream) {
        reader = StanzaReader(stream)
        self.stream = stream
    }

    /// Reads age's messages up to `done` and lends each to `body`, which ignores those that it does not know.
    mutating func readCommands(_ body: (borrowing Stanza) throws -> Void) throws {
        for _ in 0..<StanzaLimits.stanzaCount {
            let command = try next()
            guard command.type != "done" else { return try command.requireForm(argumentCount: 0) }
            try body(command)
        }
        throw ConversationError.tooMany
    }

    /// Says something that age answers with a plain `ok`.
    mutating func say(_ words: [String], _ body: consuming SecretBytes = SecretBytes(zeroed: 0)) throws {
        try write(Stanza(words, body: body))
        let answer = try next()
        guard answer.type == "ok", answer.arguments.isEmpty, answer.body.isEmpty else { throw ConversationError.answer }
    }

    /// Says an error, which ends age's work. Its text is shown to the person.
    mutating func say(error: [String], _ explanation: String) throws {
        try say(["error"] + error, SecretBytes(copying: explanation.utf8))
    }

    /// Says that the plugin has nothing more to say.
    mutating func end() throws { try write(Stanza(["done"])) }

    private mutating func next() throws -> Stanza {
        do { return try reader.next() } catch let error as StanzaError { throw ConversationError.malformed(error) }
    }

    private func write(_ stanza: consuming Stanza) throws {
        let text = stanza.text
        try unsafe text.withUnsafeBytes { try unsafe stream.write($0) }
    }
}

extension Stanza {
    /// Refuses a message of a known type that has another number of arguments, or a body.
    borrowing func requireForm(argumentCount: Int) throws(ConversationError) {
        guard arguments.count == argumentCount, body.isEmpty else { throw .message(type: type) }
    }
}

extension SecretBytes {
    /// A copy of bytes that need no secrecy themselves.
    init(copying bytes: some Collection<UInt8>) {
        self.init(zeroed: bytes.count)
        unsafe withUnsafeMutableBytes { unsafe $0.copyBytes(from: bytes) }
    }
}
