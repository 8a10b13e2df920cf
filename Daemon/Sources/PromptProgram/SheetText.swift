public import PromptProtocol

/// The words of a question in a window: title and facts, in the person's language. They say the same as ``PromptText`` does on
/// a terminal.
public struct SheetText {
    private let request: PromptRequest
    private let phrases: PhraseBook
    private let text: PromptText
    private var question: PromptQuestion { request.question }

    public init(request: PromptRequest, phrases: PhraseBook) {
        (self.request, self.phrases) = (request, phrases)
        text = PromptText(request: request)
    }

    // MARK: who asks

    /// The program's file name, or its whole name if that is no path.
    public var programName: String {
        let name = request.program.string
        guard name.hasPrefix("/"), let last = name.split(separator: "/").last else { return name }
        // A name of several words must not read on as a sentence.
        return last.contains(" ") ? "“\(last)”" : String(last)
    }

    /// Who wants what, such as "git wants to sign with 2fa". The program's name in it is ``isolatedName``.
    public var title: String {
        let operation = question.operation.string
        if let action = Self.actions[operation], let object = question.objects, object.count == 1 {
            return phrases(action, isolatedName, PhraseBook.isolated(object.names[0].string))
        }
        return phrases("%1 wants to %2", isolatedName, phrases.translated(operation))
    }

    public var isolatedName: String { PhraseBook.isolated(programName) }

    /// The operations whose title names the object.
    static let actions = [
        "sign once with the key of a right": "%1 wants to sign with %2",
        "sign once with a key": "%1 wants to sign with %2",
        "use the key and the secret of a right": "%1 wants to use the right %2",
        "use a key": "%1 wants to use the key %2",
        "use the key of a right for SSH": "%1 wants to use %2 for SSH",
        "use a key for SSH": "%1 wants to use %2 for SSH",
        "read a keychain item": "%1 wants to read %2",
        "change a keychain item": "%1 wants to change %2",
        "delete a keychain item": "%1 wants to delete %2",
        "sign in with a passkey": "%1 wants to sign in at %2",
        "make a passkey": "%1 wants to make a passkey for %2",
        "in a browser: sign in with a passkey": "%1 wants to sign in at %2 in a browser",
        "in a browser: make a passkey": "%1 wants to make a passkey for %2 in a browser",
    ]

    /// The program's path and process.
    public var path: String {
        phrases("%1 (process %2)", PhraseBook.isolatedPath(request.program.string), String(request.processID))
    }

    /// What is asked for, and for what it is not.
    public var heading: String {
        guard !question.sensors.isEmpty, question.kind == .enterPasscode || question.kind == .sensor else {
            return phrases(text.heading)
        }
        let sensors = question.sensors.map { phrases(Self.noun(of: $0.kind)) }
        let ways = question.kind == .enterPasscode ? [phrases("your passcode")] + sensors : sensors
        return phrases("Ostiary asks for %1.", ways.dropFirst().reduce(ways[0]) { phrases("%1 or %2", $0, $1) })
    }

    private static func noun(of kind: PromptSensor.Kind) -> String {
        switch kind {
        case .finger: "your finger"
        case .face: "your face"
        case .securityKey: "your security key"
        }
    }

    // MARK: what is vouched for

    /// A line of the question.
    public struct Fact {
        public let label: String
        /// The text, or the lines of a text to sign.
        public var lines: [String]
        /// Whether the lines are those of a text, and are counted.
        public var isNumbered = false
        /// Whether it is the program's own word.
        public var isOfProgram = false
    }

    public var facts: [Fact] {
        var facts = request.application.map { [fact("Known as", PhraseBook.isolatedPath($0.string))] } ?? []
        if let label = request.label { facts.append(fact("Identity", phrases(label.words))) }
        if let door = request.door { facts.append(fact("Through", PhraseBook.isolatedPath(door.string))) }
        if let label = request.clientLabel {
            let words = phrases("%1, not checked", PhraseBook.isolated("“\(PromptText.quotable(label))”"))
            facts.append(Fact(label: phrases("Named"), lines: [words], isOfProgram: true))
        }
        if let objects = question.objects { facts.append(fact("For", names(of: objects))) }
        facts.append(fact("To", phrases.translated(question.operation.string)))
        if let signed = question.signedData { facts += self.facts(of: signed) }
        if let consequence = question.consequence {
            facts.append(fact("Note", phrases.translated(consequence.string)))
        }
        if let reason = text.reason {
            facts.append(
                Fact(
                    label: phrases(reason.label), lines: [PhraseBook.isolated("“\(reason.words)”")], isOfProgram: true))
        }
        return facts
    }

    private func fact(_ label: String, _ text: String) -> Fact { Fact(label: phrases(label), lines: [text]) }

    private func names(of objects: PromptObjects) -> String {
        guard objects.count > 1 else { return PhraseBook.isolated(objects.names[0].string) }
        let names = objects.names.map { PhraseBook.isolated("“\($0.string)”") }
        let others = objects.count - names.count
        let list = names.joined(separator: ", ")
        let count = String(objects.count)
        let noun = phrases(Self.plural(of: objects.noun))
        return others == 0
            ? phrases("%1 %2: %3", count, noun, list) : phrases("%1 %2: %3 and %4 more", count, noun, list, "\(others)")
    }

    private static func plural(of noun: PromptObjects.Noun) -> String {
        switch noun {
        case .item: "items"
        case .key: "keys"
        case .right: "rights"
        case .object: "objects"
        }
    }

    private func facts(of signed: PromptSignedData) -> [Fact] {
        let digest = fact("SHA-256", PhraseBook.isolatedPath(signed.digest.string))
        if let lines = signed.lines {
            let heading = fact("Signs", phrases("the text in these %1 lines:", String(lines.count)))
            return [heading, Fact(label: "", lines: lines.map(PhraseBook.isolated), isNumbered: true), digest]
        }
        switch signed.form {
        case .text(let text): return [fact("Signs", phrases("the text %1", quoted(text))), digest]
        case .data(let count):
            return [fact("Signs", phrases("%1 bytes of data, which cannot be shown", String(count))), digest]
        case .digestOnly:
            return [fact("Signs", phrases("a digest only; the program keeps the data to itself")), digest]
        case .ssh(let facts): return self.facts(of: facts) + [digest]
        }
    }

    private func quoted(_ text: DisplayText) -> String { PhraseBook.isolated("“\(text.string)”") }

    private func facts(of ssh: PromptSSHFacts) -> [Fact] {
        var facts: [Fact] = []
        switch ssh.purpose {
        case .login(let user, let service):
            facts.append(
                fact(
                    "Signs",
                    phrases("a login as %1 (%2)", quoted(user), PhraseBook.isolatedPath(service.string))))
            let key = ssh.hostKey.map { PhraseBook.isolatedPath($0.string) }
            facts.append(fact("Host key", key ?? phrases("not known; it may be any host")))
        case .signature(let namespace):
            facts.append(fact("Signs", phrases("an SSH signature for %1", quoted(namespace))))
        case .unknown: facts.append(fact("Signs", phrases("unknown data, which may be a login")))
        }
        if let key = ssh.signingKey { facts.append(fact("Key", PhraseBook.isolatedPath(key.string))) }
        switch ssh.hostName {
        case .ofOwner(let name)?: facts.append(fact("Host", phrases("%1, as you named it", quoted(name))))
        case .claimed(let name)?:
            let words = PhraseBook.isolated("“\(PromptText.quotable(name))”")
            facts.append(Fact(label: phrases("Host"), lines: [phrases("%1, not checked", words)], isOfProgram: true))
        case nil: break
        }
        if ssh.isForwarded {
            facts.append(fact("Forwarded", phrases("yes; another host may have asked")))
            facts.append(fact("By", PhraseBook.isolatedPath(ssh.shownForwarders)))
        } else if ssh.mayBeForwarded {
            facts.append(fact("Forwarded", phrases("not known; another host may have asked")))
        }
        return facts
    }

    // MARK: what the person does

    public var warning: String? { text.warning.map(phrases.translated) }

    /// The mistake in the last try and the outcome of more of them, or the rule for a new passcode.
    public var notice: String? {
        let words = [question.notice == nil ? text.hint : nil, text.notice].compactMap(\.self)
        return words.isEmpty ? nil : phrases.translated(words.joined(separator: " "))
    }

    /// Whether the notice is about a mistake in this question, and not about tries before it or a rule.
    public var isMistake: Bool { text.isMistake }

    public var field: String { phrases(text.field) }

    public var options: [String] { question.kind.options.map { PhraseBook.isolated(phrases.translated($0.string)) } }

    /// The label of the choice of a term.
    public var termsLabel: String { phrases("Your answer counts:") }

    /// For how long the answer may count, in the order of the numbers that the daemon is told; empty where there is no choice.
    public var terms: [String] {
        let shortest = question.isKept ? phrases("for this run of the program") : phrases("once")
        return question.terms.isEmpty ? [] : [shortest] + question.terms.map(words)
    }

    /// Where an answer counts that counts more than once; nil for everywhere, and where there is no choice.
    public var termPlace: String? {
        guard !question.terms.isEmpty else { return nil }
        return switch question.termPlace {
        case .terminal?: phrases("Only in the program's terminal.")
        case .session?: phrases("Only in the program's session.")
        case nil: nil
        }
    }

    private func words(of term: PromptTerm) -> String {
        switch term {
        case .seconds(60): phrases("for 1 minute")
        case .seconds(let count) where count.isMultiple(of: 60): phrases("for %1 minutes", String(count / 60))
        case .seconds(let count): phrases("for %1 seconds", String(count))
        case .uses(let count): phrases("%1 times", String(count))
        }
    }

    public var cancel: String {
        guard let title = text.cancelTitle else { return phrases("Cancel") }
        return phrases("Cancel (%1)", PhraseBook.isolated("“\(title)”"))
    }

    public var fallback: String? {
        text.fallbackTitle.map { title in
            let words = PhraseBook.withoutIsolates(title)
            return PhraseBook.isolated("“\(words == Self.usualFallback ? phrases(words) : words)”")
        }
    }

    /// The words of a fallback that the program did not name.
    static let usualFallback = "Use Passcode…"

    /// A sensor's name and its state.
    public func sensor(_ sensor: PromptSensor) -> (name: String, state: String) {
        (phrases(PromptText.label(of: sensor.kind)), phrases.translated(sensor.text.string))
    }

    /// Everything but the field and the sensors' states, for a voice.
    public var spoken: String {
        let program = "\(phrases("Program")): \(path)."
        let facts = facts.map { fact in
            (fact.label.isEmpty ? "" : "\(fact.label): ") + fact.lines.joined(separator: "\n") + "."
        }
        let options = options.enumerated().map { "\($0.offset + 1): \($0.element)." }
        let choice = terms.isEmpty ? nil : "\(termsLabel) \(terms.joined(separator: ", "))."
        let counts = [choice, termPlace].compactMap(\.self)
        let all = [title + ".", heading, program] + facts + options + counts + [warning, notice].compactMap(\.self)
        return PhraseBook.withoutIsolates(all.joined(separator: " "))
    }

    /// A time until the question ends: in minutes, and in seconds at the end.
    public static func timeLeft(_ time: Duration, _ phrases: PhraseBook) -> String {
        let seconds = Int(time.components.seconds) + (time.components.attoseconds > 0 ? 1 : 0)
        if seconds <= 30 { return phrases("Ends in %1 s", String(seconds)) }
        return phrases("Ends in %1 min", String((seconds + 59) / 60))
    }
}
