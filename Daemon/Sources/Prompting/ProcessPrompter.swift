import ExactNames
import Glibc
package import HelperProcesses
public import ProcessFacts
public import PromptProtocol
import SecretMemory
package import Settings
import UnixSocket

/// Asks one user through `ostiary-prompt` or `ostiary-sheet`, with a new process for each question. Only a question that is put again
/// after a wrong answer comes in the window that is there.
///
/// The daemon keeps its own copy of the terminal's settings. It restores them after every end of the prompt, kill -9
/// included. While a question is on a terminal, it checks five times a second that the caller still exists and is in
/// the foreground.
public struct ProcessPrompter: PlacingPrompter {
    private let helpers: HelperRoads
    private let configuration: PromptConfiguration
    private let userID: UInt32
    private let check: TerminalCheck
    private let displays: DisplayFinder
    private let sessions: any SessionRecords
    private let accessibility: AccessibilityBus
    private let buses: SessionBuses
    private let trustedPlace: TrustedPlace?
    private let heldSheet = HeldSheetPlace()

    private static let watchMilliseconds: CInt = 200
    /// The prompt keeps the time limit itself. If it exceeds the limit by this time, it counts as stuck.
    private static let stuckPatience: Duration = .seconds(2)

    /// A display that has not shown the question within this time counts as not answering. A first start without a font
    /// cache takes more than a second.
    package var drawPatience: Duration = .seconds(10)
    /// The service of the trusted place admits one question, and needs a moment after the last one.
    private static let placePatience: Duration = .seconds(5)
    /// The longest time of a question at the trusted place, below the time that the service manager gives it
    /// (`ostiary-vt@.service`): a question that ends by itself puts the screen in order.
    private static let placeSeconds = 240

    /// - Parameters:
    ///   - helpers: how the programs that ask are reached.
    ///   - userID: the user who is asked. A pinentry that others than the daemon's user could replace is not started.
    ///   - facts: reads the machine's facts about callers.
    ///   - buses: the buses that know the user's session.
    ///   - sessions: tells who sits at this machine.
    ///   - trustedPlace: the console of Ostiary's own; nil where there is none.
    package init(
        _ helpers: HelperRoads, configuration: PromptConfiguration, userID: UInt32, facts: any CallerFacts,
        buses: SessionBuses, sessions: any SessionRecords, trustedPlace: TrustedPlace? = nil
    ) {
        self.trustedPlace = trustedPlace
        self.helpers = helpers
        self.configuration = configuration
        self.userID = userID
        check = TerminalCheck(
            policy: configuration.terminalPolicy, facts: facts, sessions: helpers.display == nil ? nil : sessions)
        self.buses = buses
        displays = DisplayFinder(
            configuration: configuration, buses: buses, userID: userID, sessions: sessions, helper: helpers.display)
        self.sessions = sessions
        accessibility = AccessibilityBus(buses: buses, userID: userID)
    }

    public func place(
        _ question: PromptQuestion, for caller: PromptCaller
    ) -> Result<PlacedQuestion, PromptUnavailability> {
        // The display, the buses and the held sheet are this user's.
        guard caller.userID == userID else { return .failure(.otherUser) }
        guard !question.isShownInFull || Self.isNamedInFull(question, caller) else { return .failure(.unshowable) }
        let terminal = caller.terminal.map { terminal in verified(terminal, of: caller) }
        let isLogin = (try? terminal?.get()).map { check.isLogin(on: $0, of: caller) } ?? false
        // First: while the place is being left, no session is in the foreground.
        let mayBePlaced = question.isAtTrustedPlace || configuration.frontEnds.contains(.vt)
        let place = mayBePlaced ? findPlace(for: caller) : .failure(.absent)
        let sensorRefusal = question.sensors.isEmpty ? nil : sensorRefusal(ofProcess: caller.processID, of: userID)
        if let sensorRefusal, !question.kind.isTyped { return .failure(.sensorRefused(sensorRefusal)) }
        var display: SheetDisplay?
        let choice = FrontEndChoice(
            configuration: configuration, terminal: terminal, terminalType: caller.terminalType,
            isAtTrustedPlace: question.isAtTrustedPlace, findPlace: { place },
            isTyped: question.kind.isTyped, isUnproved: question.isUnproved,
            isLoginTerminal: isLogin, hasSensors: !question.sensors.isEmpty && sensorRefusal == nil,
            isTerminalForSensors: question.sensors.contains { isTerminal(for: $0, isLogin: isLogin) },
            isDialogForSensors: question.sensors.contains { isDialog(for: $0, of: caller) },
            pinentryDistrust: configuration.pinentryPath.flatMap(distrust),
            findDisplay: {
                findDisplay().map { found in
                    display = found
                    return found.options
                }
            }, findAccessibilityBus: accessibility.address, findLanguage: findLanguage)
        return choice.choose().map { frontEnd in
            let armsSensors = frontEnd.tellsWhenShown && sensorRefusal == nil
            let armed = question.sensors.indices.filter { index in
                let sensor = question.sensors[index]
                return armsSensors
                    && (frontEnd.usesTerminal
                        ? isTerminal(for: sensor, isLogin: isLogin) : isDialog(for: sensor, of: caller))
            }
            let request = PromptRequest(
                question: question.keepingSensors(armed),
                program: DisplayText(fact: caller.program.text),
                application: caller.application.map { DisplayText(fact: $0) }, label: caller.label,
                door: caller.door.map { DisplayText(fact: $0.program.text) }, clientLabel: caller.door?.shownLabel,
                processID: caller.processID,
                frontEnd: frontEnd, timeLimitSeconds: timeLimitSeconds(of: frontEnd))
            let usedTerminal = frontEnd.usesTerminal ? try? terminal?.get() : nil
            let drawn = frontEnd.isSheet ? display : nil
            // Nobody is told that a question is visible which says nothing of its sensors: they stay off.
            let tellsShown = !armed.isEmpty || question.sensors.isEmpty
            let shown = tellsShown ? ShownSensors(indices: armed) : nil
            if frontEnd.isTrustedPlace, let trustedPlace {
                return PlacedQuestion(at: .trusted) { live in
                    ask(request, at: trustedPlace, caller, live, shown: shown)
                }
            }
            return PlacedQuestion(at: usedTerminal.map { .terminal($0.device) } ?? .dialog(of: caller.owner)) { live in
                ask(request, on: usedTerminal?.descriptor, drawn, caller, live, shown: shown)
            }
        }
    }

    public func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
        sessions.refusal(ofProcess: processID, of: userID)
    }

    public func laterSensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> () -> SensorRefusal? {
        sessions.laterRefusal(ofProcess: processID, of: userID)
    }

    public var hasTrustedPlace: Bool { trustedPlace != nil }

    public func placeRefusal(ofProcess processID: Int32, of userID: UInt32) -> PlaceRefusal? {
        guard let trustedPlace else { return .absent }
        return trustedPlace.refusal(ofProcess: processID, of: userID, sessions)
    }

    private func timeLimitSeconds(of frontEnd: PromptFrontEnd) -> Int {
        frontEnd.isTrustedPlace
            ? min(configuration.timeLimitSeconds, Self.placeSeconds) : configuration.timeLimitSeconds
    }

    private func findPlace(for caller: PromptCaller) -> Result<TrustedPlaceOptions, PlaceRefusal> {
        if let refusal = placeRefusal(ofProcess: caller.processID, of: userID) { return .failure(refusal) }
        return trustedPlace?.options(for: caller.owner) ?? .failure(.absent)
    }

    /// Whether the sensor may wait beside a question on a terminal. A finger is not aimed at a window: a program could put its
    /// question on a terminal that nobody looks at. A face is not even shown on purpose, so it has a setting of its own.
    private func isTerminal(for sensor: PromptSensor, isLogin: Bool) -> Bool {
        switch policy(of: sensor) {
        case .any: true
        case .login: isLogin
        case .never: false
        }
    }

    /// Whether the sensor may wait beside a question in a dialog. A hidden `sudo` has its question shown there, too, and the next touch may
    /// be meant for something else.
    private func isDialog(for sensor: PromptSensor, of caller: PromptCaller) -> Bool {
        !caller.needsLoginForSensors || policy(of: sensor) == .any
    }

    private func policy(of sensor: PromptSensor) -> TerminalPolicy {
        sensor.kind == .face ? configuration.facePolicy : configuration.fingerPolicy
    }

    /// How a program without a terminal is asked for a passcode now, or why that is impossible.
    public func frontEndWithoutTerminal() -> Result<PromptFrontEnd, PromptUnavailability> {
        FrontEndChoice(
            configuration: configuration, terminal: nil, terminalType: .vt100,
            pinentryDistrust: configuration.pinentryPath.flatMap(distrust), findDisplay: { display() }
        ).choose()
    }

    /// The display on which a sheet would be drawn now, or why there is none.
    public func display() -> Result<SheetOptions.Display, DisplayRefusal> { findDisplay().map(\.options) }

    private static func isNamedInFull(_ question: PromptQuestion, _ caller: PromptCaller) -> Bool {
        let programs = [caller.program, caller.door?.program].compactMap(\.self)
        return programs.allSatisfy { DisplayText(wholeFact: $0.text) != nil }
            && question.objects?.areAllNamedInFull != false
    }

    private func findDisplay() -> Result<SheetDisplay, DisplayRefusal> {
        let found = displays.find()
        guard case .success = found, !helpers.sheet.isThere else { return found }
        return .failure(.notInstalled)
    }

    /// The configured language of the sheet, or that of the user's session. Neither a caller nor the daemon's own environment
    /// names it. A daemon under an account of its own may not ask the user's bus, and takes the machine's language.
    private func findLanguage() -> SheetLanguage {
        if let language = configuration.sheetLanguage { return language }
        return SheetLanguage(
            ofSession: helpers.display == nil
                ? SessionVariables.of(userID, at: buses.user) : MachineLocale.variables())
    }

    /// Why a pinentry must not be started now; nil when it may be. It runs as the daemon's user, so it must be theirs or root's
    /// for every user who is asked. The prompt itself is not checked. It lies beside the daemon, so an attacker who can replace it can also
    /// replace the daemon with this check.
    private func distrust(_ program: String) -> ProgramDistrust? {
        do { try ProgramTrust.verify(program, userID: geteuid()) } catch { return error }
        return nil
    }

    private func verified(_ terminal: SharedDescriptor, of caller: PromptCaller) -> Result<
        VerifiedTerminal, TerminalRefusal
    > {
        do { return .success(try check.verify(terminal, of: caller)) } catch { return .failure(error) }
    }

    private func ask(
        _ request: PromptRequest, on terminal: SharedDescriptor?, _ display: SheetDisplay?, _ caller: PromptCaller,
        _ live: LiveQuestion, shown: ShownSensors?
    ) -> PromptOutcome {
        let before: TerminalState?
        do { before = try terminal.map { try TerminalState(of: $0.number) } } catch {
            return .interrupted(by: .terminalGone)
        }
        if terminal == nil, let process = live.heldSheet?.take(for: request),
            let outcome = ask(request, again: process, caller, live, shown)
        {
            return outcome
        }
        if terminal == nil {
            // The window of another question goes, also when this prompter did not open it.
            live.heldSheet?.close()
            heldSheet.clear()
        }
        let process: PromptProcess
        do {
            process = try PromptProcess(
                display == nil ? helpers.prompt : helpers.sheet, request: request, terminal: terminal?.number,
                display: display, stoppedBy: live.cancellation.descriptor)
        } catch {
            if let interruption = live.cancellation.interruption { return .interrupted(by: interruption) }
            return .unavailable(.promptFailed(reason: "\(error)"))
        }
        let outcome = wait(
            for: process, request, hasTerminal: terminal != nil, mustBeDrawn: display != nil, caller, live, shown)
        if let terminal { before?.restoreIfChanged(on: terminal.number) }
        return outcome
    }

    /// Puts the question at the trusted place. The service manager ends a connection at once while the last question's service is
    /// still there, so this tries it for a moment.
    private func ask(
        _ request: PromptRequest, at place: TrustedPlace, _ caller: PromptCaller, _ live: LiveQuestion,
        shown: ShownSensors?
    ) -> PromptOutcome {
        let deadline = ContinuousClock.now.advanced(by: Self.placePatience)
        while true {
            do {
                let process = try PromptProcess(
                    place.road, request: request, terminal: nil, display: nil,
                    stoppedBy: live.cancellation.descriptor)
                defer { place.noteUse() }
                return wait(for: process, request, hasTerminal: false, mustBeDrawn: false, caller, live, shown)
            } catch HelperUnavailability.ended where ContinuousClock.now < deadline {
                if let interruption = live.cancellation.wait(milliseconds: 100) {
                    return .interrupted(by: interruption)
                }
            } catch {
                if let interruption = live.cancellation.interruption { return .interrupted(by: interruption) }
                return .unavailable(.placeRefused(.notReached))
            }
        }
    }

    /// Puts the question again in the window of a sheet; nil if the sheet does not show it, as on another workspace.
    private func ask(
        _ request: PromptRequest, again process: consuming PromptProcess, _ caller: PromptCaller, _ live: LiveQuestion,
        _ shown: ShownSensors?
    ) -> PromptOutcome? {
        var process = process
        guard process.ask(again: request.question) else {
            let isCancelled = process.hasSaid(.cancelled)
            process.kill()
            return isCancelled ? .cancelled : nil
        }
        switch wait(for: process, request, hasTerminal: false, mustBeDrawn: true, caller, live, shown) {
        case .unavailable(.displayRefused(.noAnswer)): return nil
        case let outcome: return outcome
        }
    }

    /// Waits for what a prompt comes to, and ends it, unless its window stays for the check of the answer.
    private func wait(
        for process: consuming PromptProcess, _ request: PromptRequest, hasTerminal: Bool, mustBeDrawn: Bool,
        _ caller: PromptCaller, _ live: LiveQuestion, _ shown: ShownSensors?
    ) -> PromptOutcome {
        let updates = process.updates
        var running = process
        let interruption = live.showingUpdates(with: { update in
            if let update = shown?.update(update) { updates.send(.update(update)) }
        }) {
            watch(
                &running, hasTerminal: hasTerminal, mustBeDrawn: mustBeDrawn,
                timeLimitSeconds: request.timeLimitSeconds, termCount: request.question.terms.count, caller, live,
                shown)
        }
        if case .because(.proved) = interruption, !hasTerminal, !request.frontEnd.isTrustedPlace {
            // A window needs no time to clean up, and the program waits for what a sensor has proved.
            running.removeWindow()
            return .interrupted(by: .proved)
        }
        // An answer does not count if the question was taken away meanwhile.
        let reason = interruption ?? live.cancellation.interruption.map(Interruption.because)
        if reason == nil, mustBeDrawn, let factor = request.question.kind.factor,
            let secret = running.takeSecret(askedFor: factor)
        {
            let sheet = HeldSheet(running, of: request)
            heldSheet.put(sheet)
            return .entered(EnteredSecret(secret, for: factor, on: sheet))
        }
        let end = running.finish(askedFor: request.question.kind.factor)
        switch reason {
        case .because(let interruption): return .interrupted(by: interruption)
        case .stuck: return .timedOut
        case .notDrawn: return .unavailable(.displayRefused(.noAnswer))
        case nil: return outcome(of: end, to: request)
        }
    }

    private enum Interruption { case because(PromptInterruption), stuck, notDrawn }

    /// Waits for the prompt's last word; then nil. Otherwise the reason why the prompt must be ended.
    private func watch(
        _ process: inout PromptProcess, hasTerminal: Bool, mustBeDrawn: Bool, timeLimitSeconds: Int, termCount: Int,
        _ caller: PromptCaller, _ live: LiveQuestion, _ shown: ShownSensors?
    ) -> Interruption? {
        let drawDeadline = ContinuousClock.now.advanced(by: drawPatience)
        var isShown = false
        let limit = Duration.seconds(timeLimitSeconds) + Self.stuckPatience
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
            // A choice that the person made before a sensor noticed them must not be missed.
            while process.hasWord {
                guard let word = process.readWord(), !word.isLast else {
                    return live.cancellation.interruption.map(Interruption.because)
                }
                if let term = word.chosenTerm {
                    live.note(term: min(term, termCount))
                    continue
                }
                isShown = true
                if let shown { live.noteShown(sensors: shown.indices) }
            }
            if let interruption = live.cancellation.interruption { return .because(interruption) }
        }
        return .stuck
    }

    private func interruption(of caller: PromptCaller, hasTerminal: Bool) -> PromptInterruption? {
        guard hasTerminal else {
            return (try? TerminalCheck.status(of: caller)) == nil ? .clientGone : nil
        }
        switch TerminalCheck.refusal(for: caller) {
        case nil: return nil
        case .callerGone, .callerUnreadable: return .clientGone
        case .notControllingTerminal: return .terminalGone
        default: return .background
        }
    }

    private func outcome(of end: consuming PromptEnd, to request: PromptRequest) -> PromptOutcome {
        switch consume end {
        case .entered(let secret):
            guard let factor = request.question.kind.factor else { return .interrupted(by: .promptEnded) }
            return .entered(EnteredSecret(secret, for: factor))
        case .reply(let reply):
            if reply == .displayFailed, request.frontEnd.isTrustedPlace {
                return .unavailable(.placeRefused(.notReached))
            }
            return outcome(of: reply, to: request.question.kind)
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
        case .switchedAway: .interrupted(by: .switchedAway)
        case .dialogFailed: .unavailable(.dialogFailed)
        case .displayFailed: .unavailable(.displayRefused(.noAnswer))
        case .badRequest: .unavailable(.promptFailed(reason: "it did not understand the question"))
        case .unshowable: .unavailable(.unshowable)
        case .shown, .ended, .entered, .confirmed, .once, .firstTerm, .secondTerm:
            .interrupted(by: .promptEnded)
        }
    }
}

extension PromptDoor {
    fileprivate var shownLabel: DisplayText? { label.isEmpty ? nil : DisplayText(showing: label) }
}

extension PromptFrontEnd {
    fileprivate var isSheet: Bool { if case .sheet = self { true } else { false } }
    fileprivate var isTrustedPlace: Bool { if case .trustedPlace = self { true } else { false } }
    fileprivate var tellsWhenShown: Bool { self == .terminal || isSheet || isTrustedPlace }

    fileprivate var usesTerminal: Bool {
        switch self {
        case .terminal: true
        case .pinentry(let options): options.terminalPath != nil
        case .sheet, .trustedPlace: false
        }
    }
}

extension SheetDisplay {
    /// The display in the sheet's options.
    fileprivate var options: SheetOptions.Display {
        switch self {
        case .wayland: .wayland
        case .x11(let name, .unneeded): .x11(name: name, authority: nil)
        case .x11(let name, .file(let path)): .x11(name: name, authority: path)
        case .x11(let name, .copy):
            .x11(name: name, authority: "/proc/self/fd/\(PromptDescriptor.cookies)")
        }
    }
}
