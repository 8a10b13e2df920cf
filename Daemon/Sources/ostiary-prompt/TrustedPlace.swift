import Glibc
import PromptProgram
import PromptProtocol

/// A console of Ostiary's own: no program of a person draws, reads or types there.
///
/// The program switches to its console, asks, and switches back. The number of the former console lies in a file, so that the service
/// manager can have it brought back after a kill (``leave()``).
struct TrustedPlace {
    let consoles: any Consoles
    let former: ConsoleFile

    /// The console's terminal.
    private static let terminal = STDIN_FILENO
    /// A compositor may take so long to let the screen go.
    private static let switchPatience: Duration = .seconds(3)
    private static let step: Duration = .milliseconds(20)
    /// Keys of the first moment were meant for what was on the screen before.
    private static let settling: Duration = .milliseconds(500)
    /// Attributes off, cursor on, screen and what was scrolled away cleared (console_codes(4)).
    private static let clearing = "\u{1B}[0m\u{1B}[?25h\u{1B}[2J\u{1B}[3J\u{1B}[H"

    func ask(_ request: PromptRequest, _ options: TrustedPlaceOptions, _ watch: borrowing PromptWatch) -> Answer {
        guard let own = consoles.own, let before = try? consoles.active(), former.remember(before) else {
            return .reply(.displayFailed)
        }
        defer { leave() }
        if let failure = enter(own, watch) { return .reply(failure) }
        clear()
        return TerminalFrontEnd(
            terminal: Self.terminal, request: request,
            place: TerminalFrontEnd.Place(options: options, isHere: { consoles.isHere })
        ).ask(watch)
    }

    /// Brings the former console back, if this one still has the screen. Somebody who switched away meanwhile is left alone.
    func leave() {
        clear()
        defer { former.remove() }
        guard consoles.isHere, let number = former.number, number != consoles.own,
            (try? consoles.activate(number)) != nil
        else { return }
        // The end of this program tells the daemon that the place is free.
        let end = ContinuousClock.now.advanced(by: .seconds(1))
        while consoles.isHere, ContinuousClock.now < end { usleep(20_000) }
    }

    /// Switches to the console, and waits a moment there. Never VT_WAITACTIVE: nobody could end that wait.
    ///
    /// - Returns: the word of a failure; nil when the console is here.
    private func enter(_ own: UInt16, _ watch: borrowing PromptWatch) -> PromptReply? {
        guard (try? consoles.activate(own)) != nil else { return .displayFailed }
        let deadline = ContinuousClock.now.advanced(by: Self.switchPatience)
        while !consoles.isHere {
            guard ContinuousClock.now < deadline else { return .displayFailed }
            if let end = pause(Self.step, watch) { return end }
        }
        guard consoles.isFree else { return .displayFailed }
        return pause(Self.settling, watch)
    }

    /// The word of what has ended the question meanwhile; nil for nothing.
    private func pause(_ time: Duration, _ watch: borrowing PromptWatch) -> PromptReply? {
        let end = ContinuousClock.now.advanced(by: time)
        while true {
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { return nil }
            switch watch.wait(for: -1, patience: left) {
            case .ended: return .ended
            case .timedOut: return .timedOut
            // The question shows the sensors' first texts when it is put, and their next ones after that.
            case .updated, .again, .readable, .closed, .quiet: continue
            }
        }
    }

    private func clear() {
        let bytes = Array(Self.clearing.utf8)
        _ = unsafe write(Self.terminal, bytes, bytes.count)
    }
}
