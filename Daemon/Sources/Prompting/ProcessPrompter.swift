import Glibc
public import PromptProtocol
import SecretMemory
import UnixSocket

/// Asks through `ostiary-prompt` or `ostiary-sheet`, a process of its own for each question.
///
/// The daemon keeps its own copy of the terminal's settings and puts them back however the prompt ended, kill -9 included.
/// While a question is on a terminal it looks five times a second whether the caller is still there and in the foreground.
public struct ProcessPrompter: PlacingPrompter {
    private let program: String
    private let configuration: PromptConfiguration
    private let userID: UInt32
    private let check: TerminalCheck
    private let displays: DisplayFinder
    private var sheetProgram: String { PathName.folder(of: program) + "/ostiary-sheet" }

    private static let watchMilliseconds: CInt = 200
    /// The prompt keeps the time limit itself; past this it is taken to be stuck.
    private static let stuckPatience: Duration = .seconds(2)

    /// A display that has not shown the question within this time does not answer. A first start without a cache of fonts takes
    /// more than a second.
    static let drawPatience: Duration = .seconds(10)

    /// - Parameters:
    ///   - program: the absolute path of `ostiary-prompt`, fixed when the daemon starts; `ostiary-sheet` lies beside it.
    ///   - userID: the user who is asked; a pinentry that other users could replace is not started.
    ///   - buses: where to ask for the user's session; this machine's buses when nil.
    public init(
        program: String, configuration: PromptConfiguration, userID: UInt32,
        logins: any LoginRecords = SystemLoginRecords(), buses: SessionBuses? = nil
    ) {
        self.program = program
        self.configuration = configuration
        self.userID = userID
        check = TerminalCheck(policy: configuration.terminalPolicy, logins: logins)
        displays = DisplayFinder(configuration: configuration, buses: buses, userID: userID)
    }

    public func place(
        _ question: PromptQuestion, for caller: PromptCaller
    ) -> Result<PlacedQuestion, PromptUnavailability> {
        guard !question.isShownInFull || Self.isNamedInFull(question, caller) else { return .failure(.unshowable) }
        let terminal = caller.terminal.map { terminal in verified(terminal, of: caller) }
        var display: SheetDisplay?
        let choice = FrontEndChoice(
            configuration: configuration, terminal: terminal, terminalType: caller.terminalType,
            isTyped: question.kind.isTyped, isUnproved: question.isUnproved,
            isLoginTerminal: (try? terminal?.get()).map { check.isLogin(on: $0, of: caller) } ?? false,
            pinentryDistrust: configuration.pinentryPath.flatMap(distrust),
            findDisplay: {
                findDisplay().map { found in
                    display = found
                    return found.options
                }
            })
        return choice.choose().map { frontEnd in
            let request = PromptRequest(
                question: frontEnd.tellsWhenShown ? question : question.withoutSensors,
                program: DisplayText(fact: caller.program),
                application: caller.application.map { DisplayText(fact: $0) }, processID: caller.processID,
                frontEnd: frontEnd, timeLimitSeconds: configuration.timeLimitSeconds)
            let usedTerminal = frontEnd.usesTerminal ? try? terminal?.get() : nil
            let drawn = frontEnd.isSheet ? display : nil
            return PlacedQuestion(at: usedTerminal.map { .terminal($0.device) } ?? .dialog) { live in
                ask(request, on: usedTerminal?.descriptor, drawn, caller, live)
            }
        }
    }

    private static func isNamedInFull(_ question: PromptQuestion, _ caller: PromptCaller) -> Bool {
        DisplayText(wholeFact: caller.program) != nil && question.objects?.areAllNamedInFull != false
    }

    /// A sheet is optional, because it needs GTK.
    private func findDisplay() -> Result<SheetDisplay, DisplayRefusal> {
        let found = displays.find()
        guard case .success = found, unsafe access(sheetProgram, X_OK) != 0 else { return found }
        return .failure(.notInstalled)
    }

    /// The reason why a pinentry must not be started now; nil when it may be. The prompt itself is not checked. It lies
    /// beside the daemon, and an attacker who can replace it can replace the daemon with this check too.
    private func distrust(_ program: String) -> ProgramDistrust? {
        do { try ProgramTrust.verify(program, userID: userID) } catch { return error }
        return nil
    }

    private func verified(_ terminal: SharedDescriptor, of caller: PromptCaller) -> Result<
        VerifiedTerminal, TerminalRefusal
    > {
        do { return .success(try check.verify(terminal, of: caller)) } catch { return .failure(error) }
    }

    private func ask(
        _ request: PromptRequest, on terminal: SharedDescriptor?, _ display: SheetDisplay?, _ caller: PromptCaller,
        _ live: LiveQuestion
    ) -> PromptOutcome {
        let before: TerminalState?
        do { before = try terminal.map { try TerminalState(of: $0.number) } } catch {
            return .interrupted(by: .terminalGone)
        }
        guard
            var process = try? PromptProcess(
                program: display == nil ? program : sheetProgram, request: request, terminal: terminal?.number,
                display: display?.socket?.number)
        else { return .unavailable(.promptFailed) }
        let updates = process.updates
        let interruption = live.showingUpdates(with: updates.send) {
            watch(&process, hasTerminal: terminal != nil, mustBeDrawn: display != nil, caller, live)
        }
        let end = process.finish(askedFor: request.question.kind.factor)
        if let terminal { before?.restoreIfChanged(on: terminal.number) }
        // An answer that came together with a reason to take the question away is no answer.
        switch interruption ?? live.cancellation.interruption.map(Interruption.because) {
        case .because(let interruption): return .interrupted(by: interruption)
        case .stuck: return .timedOut
        case .notDrawn: return .unavailable(.displayRefused(.noAnswer))
        case nil: return outcome(of: end, to: request.question.kind)
        }
    }

    private enum Interruption { case because(PromptInterruption), stuck, notDrawn }

    /// Waits until the prompt said its last word: then nil. Otherwise why it has to be ended.
    private func watch(
        _ process: inout PromptProcess, hasTerminal: Bool, mustBeDrawn: Bool, _ caller: PromptCaller,
        _ live: LiveQuestion
    ) -> Interruption? {
        let drawDeadline = ContinuousClock.now.advanced(by: Self.drawPatience)
        var isShown = false
        let limit = Duration.seconds(configuration.timeLimitSeconds) + Self.stuckPatience
        let deadline = ContinuousClock.now.advanced(by: limit)
        while ContinuousClock.now < deadline {
            if let interruption = interruption(of: caller, hasTerminal: hasTerminal) { return .because(interruption) }
            var polled = [
                pollfd(fd: live.cancellation.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: process.replyDescriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&polled, nfds_t(polled.count), Self.watchMilliseconds) > 0 else {
                if mustBeDrawn, !isShown, ContinuousClock.now >= drawDeadline { return .notDrawn }
                continue
            }
            if let interruption = live.cancellation.interruption { return .because(interruption) }
            guard polled[1].revents != 0 else { continue }
            guard process.readWord() == .shown else { return nil }
            isShown = true
            live.noteShown()
        }
        return .stuck
    }

    private func interruption(of caller: PromptCaller, hasTerminal: Bool) -> PromptInterruption? {
        guard hasTerminal else {
            return (try? TerminalCheck.status(of: caller)) == nil ? .clientGone : nil
        }
        switch TerminalCheck.refusal(for: caller) {
        case nil: return nil
        case .callerGone: return .clientGone
        case .notControllingTerminal: return .terminalGone
        default: return .background
        }
    }

    private func outcome(of end: consuming PromptEnd, to kind: PromptKind) -> PromptOutcome {
        switch consume end {
        case .entered(let secret):
            guard let factor = kind.factor else { return .interrupted(by: .promptEnded) }
            return .entered(EnteredSecret(secret, for: factor))
        case .reply(let reply): return outcome(of: reply, to: kind)
        case .silent: return .interrupted(by: .promptEnded)
        }
    }

    private func outcome(of reply: PromptReply, to kind: PromptKind) -> PromptOutcome {
        switch reply {
        case .confirmed where kind.isConfirmation: .confirmed
        case .cancelled: .cancelled
        case .fallback: .fallback
        case .timedOut: .timedOut
        case .terminalGone: .interrupted(by: .terminalGone)
        case .dialogFailed: .unavailable(.dialogFailed)
        case .displayFailed: .unavailable(.displayRefused(.noAnswer))
        case .badRequest: .unavailable(.promptFailed)
        case .unshowable: .unavailable(.unshowable)
        case .shown, .ended, .entered, .confirmed: .interrupted(by: .promptEnded)
        }
    }
}

extension PromptFrontEnd {
    fileprivate var isSheet: Bool { if case .sheet = self { true } else { false } }
    fileprivate var tellsWhenShown: Bool { self == .terminal || isSheet }

    fileprivate var usesTerminal: Bool {
        switch self {
        case .terminal: true
        case .pinentry(let options): options.terminalPath != nil
        case .sheet: false
        }
    }
}

extension SheetDisplay {
    /// Its name for the sheet.
    fileprivate var options: SheetOptions.Display {
        switch self {
        case .wayland: .wayland
        case .x11(let name, let authority): .x11(name: name, authority: authority)
        }
    }

    fileprivate var socket: UnixSocket? { if case .wayland(let socket) = self { socket } else { nil } }
}
