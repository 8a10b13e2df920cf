import Glibc
import PromptProgram
import PromptProtocol
import SecretBuffers
import UnixSocket

/// Asks through a pinentry program.
struct PinentryFrontEnd {
    let options: PinentryOptions
    let request: PromptRequest

    /// Starts the dialog, waits for an answer, ends the dialog, and restores the terminal if it was given one: pinentry-tty
    /// leaves it without echo when it is terminated.
    func ask(_ watch: borrowing PromptWatch) -> Answer {
        guard options.terminalPath != nil else { return askInDialog(watch) }
        let terminal = PromptDescriptor.terminal
        // A dialog makes its own settings, and has to open the terminal itself: no TIOCEXCL. Ctrl-C stays a signal to the
        // caller, because as a byte the dialogs would take it for a part of the secret.
        guard let before = try? TerminalState(of: terminal), tcflush(terminal, TCIFLUSH) == 0 else {
            return .reply(.terminalGone)
        }
        defer { before.restore(on: terminal) }
        return askInDialog(watch)
    }

    private func askInDialog(_ watch: borrowing PromptWatch) -> Answer {
        guard request.question.kind.isTyped else { return .reply(.unshowable) }
        guard let commands = PinentryScript(options: options, request: request).commands else {
            return .reply(.unshowable)
        }
        guard let dialog = try? PinentryProcess(options) else { return .reply(.dialogFailed) }
        var session = PinentrySession(dialog)
        let answer = converse(commands, &session, watch)
        session.end()
        return answer
    }

    private func converse(
        _ commands: [PinentryScript.Command], _ session: inout PinentrySession, _ watch: borrowing PromptWatch
    ) -> Answer {
        if let failure = session.greet(watch) { return .reply(failure) }
        for command in commands {
            switch session.run(command.line, watch) {
            case .ok: continue
            // Older programs lack some settings. The description is required, because without it the person would not
            // see the question.
            case .error where !command.isRequired: continue
            case .error: return .reply(.dialogFailed)
            case .failed(let reply): return .reply(reply)
            }
        }
        return request.question.kind.isConfirmation ? confirm(&session, watch) : readSecret(&session, watch)
    }

    private func confirm(_ session: inout PinentrySession, _ watch: borrowing PromptWatch) -> Answer {
        switch session.run(Assuan.command("CONFIRM"), watch) {
        case .ok: .reply(.confirmed)
        case .error(let code): .reply(Self.reply(toError: code))
        case .failed(let reply): .reply(reply)
        }
    }

    private func readSecret(_ session: inout PinentrySession, _ watch: borrowing PromptWatch) -> Answer {
        while true {
            var secret = SecretLine(capacity: PromptLimits.secretByteCount)
            switch session.run(Assuan.command("GETPIN"), watch, data: &secret) {
            case .ok where !secret.isEmpty: return .entered(secret.take())
            case .ok: break
            case .error(let code): return .reply(Self.reply(toError: code))
            case .failed(let reply): return .reply(reply)
            }
            if case .failed(let reply) = session.run(Assuan.command("SETERROR", "Nothing was entered."), watch) {
                return .reply(reply)
            }
        }
    }

    /// libgpg-error's codes that a dialog ends with.
    private static func reply(toError code: UInt16) -> PromptReply {
        switch code {
        case 62: .timedOut  // GPG_ERR_TIMEOUT
        case 99, 114, 198: .cancelled  // GPG_ERR_CANCELED, _NOT_CONFIRMED, _FULLY_CANCELED
        default: .dialogFailed
        }
    }
}
