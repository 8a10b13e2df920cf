import Foundation
@testable import PromptProgram
@testable import PromptProtocol
import Testing

/// The words of a question in a window.
@Suite struct SheetTextTests {
    private static func text(
        _ question: PromptQuestion = .passcode, program: String = "/usr/bin/git", _ phrases: PhraseBook = .english
    ) -> SheetText {
        SheetText(
            request: PromptRequest(
                question: question, program: DisplayText(fact: program), processID: 77, frontEnd: .terminal,
                timeLimitSeconds: 60), phrases: phrases)
    }

    private static func question(_ operation: String, _ objects: PromptObjects? = PromptObjects(DisplayText("2fa")))
        -> PromptQuestion
    {
        PromptQuestion(.enterPasscode, objects: objects, operation: DisplayText(operation))
    }

    @Test(arguments: [
        ("sign once with the key of a right", "git wants to sign with 2fa"),
        ("use the key and the secret of a right", "git wants to use the right 2fa"),
        ("read a keychain item", "git wants to read 2fa"), ("change the passcode", "git wants to change the passcode"),
    ]) func `the title names program and action`(_ operation: String, _ title: String) {
        #expect(PhraseBook.withoutIsolates(Self.text(Self.question(operation)).title) == title)
    }

    @Test func `several objects are counted, not named by the title`() {
        let objects = PromptObjects([("a", DisplayText("")), ("b", DisplayText(""))], noun: .item)
        let text = Self.text(Self.question("read a keychain item", objects))
        #expect(PhraseBook.withoutIsolates(text.title) == "git wants to read a keychain item")
        #expect(text.facts.contains { PhraseBook.withoutIsolates($0.lines[0]) == "2 items: “a”, “b”" })
    }

    @Test(arguments: [
        ("/usr/bin/git", "git"), ("/opt/a b/git", "git"), ("/opt/git and more", "“git and more”"), ("git", "git"),
        ("/", "/"), ("an unknown program", "an unknown program"),
    ]) func `a program is called by the name of its file`(_ path: String, _ name: String) {
        #expect(Self.text(program: path).programName == name)
    }

    @Test func `names stand between marks that isolate their direction`() {
        let text = Self.text(Self.question("sign once with the key of a right"), program: "/opt/אבג")
        #expect(text.title == "\u{2068}אבג\u{2069} wants to sign with \u{2068}2fa\u{2069}")
        #expect(text.path == "\u{2066}/opt/אבג\u{2069} (process 77)")
        #expect(text.facts[0].lines == ["\u{2068}2fa\u{2069}"])
    }

    @Test func `a character that is written out stays in one piece among letters from right to left`() {
        let text = Self.text(
            PromptQuestion(
                .enterPasscode, objects: PromptObjects(DisplayText(fact: "אב\u{202E}גד")), operation: DisplayText("x")))
        #expect(text.facts[0].lines == ["\u{2068}אב\u{2066}\\u{202e}\u{2069}גד\u{2069}"])
        #expect(text.spoken.contains("אב\\u{202e}גד"))
    }

    @Test(arguments: ProgramLabel.allCases) func `a label stands with its meaning behind the program's name`(
        label: ProgramLabel
    ) throws {
        func request(_ label: ProgramLabel?) -> PromptRequest {
            PromptRequest(
                question: Self.question("read a keychain item"), program: DisplayText("/usr/bin/git"), label: label,
                processID: 77, frontEnd: .terminal, timeLimitSeconds: 60)
        }
        let labelled = request(label)
        #expect(try PromptRequest(decoding: labelled.encoded()) == labelled)
        let sheet = SheetText(request: labelled, phrases: .english).facts[0]
        #expect(sheet.label == "Identity" && sheet.lines == [label.words] && !sheet.isOfProgram)
        let terminal = PromptText(request: labelled).facts[1]
        #expect(terminal.label == "Identity" && terminal.text == label.words && terminal.isOfOstiary)
        #expect(label.words.hasPrefix(label.rawValue + ": "))
        // A daemon that says nothing of trust sends what it sent before there were labels.
        #expect(!String(decoding: try request(nil).encoded(), as: UTF8.self).contains("label"))
        #expect(!PromptText(request: request(nil)).facts.contains { $0.label == "Identity" })
    }

    // MARK: lines to sign

    @Test(
        arguments: [
            ("one", nil), ("a\nb", ["a", "b"]), ("a\n", ["a", ""]), ("\n\n", ["", "", ""]),
            ("a \n b\n ", [#"a\u{20}"#, #"\u{20}b"#, #"\u{20}"#]), (#"a\u{a}b"#, nil), (#"\"# + "\n", [#"\\"#, ""]),
            ("a\r\nb", [#"a\u{d}"#, "b"]), ("a\u{2028}b\nc", [#"a\u{2028}b"#, "c"]),
        ] as [(String, [String]?)])
    func `a text to sign stands in its lines`(_ text: String, _ lines: [String]?) {
        #expect(PromptSignedData(Data(text.utf8), digest: Data(count: 32)).lines == lines)
    }

    @Test func `texts that differ have different lines`() {
        let texts = ["a\nb", "a \nb", "a\n b", "a\n\nb", "a\nb\n", #"a\u{a}b"# + "\n", "a\n" + #"\u{20}b"#, "a\r\nb"]
        let lines = texts.compactMap { PromptSignedData(Data($0.utf8), digest: Data(count: 32)).lines }
        #expect(lines.count == texts.count && Set(lines).count == texts.count)
    }

    // MARK: time and mistakes

    @Test(arguments: [
        (120, "Ends in 2 min"), (61, "Ends in 2 min"), (60, "Ends in 1 min"), (31, "Ends in 1 min"),
        (30, "Ends in 30 s"), (0, "Ends in 0 s"),
    ]) func `the time counts seconds at its end only`(_ seconds: Int, _ words: String) {
        #expect(SheetText.timeLeft(.seconds(seconds), .english) == words)
    }

    @Test func `only a mistake is told as one`() {
        func isMistake(_ notice: String?, _ tries: Int?) -> Bool {
            Self.text(
                PromptQuestion(
                    .keyPIN, operation: DisplayText("x"), notice: notice.map { DisplayText($0) }, triesLeft: tries)
            ).isMistake
        }
        #expect(isMistake("Wrong PIN.", 3) && !isMistake(nil, 3) && !isMistake(nil, nil))
    }

    @Test func `a rule is told before any mistake, and is none`() {
        let rule = DisplayText("At least 8 characters, not digits alone.")
        let first = Self.text(PromptQuestion(.newPasscode, operation: DisplayText("x"), hint: rule))
        #expect(first.notice == rule.string && !first.isMistake && first.spoken.hasSuffix(rule.string))
        let german = PhraseBook { $0 == "At least %1 characters, not digits alone." ? "Mindestens %1, kein PIN." : nil }
        #expect(
            Self.text(PromptQuestion(.newPasscode, operation: DisplayText("x"), hint: rule), german).notice
                == "Mindestens \u{2068}8\u{2069}, kein PIN.")
        let second = Self.text(
            PromptQuestion(.newPasscode, operation: DisplayText("x"), hint: rule, notice: DisplayText("Too short.")))
        #expect(second.notice == "Too short." && second.isMistake)
    }

    @Test func `a voice says everything without marks`() {
        let spoken = Self.text().spoken
        for words in ["git wants to read.", "Program: /usr/bin/git (process 77).", "For: GitHub token.", "“to push”"] {
            #expect(spoken.contains(words), "\(spoken)")
        }
        #expect(!spoken.unicodeScalars.contains { (0x2066...0x2069).contains($0.value) })
    }
}

@Suite struct PhraseBookTests {
    private static let german = PhraseBook { phrase in
        [
            "Wrong passcode.": "Falsch.", "%1 tries left.": "Noch %1.", "Touch the security key “%1”.": "Taste „%1“.",
            "Use your %1 on the fingerprint reader.": "Leg auf: %1.", "left thumb": "linker Daumen",
        ][phrase]
    }

    @Test(arguments: [
        ("Wrong passcode.", "Falsch."), ("Wrong passcode. 2 tries left.", "Falsch. Noch ⁨2⁩."),
        ("Touch the security key “a. b”.", "Touch the security key “a. b”."),
        ("Touch the security key “YubiKey”.", "Taste „⁨YubiKey⁩“."), ("Something else.", "Something else."),
        ("Wrong passcode. Something else.", "Falsch. ⁨Something else.⁩"),
        ("Use your left thumb on the fingerprint reader.", "Leg auf: linker Daumen."),
    ]) func `sentences of the daemon are found with their names and numbers`(_ text: String, _ translation: String) {
        #expect(Self.german.translated(text) == translation)
    }

    @Test func `a filled-in word is never taken for a place`() {
        #expect(PhraseBook.english("%1 wants to %2", "%2", "sign") == "%2 wants to sign")
        #expect(PhraseBook.english("100% of %3 %", "a") == "100% of %3 %")
    }
}

/// The catalogues in `po/`.
@Suite struct CatalogueTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../.."
    ).standardized

    /// The phrases of a catalogue with their translations. Each stands on one line.
    private static func catalogue(_ language: SheetLanguage) throws -> [String: String] {
        let text = try String(
            contentsOf: root.appendingPathComponent("po/\(language.rawValue).po"), encoding: .utf8)
        let entry = try Regex(#"msgid "(.+)"\nmsgstr "(.+)""#, as: (Substring, Substring, Substring).self)
        return Dictionary(
            uniqueKeysWithValues: text.matches(of: entry).map { (String($0.output.1), String($0.output.2)) })
    }

    private static func literals(_ file: String, _ pattern: String) throws -> [String] {
        let text = try String(contentsOf: root.appendingPathComponent("Daemon/Sources/" + file), encoding: .utf8)
        return text.matches(of: try Regex(pattern, as: (Substring, Substring).self)).map { String($0.output.1) }
    }

    /// The phrases of the sheet itself.
    private static func phrases() throws -> Set<String> {
        let files =
            ["SheetWindow", "SheetStatus"].map { "ostiary-sheet/\($0).swift" } + ["PromptProgram/SheetText.swift"]
        let direct = try files.flatMap { try literals($0, #"phrases\("([^"]+)""#) + literals($0, #"fact\("([^"]+)""#) }
        let kinds: [PromptKind] = [
            .enterPasscode, .newPasscode, .repeatPasscode, .applicationPassword, .newApplicationPassword,
            .repeatApplicationPassword, .keyPIN, .newKeyPIN, .repeatKeyPIN, .ownerPassword,
        ]
        let texts = kinds.map { kind in
            PromptText(
                request: PromptRequest(
                    question: PromptQuestion(kind, operation: DisplayText("x")), program: DisplayText("x"),
                    processID: 1,
                    frontEnd: .terminal, timeLimitSeconds: 5))
        }
        let labels = PromptSensor.Kind.allCases.map(PromptText.label) + ProgramLabel.allCases.map(\.words)
        return Set(
            direct + texts.flatMap { [$0.heading, $0.field] } + labels + SheetText.actions.keys
                + SheetText.actions.values + PhraseBook.sentences
                + ["your finger", "your face", "your security key", "items", "keys", "rights", "objects", "It says"]
        ).subtracting(["SHA-256"])
    }

    @Test(arguments: [SheetLanguage.german, .arabic]) func `every phrase is translated, with its places`(
        _ language: SheetLanguage
    ) throws {
        let catalogue = try Self.catalogue(language)
        let phrases = try Self.phrases()
        #expect(phrases.count > 60)
        #expect(phrases.subtracting(catalogue.keys).sorted() == [])
        for (phrase, translation) in catalogue {
            for number in 1...9 {
                #expect(phrase.contains("%\(number)") == translation.contains("%\(number)"), "\(phrase)")
            }
        }
    }

    /// Operations, notices and states that the daemon's code holds as they are.
    @Test(arguments: [SheetLanguage.german, .arabic]) func `the daemon's fixed words are translated`(
        _ language: SheetLanguage
    ) throws {
        let catalogue = try Self.catalogue(language)
        let words =
            try Self.literals("ProtectedObjects/Rights/RightOpener.swift", #"(?:once\(|\? |: )"([a-z][^"]+)""#)
            + Self.literals("Broker/Requests/Broker+Passcode.swift", #"operation: (?:DisplayText\()?"([^"]+)""#)
            + Self.literals("Authenticators/PasscodeAuthenticator.swift", #"DisplayText\("([^"]+)"\)"#)
            + Self.literals("Authenticators/ApplicationPasswordAuthenticator.swift", #"DisplayText\("([^"]+)"\)"#)
            + Self.literals("Authenticators/Biometry/FaceWords.swift", #"DisplayText\("([^"]+)"\)"#)
        #expect(words.count >= 8)
        for word in words { #expect(catalogue[word] != nil, "\(word)") }
    }

    @Test(
        arguments: [
            ("de", SheetLanguage.german), ("de_AT.UTF-8", .german), ("ar_EG@latin", .arabic), ("en_GB", .english),
            ("fr_FR.UTF-8", nil), ("", nil), ("../../tmp/de", nil), ("DE", nil), ("deu", nil), ("C", nil),
        ] as [(String, SheetLanguage?)]) func `only a language that the sheet speaks is taken from a locale`(
            _ locale: String, _ language: SheetLanguage?
        )
    {
        #expect(SheetLanguage(locale: locale) == language)
    }
}
