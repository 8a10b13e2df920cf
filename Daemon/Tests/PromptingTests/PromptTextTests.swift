import Foundation
import ProcessFacts
@testable import Prompting
@testable import PromptProtocol
import SecretMemory
import Settings
import TerminalTestSupport
import Testing
import UnixSocket
@testable import ostiary_prompt

@Suite struct DisplayTextTests {
    @Test(arguments: ["GitHub token", "żółw 🐢", "日本語", "a-b_c/d.e (f) %n", "“quoted”"])
    func `ordinary text stays as it is`(_ text: String) {
        #expect(DisplayText(text).string == text)
    }

    @Test(arguments: [
        ("\u{1B}[31mred", "[31mred"), ("a\u{202E}b\u{2066}c\u{2069}d\u{200E}e\u{200F}f\u{61C}g", "abcdefg"),
        ("a\u{200B}b\u{200C}c\u{200D}d\u{FEFF}e\u{2060}f\u{AD}g", "abcdefg"), ("a\nb\r\nc\td", "a b c d"),
        ("a\u{2028}b\u{2029}c\u{85}d\u{B}e\u{C}f", "a b c d e f"), ("a    \u{A0}\u{3000}\u{2003}\u{2800} b", "a b"),
        ("  a  ", "a"), (" a", "a"), ("a ", "a"), ("a  b", "a b"), (" ", ""), ("a~b!c", "a~b!c"),
        ("a\u{0}b\u{7F}c\u{9B}d", "abcd"), ("a\u{E000}b\u{F0000}c\u{378}d", "abcd"),
        ("a\u{E0041}b\u{FE0F}c\u{115F}d\u{3164}e", "abcde"), ("", ""), ("\n\n", ""), ("\u{202E}", ""),
    ])
    func `what steers instead of showing is removed`(_ text: String, _ harmless: String) {
        #expect(DisplayText(text).string == harmless)
    }

    @Test(arguments: [(2, "a…"), (3, "ab…"), (4, "abcd"), (5, "abcd"), (1, "…"), (0, "")])
    func `the length is bounded`(_ maximum: Int, _ shown: String) {
        #expect(DisplayText("abcd", maximumScalarCount: maximum).string == shown)
    }

    @Test func `a cut never leaves more than asked for`() {
        for maximum in 1...12 {
            #expect(DisplayText("ab cd ef gh", maximumScalarCount: maximum).string.unicodeScalars.count <= maximum)
        }
    }

    @Test func `text out of a decoder is harmless too`() throws {
        let decoded = try JSONDecoder().decode(DisplayText.self, from: Data(#""a\u001b[2J\u202eb""#.utf8))
        #expect(decoded.string == "a[2Jb")
    }
}

@Suite struct PromptRequestTests {
    private static let request = PromptRequest(
        question: .passcode, program: DisplayText("/usr/bin/x"), processID: 7, frontEnd: .terminal, timeLimitSeconds: 9)

    @Test func `a request survives`() throws {
        #expect(try PromptRequest(decoding: Self.request.encoded()) == Self.request)
    }

    @Test func `the largest question fits`() throws {
        let text = DisplayText(String(repeating: "🐢", count: 10_000))
        let fact = (fact: String(repeating: "🐢", count: 10_000), label: DisplayText(""))
        let question = PromptQuestion(
            .confirmation(warning: text), objects: PromptObjects(Array(repeating: fact, count: 1000), noun: .object),
            operation: text, reason: text, notice: text, triesLeft: .max,
            cancelTitle: text, fallbackTitle: text)
        let request = PromptRequest(
            question: question, program: text, application: text, processID: .max, frontEnd: .terminal,
            timeLimitSeconds: 600)
        #expect(try PromptRequest(decoding: request.encoded()) == request)
    }

    @Test func `every truncation and a trailing byte are refused`() throws {
        let bytes = try Self.request.encoded()
        for count in 0..<bytes.count {
            #expect(throws: PromptRequestError.truncated) { try PromptRequest(decoding: bytes.prefix(count)) }
        }
        #expect(throws: PromptRequestError.truncated) { try PromptRequest(decoding: bytes + [0]) }
    }

    @Test func `a length over the limit and other bytes are refused`() {
        #expect(throws: PromptRequestError.tooLarge) { try PromptRequest(decoding: Data([0, 0, 0x80, 1])) }
        #expect(throws: PromptRequestError.malformed) {
            try PromptRequest(decoding: Data([0, 0, 0, 2]) + Data("{}".utf8))
        }
    }

    @Test(arguments: ["xterm-256color", "vt100", "screen.xterm", "tmux", "a+b_c"]) func `terminal types`(_ name: String)
    {
        #expect(TerminalType(name)?.name == name)
    }

    @Test(arguments: ["", "../x", "a/b", ".x", "x y", "x\n", "é", String(repeating: "x", count: 65)])
    func `what could lead a library astray is no terminal type`(_ name: String) throws {
        #expect(TerminalType(name) == nil)
        let json = try JSONEncoder().encode(name)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(TerminalType.self, from: json) }
    }
}

@Suite struct EnteredSecretTests {
    private func entered(_ factor: PromptFactor) -> EnteredSecret {
        EnteredSecret(SecretBytes(random: 3), for: factor)
    }

    @Test(arguments: PromptFactor.allCases) func `a secret is handed over for its own factor only`(
        _ factor: PromptFactor
    ) {
        for other in PromptFactor.allCases {
            let isHandedOver = entered(factor).take(for: other) != nil
            #expect(isHandedOver == (other == factor))
        }
    }

    @Test func `each kind of question feeds one factor`() {
        let kinds: [(PromptKind, PromptFactor?)] = [
            (.enterPasscode, .passcode), (.newPasscode, .passcode), (.repeatPasscode, .passcode),
            (.applicationPassword, .applicationPassword), (.newApplicationPassword, .applicationPassword),
            (.repeatApplicationPassword, .applicationPassword), (.confirmation(warning: DisplayText("x")), nil),
            (.sensor, nil), (.keyPIN, .keyPIN), (.newKeyPIN, .keyPIN), (.repeatKeyPIN, .keyPIN),
            (.ownerPassword, .ownerPassword),
            (.choice([DisplayText("x")]), .choice), (.newSign, .sign),
        ]
        for (kind, factor) in kinds { #expect(kind.factor == factor) }
    }
}

@Suite struct LineEditorTests {
    private func text(_ line: borrowing SecretLine) -> String {
        line.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("abc", "abc"), ("abc\u{7F}", "ab"), ("abc\u{8}\u{8}\u{8}\u{8}", ""), ("aż\u{7F}", "a"),
        ("a🐢\u{7F}\u{7F}b", "b"),
        ("abc\u{15}d", "d"), ("one two\u{17}", "one "), ("one two  \u{17}", "one "), ("one\u{17}\u{17}", ""),
        ("a\u{1B}[Ab", "ab"), ("a\u{1B}[1;5Cb", "ab"), ("a\u{1B}OHb", "ab"), ("a\u{1B}xb", "ab"),
        ("a\u{1}\u{1A}\u{13}b", "ab"),
        ("a\u{4}b", "ab"), ("a b", "a b"),
    ])
    func `keys make this line`(_ keys: String, _ line: String) {
        var editor = LineEditor(capacity: 64, offersFallback: false)
        for byte in keys.utf8 { _ = editor.accept(byte) }
        #expect(text(editor.line) == line)
        #expect(editor.accept(0x0D) == (line.isEmpty ? .empty : .submitted))
    }

    @Test(arguments: [[0x03], [0x61, 0x03], [0x04], [0x1B, 0x1B], [0x1B, 0x03]] as [[UInt8]])
    func `these keys cancel`(_ keys: [UInt8]) {
        var editor = LineEditor(capacity: 64, offersFallback: true)
        for byte in keys.dropLast() { _ = editor.accept(byte) }
        #expect(editor.accept(keys.last!) == .cancelled)
    }

    @Test func `Ctrl-L chooses the next term where there are some, and is no letter`() {
        for offersTerms in [true, false] {
            var editor = LineEditor(capacity: 64, offersFallback: false, offersTerms: offersTerms)
            _ = editor.accept(0x61)
            #expect(editor.accept(0x0C) == (offersTerms ? .nextTerm : .ignored))
            #expect(text(editor.line) == "a")
        }
    }

    @Test func `Escape alone is known only after a moment`() {
        var editor = LineEditor(capacity: 64, offersFallback: false)
        _ = editor.accept(0x1B)
        #expect(editor.isEscapePending == true)
        #expect(editor.escapeStoodAlone() == .cancelled)
    }

    @Test func `a full line is refused as a whole, and typing begins anew`() {
        var editor = LineEditor(capacity: 4, offersFallback: false)
        for byte in "abcd".utf8 { #expect(editor.accept(byte) == .edited) }
        #expect(editor.accept(0x65) == .ignored)
        #expect(editor.accept(0x0D) == .tooLong)
        #expect(editor.line.count == 0)
        #expect(editor.accept(0x61) == .edited)
        #expect(editor.accept(0x0D) == .submitted)
        #expect(text(editor.line) == "a")
    }

    @Test func `one character too many stays refused after some were erased`() {
        var editor = LineEditor(capacity: 4, offersFallback: false)
        for byte in "abcde\u{7F}".utf8 { _ = editor.accept(byte) }
        #expect(editor.accept(0x0D) == .tooLong)
    }
}

@Suite struct AssuanTests {
    private func parse(_ text: String) -> Assuan.Response? { Array(text.utf8).withUnsafeBytes { Assuan.parse($0) } }

    @Test(
        arguments: [
            ("OK", .ok), ("OK Pleased to meet you", .ok), ("ERR 83886278 canceled", .error(code: 198)),
            ("ERR 1", .error(code: 1)),
            ("D x", .data(offset: 2)), ("D ", .data(offset: 2)), ("S PIN_REPEATED", .other), ("# comment", .other),
        ] as [(String, Assuan.Response)])
    func `responses are told apart`(_ line: String, _ response: Assuan.Response) {
        #expect(parse(line) == response)
    }

    @Test(arguments: ["", "OKAY", "ok", "D", "ERR", "ERR ", "ERR x", "ERR 12345678901", "INQUIRE X", "END", " OK", "S"])
    func `other lines are none`(_ line: String) {
        #expect(parse(line) == nil)
    }

    @Test(arguments: [("abc", "abc"), ("%25", "%"), ("a%0Ab%0d", "a\nb\r"), ("%C5%bc", "ż"), ("", "")])
    func `data is unescaped`(_ escaped: String, _ text: String) {
        var line = SecretLine(capacity: 16)
        #expect(decode(escaped, &line))
        #expect(line.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == text)
    }

    @Test(arguments: ["%", "%4", "%G0", "%0G", "a%", "%%", "12345678901234567"])
    func `broken escapes and too much data are refused`(_ escaped: String) {
        var line = SecretLine(capacity: 16)
        #expect(!decode(escaped, &line))
    }

    private func decode(_ escaped: String, _ line: inout SecretLine) -> Bool {
        Array(escaped.utf8).withUnsafeBytes { Assuan.decode($0[...], into: &line) }
    }

    @Test func `a command is one line, whatever its argument holds`() {
        let line = Assuan.command("SETDESC", "100%\nGETPIN\r" + String(repeating: "🐢", count: 500))
        #expect(line.count <= Assuan.lineByteCount)
        #expect(line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
        #expect(String(validating: line, as: UTF8.self)?.hasPrefix("SETDESC 100%25%0AGETPIN%0D🐢") == true)
    }

    @Test func `lines are cut wherever the reads fall`() {
        let sent = Array("OK first\nD abc\nERR 5 x\n".utf8)
        for size in 1...sent.count {
            var lines = AssuanLines()
            var (seen, offset) = ([String](), 0)
            while offset < sent.count {
                let part = sent[offset..<min(offset + size, sent.count)]
                #expect(
                    lines.fill { buffer in
                        buffer.copyBytes(from: part)
                        return part.count
                    })
                offset += part.count
                while let line = lines.takeLine({ String(decoding: $0, as: UTF8.self) }) { seen.append(line) }
            }
            #expect(seen == ["OK first", "D abc", "ERR 5 x"])
        }
    }

    @Test func `a line without an end is refused`() {
        var lines = AssuanLines()
        #expect(lines.fill { $0.count })
        #expect(lines.takeLine { _ in true } == nil)
        #expect(!lines.fill { $0.count })
    }
}

@Suite struct FrontEndChoiceTests {
    private func choose(
        _ configure: (inout PromptConfiguration) -> Void, terminal: Result<VerifiedTerminal, TerminalRefusal>? = nil,
        distrust: ProgramDistrust? = nil, display: Result<SheetOptions.Display, DisplayRefusal> = .failure(.none),
        isUnproved: Bool = false, isLoginTerminal: Bool = false, hasSensors: Bool = false,
        isTerminalForSensors: Bool = true, isDialogForSensors: Bool = true, isTyped: Bool = true
    ) -> Result<PromptFrontEnd, PromptUnavailability> {
        var configuration = PromptConfiguration()
        configure(&configuration)
        return FrontEndChoice(
            configuration: configuration, terminal: terminal, terminalType: .vt100, isTyped: isTyped,
            isUnproved: isUnproved, isLoginTerminal: isLoginTerminal, hasSensors: hasSensors,
            isTerminalForSensors: isTerminalForSensors, isDialogForSensors: isDialogForSensors,
            pinentryDistrust: distrust, findDisplay: { display }
        ).choose()
    }

    private func name(_ choice: Result<PromptFrontEnd, PromptUnavailability>) -> String {
        switch choice {
        case .success(.pinentry): "dialog"
        case .success(.terminal): "terminal"
        case .success(.sheet): "sheet"
        case .success(.trustedPlace): "trusted place"
        case .failure(let reason): "\(reason)"
        }
    }

    private func terminal() throws -> Result<VerifiedTerminal, TerminalRefusal> {
        .success(VerifiedTerminal(descriptor: try PseudoTerminal.open("/dev/null"), device: 9, path: "/dev/pts/9"))
    }

    @Test func `the first way that works is taken`() throws {
        let terminal = try terminal()
        #expect(
            choose(
                {
                    $0.pinentryPath = "/p"; $0.display = ":0"
                }, terminal: terminal) == .success(.terminal))
        let dialog = choose({
            $0.pinentryPath = "/p"; $0.display = ":0"
        })
        guard case .success(.pinentry(let options)) = dialog else { Issue.record("no dialog"); return }
        #expect(options.terminalPath == nil && options.display == ":0")
    }

    @Test func `a sheet is for callers without a terminal, unless it comes first`() throws {
        let (terminal, onX) = (try terminal(), SheetOptions.Display.x11(name: ":0", authority: nil))
        let sheet = PromptFrontEnd.sheet(SheetOptions(display: onX, isDark: false, textPercent: 100))
        #expect(choose({ _ in }, terminal: terminal, display: .success(onX)) == .success(.terminal))
        #expect(choose({ _ in }, display: .success(onX)) == .success(sheet))
        #expect(choose({ _ in }, terminal: .failure(.callerStopped), display: .success(onX)) == .success(sheet))
        let first: (inout PromptConfiguration) -> Void = { $0.frontEnds = [.sheet, .terminal] }
        #expect(choose(first, terminal: terminal, display: .success(onX)) == .success(sheet))
        #expect(choose(first, terminal: terminal, display: .failure(.noAnswer)) == .success(.terminal))
    }

    @Test(arguments: [
        (DisplayRefusal.none, PromptUnavailability.notInteractive), (.noActiveSession, .notInteractive),
        (.noneOfSession, .notInteractive),
        (.otherOwner, .displayRefused(.otherOwner)), (.noAnswer, .displayRefused(.noAnswer)),
        (.notInstalled, .displayRefused(.notInstalled)),
    ]) func `a display that cannot be used is said, none at all is not`(
        _ refusal: DisplayRefusal, _ expected: PromptUnavailability
    ) {
        #expect(choose({ _ in }, display: .failure(refusal)) == .failure(expected))
        // What is wrong with the caller's own terminal is said first.
        #expect(
            choose({ _ in }, terminal: .failure(.otherOwner), display: .failure(refusal))
                == .failure(.terminalRefused(.otherOwner)))
    }

    @Test func `a question that any program could answer is asked on a login's terminal, else in a dialog`() throws {
        let terminal = try terminal()
        func ask(
            isLogin: Bool, display: Result<SheetOptions.Display, DisplayRefusal> = .failure(.none),
            _ configure: (inout PromptConfiguration) -> Void
        ) -> String {
            name(
                choose(configure, terminal: terminal, display: display, isUnproved: true, isLoginTerminal: isLogin))
        }
        let withDialog: (inout PromptConfiguration) -> Void = { ($0.pinentryPath, $0.display) = ("/p", ":0") }
        #expect(ask(isLogin: true, withDialog) == "terminal")
        #expect(ask(isLogin: false, withDialog) == "dialog")
        let onX = SheetOptions.Display.x11(name: ":0", authority: nil)
        #expect(ask(isLogin: false, display: .success(onX)) { _ in } == "sheet")
        #expect(ask(isLogin: true, display: .success(onX)) { _ in } == "terminal")
        // Without a dialog of its own, as every other question.
        #expect(ask(isLogin: false) { _ in } == "terminal")
        #expect(ask(isLogin: false) { $0.pinentryPath = "/p" } == "terminal")
        #expect(
            ask(isLogin: false) {
                withDialog(&$0)
                $0.frontEnds = [.terminal]
            } == "terminal")
        let distrusted = choose(
            withDialog, terminal: terminal, distrust: .missing("/p"), isUnproved: true, isLoginTerminal: false)
        #expect(distrusted == .success(.terminal))
    }

    @Test func `a question comes where its sensors are shown, if there is such a way`() throws {
        let terminal = try terminal()
        let onX = SheetOptions.Display.x11(name: ":0", authority: nil)
        func ask(
            onTerminal: Bool, hasSensors: Bool = true, isTerminalForSensors: Bool = true, hasSheet: Bool = true,
            _ frontEnds: [PromptConfiguration.FrontEnd] = [.terminal, .pinentry, .sheet]
        ) -> String {
            name(
                choose(
                    { ($0.pinentryPath, $0.display, $0.frontEnds) = ("/p", ":0", frontEnds) },
                    terminal: onTerminal ? terminal : nil, display: hasSheet ? .success(onX) : .failure(.none),
                    hasSensors: hasSensors, isTerminalForSensors: isTerminalForSensors))
        }
        #expect(ask(onTerminal: false) == "sheet")
        #expect(ask(onTerminal: false, hasSheet: false) == "dialog")
        #expect(ask(onTerminal: false, [.terminal, .pinentry]) == "dialog")
        #expect(ask(onTerminal: true) == "terminal")
        #expect(ask(onTerminal: true, [.pinentry, .sheet, .terminal]) == "sheet")
        #expect(ask(onTerminal: true, [.pinentry, .terminal]) == "terminal")
        // Where no sensor may answer on the terminal.
        #expect(ask(onTerminal: true, isTerminalForSensors: false) == "sheet")
        #expect(ask(onTerminal: true, isTerminalForSensors: false, hasSheet: false) == "terminal")
        // Where none may be armed at all, the configured order counts.
        #expect(ask(onTerminal: false, hasSensors: false) == "dialog")
        #expect(ask(onTerminal: true, hasSensors: false, isTerminalForSensors: false) == "terminal")
        #expect(ask(onTerminal: true, hasSensors: false, [.pinentry, .terminal]) == "dialog")
    }

    @Test func `a sign-in of a user's program comes where a sensor may wait for it, or else as configured`() throws {
        let terminal = try terminal()
        let onX = SheetOptions.Display.x11(name: ":0", authority: nil)
        func ask(
            isLogin: Bool, isTyped: Bool = true, _ frontEnds: [PromptConfiguration.FrontEnd] = [.sheet, .terminal]
        ) -> Result<PromptFrontEnd, PromptUnavailability> {
            choose(
                { $0.frontEnds = frontEnds }, terminal: terminal, display: .success(onX), hasSensors: true,
                isTerminalForSensors: isLogin, isDialogForSensors: false, isTyped: isTyped)
        }
        #expect(name(ask(isLogin: false)) == "sheet", "for the passcode")
        #expect(name(ask(isLogin: false, [.terminal, .sheet])) == "terminal")
        #expect(name(ask(isLogin: true)) == "terminal")
        // A sheet with neither a field nor a sensor would wait for nobody.
        #expect(name(ask(isLogin: true, isTyped: false)) == "terminal")
        #expect(ask(isLogin: false, isTyped: false) == .failure(.sensorRefused(.terminalForbidden)))
    }

    @Test func `a dialog gets the terminal's own name`() throws {
        let choice = choose(
            {
                $0.pinentryPath = "/p"; $0.frontEnds = [.pinentry, .terminal]
            }, terminal: try terminal())
        guard case .success(.pinentry(let options)) = choice else { Issue.record("no dialog"); return }
        #expect(options.terminalPath == "/dev/pts/9")
    }

    @Test func `a refused terminal is not used by a dialog either`() {
        #expect(
            choose({ $0.pinentryPath = "/p" }, terminal: .failure(.otherOwner))
                == .failure(.terminalRefused(.otherOwner)))
        guard
            case .success(.pinentry(let options)) = choose(
                {
                    $0.pinentryPath = "/p"; $0.display = ":0"
                }, terminal: .failure(.otherOwner))
        else { Issue.record("no dialog"); return }
        #expect(options.terminalPath == nil)
    }

    @Test func `a missing or untrusted dialog program falls back to the terminal, if that is configured`() throws {
        let terminal = try terminal()
        #expect(
            choose(
                {
                    $0.pinentryPath = "/p"; $0.frontEnds = [.pinentry, .terminal]
                }, terminal: terminal, distrust: .missing("/p"))
                == .success(.terminal))
        #expect(
            choose(
                {
                    $0.pinentryPath = "/p"; $0.frontEnds = [.pinentry]
                }, terminal: terminal, distrust: .missing("/p"))
                == .failure(.dialogFailed))
        let untrusted = ProgramDistrust.writableByOthers("/p")
        #expect(
            choose(
                {
                    $0.pinentryPath = "/p"; $0.frontEnds = [.pinentry]
                }, terminal: terminal, distrust: untrusted)
                == .failure(.untrusted(untrusted)))
    }

    @Test func `with nothing to ask on there is nobody to ask`() throws {
        #expect(choose({ _ in }) == .failure(.notInteractive))
        #expect(choose({ $0.pinentryPath = "/p" }) == .failure(.notInteractive))
        #expect(
            choose(
                {
                    $0.frontEnds = [.pinentry]; $0.display = ":0"
                }, terminal: try terminal()) == .failure(.notInteractive))
    }
}
