import SecretBuffers

/// Reads keys, one byte at a time, into a ``SecretLine``: a pure state machine that knows neither terminal nor clock.
///
/// Ctrl-C, Escape, and Ctrl-D on an empty line cancel; Backspace, Ctrl-W and Ctrl-U erase; Enter submits; Tab chooses the
/// fallback when there is one, and Ctrl-L the next term. Keys that send an escape sequence (arrows and such) do nothing.
struct LineEditor: ~Copyable {
    private(set) var line: SecretLine
    private let offersFallback: Bool
    private let offersTerms: Bool
    private var escape: Escape = .none
    private var isOverfull = false

    private enum Escape { case none, begun, controlSequence, singleShift }

    /// The effect of a key.
    enum Step: Equatable {
        case edited
        /// The key does nothing here.
        case ignored
        case submitted
        /// Enter on an empty line.
        case empty
        /// More was typed than a field takes; the line was erased.
        case tooLong
        case cancelled
        case fallback
        /// The next term is chosen.
        case nextTerm
    }

    init(capacity: Int, offersFallback: Bool, offersTerms: Bool = false) {
        line = SecretLine(capacity: capacity)
        self.offersFallback = offersFallback
        self.offersTerms = offersTerms
    }

    /// Whether an Escape key came, or the begin of a longer sequence: only the time until the next byte tells.
    var isEscapePending: Bool { escape == .begun }

    /// No byte followed an Escape within a moment: it was the key itself.
    mutating func escapeStoodAlone() -> Step {
        escape = .none
        return .cancelled
    }

    mutating func accept(_ byte: UInt8) -> Step {
        switch escape {
        case .none: return acceptKey(byte)
        case .begun: return acceptAfterEscape(byte)
        case .controlSequence:
            // ECMA-48 section 5.4: parameters and intermediates end with one byte of 40 to 7E.
            if (0x40...0x7E).contains(byte) { escape = .none }
        case .singleShift: escape = .none
        }
        return .ignored
    }

    private mutating func acceptAfterEscape(_ byte: UInt8) -> Step {
        switch byte {
        case UInt8(ascii: "["): escape = .controlSequence
        case UInt8(ascii: "O"): escape = .singleShift
        case 0x1B, 0x03: return escapeStoodAlone()
        default: escape = .none
        }
        return .ignored
    }

    private mutating func acceptKey(_ byte: UInt8) -> Step {
        switch byte {
        case 0x03: return .cancelled
        case 0x04: return line.isEmpty ? .cancelled : .ignored
        case 0x08, 0x7F: line.removeLastCharacter()
        case 0x09: return offersFallback ? .fallback : .ignored
        case 0x0A, 0x0D: return submit()
        case 0x0C: return offersTerms ? .nextTerm : .ignored
        case 0x15: erase()
        case 0x17: line.removeLastWord()
        case 0x1B: escape = .begun
        case 0x00...0x1F: return .ignored
        default:
            guard line.append(byte) else {
                isOverfull = true
                return .ignored
            }
        }
        return .edited
    }

    private mutating func submit() -> Step {
        // A cut-off secret would be another secret than the one that the person typed.
        guard !isOverfull else {
            erase()
            return .tooLong
        }
        return line.isEmpty ? .empty : .submitted
    }

    private mutating func erase() {
        line.removeAll()
        isOverfull = false
    }

    /// Gives up the line. Only sensible after ``Step/submitted``.
    consuming func take() -> SecretBytes { line.take() }
}
