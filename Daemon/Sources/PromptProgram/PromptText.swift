import DirectionalText
public import PromptProtocol

/// The words of a question, the same for every front end.
public struct PromptText {
    let request: PromptRequest
    /// How many objects are named at most; the others are only counted.
    let namedObjectCount: Int
    private var question: PromptQuestion { request.question }

    public init(request: PromptRequest, namedObjectCount: Int = PromptObjects.maximumNameCount) {
        (self.request, self.namedObjectCount) = (request, namedObjectCount)
    }

    /// Who asks, and for what: Ostiary, not the program.
    public var heading: String {
        switch question.kind {
        case .enterPasscode: "Ostiary asks for your passcode\(Self.alternatives(sensors))."
        case .newPasscode: "Ostiary asks for a new passcode."
        case .repeatPasscode: "Ostiary asks for the new passcode again."
        case .applicationPassword: "Ostiary asks for the password of this item, not for your passcode."
        case .newApplicationPassword: "Ostiary asks for a new password for this item, not for your passcode."
        case .repeatApplicationPassword: "Ostiary asks for the item's new password again, not for your passcode."
        case .keyPIN: "Ostiary asks for the PIN of your security key, not for your passcode."
        case .newKeyPIN: "Ostiary asks for a new PIN for your security key, not for your passcode."
        case .repeatKeyPIN: "Ostiary asks for the security key's new PIN again, not for your passcode."
        case .ownerPassword: "Ostiary asks for the TPM's owner password, not for your passcode."
        case .newSign: "Ostiary asks for a new sign of yours, not for your passcode."
        case .choice: "Ostiary asks you to choose."
        case .confirmation: "Ostiary asks you to confirm."
        case .sensor: "Ostiary asks for \(sensors.map { Self.noun(of: $0.kind) }.joined(separator: " or "))."
        }
    }

    /// Devices that the person may use instead of typing.
    public var sensors: [PromptSensor] { question.sensors }

    public var isTyped: Bool { question.kind.isTyped }

    /// Whether a typed text is no secret.
    public var isShownWhileTyped: Bool { question.kind == .newSign }

    /// The choices, in order.
    public var options: [String] { question.kind.options.map(\.string.isolated) }

    private static func alternatives(_ sensors: [PromptSensor]) -> String {
        sensors.map { " or \(noun(of: $0.kind))" }.joined()
    }

    private static func noun(of kind: PromptSensor.Kind) -> String {
        switch kind {
        case .finger: "your finger"
        case .face: "your face"
        case .securityKey: "your security key"
        }
    }

    /// For how long the answer may count, in the order of the numbers that the daemon is told; empty where there is no choice.
    public var terms: [String] {
        // An answer that the process keeps counts for more than one use.
        let shortest = question.isKept ? "for this run of the program" : "once"
        return question.terms.isEmpty ? [] : [shortest] + question.terms.map(Self.words)
    }

    /// Where an answer counts that counts more than once; nil for everywhere, and where there is no choice.
    public var termPlace: String? {
        guard !question.terms.isEmpty else { return nil }
        return switch question.termPlace {
        case .terminal?: "Only in the program's terminal."
        case .session?: "Only in the program's session."
        case nil: nil
        }
    }

    private static func words(of term: PromptTerm) -> String {
        switch term {
        case .seconds(let count) where count.isMultiple(of: 60):
            count == 60 ? "for 1 minute" : "for \(count / 60) minutes"
        case .seconds(let count): "for \(count) seconds"
        case .uses(let count): "\(count) times"
        }
    }

    /// What begins a sensor's line.
    public static func label(of kind: PromptSensor.Kind) -> String {
        switch kind {
        case .finger: "Finger"
        case .face: "Face"
        case .securityKey: "Key"
        }
    }

    /// The name of the field.
    public var field: String {
        switch question.kind {
        case .enterPasscode: "Passcode"
        case .newPasscode: "New passcode"
        case .repeatPasscode: "Repeat new passcode"
        case .applicationPassword: "Item password"
        case .newApplicationPassword: "New item password"
        case .repeatApplicationPassword: "Repeat new item password"
        case .keyPIN: "PIN of the security key"
        case .newKeyPIN: "New PIN of the security key"
        case .repeatKeyPIN: "Repeat the new PIN"
        case .ownerPassword: "Owner password of the TPM"
        case .newSign: "New sign"
        case .choice: "Number"
        case .confirmation: "Type yes to go on"
        case .sensor: "Waiting"
        }
    }

    /// Something that the daemon vouches for.
    public struct Fact {
        public let label: String
        /// Before the text, and short.
        public var lead = ""
        public let text: String
        /// Behind the text, and short.
        public var detail = ""
        /// Whether the text is Ostiary's own. The only foreign words in it are names that were checked before.
        public var isOfOstiary = false
    }

    public var facts: [Fact] {
        var facts = [
            Fact(label: "Program", text: request.program.string.isolated, detail: " (process \(request.processID))")
        ]
        if let application = request.application {
            facts.append(Fact(label: "Known as", text: application.string.isolated))
        }
        if let label = request.label { facts.append(Fact(label: "Identity", text: label.words, isOfOstiary: true)) }
        if let door = request.door { facts.append(Fact(label: "Through", text: door.string.isolated)) }
        if let label = request.clientLabel {
            facts.append(Fact(label: "Named", lead: "“", text: Self.quotable(label), detail: "”, not checked"))
        }
        if let objects = question.objects { facts.append(fact(of: objects)) }
        facts.append(Fact(label: "To", text: question.operation.string.isolatingQuotations, isOfOstiary: true))
        if let signed = question.signedData { facts += Self.facts(of: signed) }
        if let consequence = question.consequence {
            facts.append(Fact(label: "Note", text: consequence.string.isolatingQuotations, isOfOstiary: true))
        }
        return facts
    }

    private static func facts(of signed: PromptSignedData) -> [Fact] {
        let data =
            switch signed.form {
            case .text(let text): [Fact(label: "Signs", lead: "the text “", text: text.string.isolated, detail: "”")]
            case .data(let count):
                [
                    Fact(
                        label: "Signs",
                        text: "\(count) \(count == 1 ? "byte" : "bytes") of data, which cannot be shown",
                        isOfOstiary: true)
                ]
            case .digestOnly:
                [Fact(label: "Signs", text: "a digest only; the program keeps the data to itself", isOfOstiary: true)]
            case .ssh(let facts): facts.facts
            }
        return data + [Fact(label: "SHA-256", text: signed.digest.string, isOfOstiary: true)]
    }

    /// One object is named as it is. Of several objects the number comes first, then as many names as are wanted, in
    /// quotation marks, so that no name looks like two, and the number of the others.
    private func fact(of objects: PromptObjects) -> Fact {
        guard objects.count > 1 else { return Fact(label: "For", text: objects.names[0].string.isolated) }
        let named = objects.names.prefix(max(1, namedObjectCount)).map(\.string.isolated)
        let others = objects.count - named.count
        return Fact(
            label: "For", lead: "\(objects.count) \(objects.noun.rawValue)s: “",
            text: others == 0 && named.count > 1
                ? named.dropLast().joined(separator: "”, “") + "” and “" + named[named.count - 1]
                : named.joined(separator: "”, “"),
            detail: others == 0 ? "”" : "” and \(others) more")
    }

    /// The program's reason, which must be quoted.
    public var reason: (label: String, words: String)? {
        guard let reason = question.reason, !reason.isEmpty else { return nil }
        return ("It says", Self.quotable(reason))
    }

    /// A program's words without marks that would end a quotation.
    static func quotable(_ words: DisplayText) -> String {
        String(words.string.map { "“”„‟".contains($0) ? "\"" : $0 }).isolated
    }

    /// Everything but the field and the sensors' states, for a voice.
    public var spoken: String {
        let facts = facts.map { "\($0.label): \($0.lead)\($0.text)\($0.detail)." }
        let reason = reason.map { "\($0.label): “\($0.words)”." }
        let options = options.enumerated().map { "\($0.offset + 1): \($0.element)." }
        let terms = terms.isEmpty ? nil : "Your answer counts \(terms.joined(separator: ", or "))."
        return ([heading] + facts + options + [reason, terms, warning, hint, notice].compactMap(\.self)).joined(
            separator: " ")
    }

    public var warning: String? {
        if case .confirmation(let warning) = question.kind { warning.string.isolatingQuotations } else { nil }
    }

    /// The rule for the entry.
    public var hint: String? { question.hint?.string.isolatingQuotations }

    /// The mistake in the last try, and the outcome of more of them.
    public var notice: String? {
        let tries: String? =
            switch question.triesLeft {
            case nil: nil
            case 1: "One try left."
            case let count?: "\(count) tries left."
            }
        let parts = [
            question.notice?.string.isolatingQuotations, question.missConsequence?.string ?? tries,
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    /// Whether the notice is about a mistake in this question, and not about tries before it.
    public var isMistake: Bool { question.notice != nil }

    /// The program's titles for cancelling and for the other way, which must be quoted.
    public var cancelTitle: String? { question.cancelTitle.map(Self.quotable) }
    public var fallbackTitle: String? { question.fallbackTitle.map(Self.quotable) }
}
