import CFIDO2
import Glibc
import SecurityKeyProtocol
import Synchronization

/// Messages of CTAP over NFC (CTAP 2.1, 11.3), through the socket that leads to the card. libfido2 of Debian has no PC/SC.
///
/// SAFETY: (@unchecked) all but a cancel happens on the thread that works on requests, and a cancel only sets an atomic.
final class CardMessages: @unchecked Sendable {
    static let shared = CardMessages()
    static let isCancelled = Atomic<Bool>(false)

    /// The longest answer of CTAP (CTAP 2.1, 11.3.2 has no limit; libfido2 takes 2048 bytes).
    private static let answerByteCount = 4096
    /// How long a card may take for a piece of a command that is not the last.
    private static let pieceMilliseconds: CInt = 10_000
    /// How often a cancel is looked for.
    private static let sliceMilliseconds: CInt = 100
    /// How long a cancelled card gets to say so.
    private static let cancelMilliseconds: CInt = 1000
    /// The pause before the card is asked again.
    private static let statusMicroseconds: UInt32 = 50_000

    /// The command of libfido2 whose answer has not come.
    private var due: UInt8?
    private var nonce: [UInt8] = []
    private var collected: [UInt8] = []
    /// Whether the rest of an answer was asked for.
    private var isRest = false
    private var isCancelSent = false
    private var cancelEnd: ContinuousClock.Instant?
    /// An answer may still come that belongs to no command, or the card broke the rules.
    private(set) var isBroken = false

    /// The functions that libfido2 calls (fido_dev_set_transport_functions(3)).
    static var functions: fido_dev_transport_t {
        fido_dev_transport_t(
            rx: { _, command, bytes, count, milliseconds in
                CardMessages.shared.receive(
                    command, UnsafeMutableBufferPointer(start: bytes, count: count), milliseconds)
            },
            tx: { _, command, bytes, count in
                guard command != UInt8(CTAP_CMD_CANCEL) else {
                    CardMessages.isCancelled.store(true, ordering: .releasing)
                    return 0
                }
                return CardMessages.shared.send(command, Array(UnsafeBufferPointer(start: bytes, count: count)))
                    ? 0 : -1
            })
    }

    /// Whether the answer to a command is still to come.
    var isAnswerDue: Bool { due != nil && !isBroken }

    // MARK: commands

    private func send(_ command: UInt8, _ bytes: [UInt8]) -> Bool {
        guard !isBroken, due == nil, !DeviceReports.isEnded.load(ordering: .relaxed) else { return false }
        let sent: CardCommand?
        switch CInt(command) {
        case CTAP_CMD_INIT:
            nonce = bytes
            sent = .selection
        case CTAP_CMD_CBOR: sent = .message(bytes)
        case CTAP_CMD_MSG: sent = CardCommand(extended: bytes)
        default: sent = nil
        }
        guard let sent else { return false }
        (collected, isRest, isCancelSent, cancelEnd) = ([], false, false, nil)
        guard transmit(sent) else { return false }
        due = command
        return true
    }

    /// Sends all pieces, and waits for the answers to all but the last.
    private func transmit(_ command: CardCommand) -> Bool {
        let pieces = command.pieces
        for piece in pieces.dropLast() {
            guard CardSocket.write(piece) else { return false }
            guard let answer = answer(within: Self.pieceMilliseconds), answer.isSuccess, answer.data.isEmpty else {
                isBroken = true
                return false
            }
        }
        return pieces.last.map(CardSocket.write) ?? false
    }

    // MARK: answers

    /// Waits for the answer to the command that is due. After a time-out it may be waited for again.
    private func receive(
        _ command: UInt8, _ buffer: UnsafeMutableBufferPointer<UInt8>, _ milliseconds: CInt
    ) -> CInt {
        guard due == command, !isBroken else { return -1 }
        let end = milliseconds < 0 ? nil : ContinuousClock.now.advanced(by: .milliseconds(Int(milliseconds)))
        while let answer = answer(until: end) {
            if answer.isStatus, command == UInt8(CTAP_CMD_CBOR) {
                (collected, isRest) = ([], false)
                usleep(Self.statusMicroseconds)
                let cancels = Self.isCancelled.load(ordering: .acquiring) && !isCancelSent
                isCancelSent = isCancelSent || cancels
                guard transmit(.status(cancelling: cancels)) else { return -1 }
                continue
            }
            collected += answer.data
            guard collected.count <= Self.answerByteCount else { return breakOff() }
            guard let rest = answer.restCount else {
                due = nil
                return deliver(command, answer, into: buffer)
            }
            // A card may give few bytes at once, and none before it is asked for the rest, but not none for ever.
            guard !isRest || !answer.data.isEmpty else { return breakOff() }
            isRest = true
            guard transmit(.rest(rest)) else { return -1 }
        }
        return -1
    }

    private func breakOff() -> CInt {
        isBroken = true
        return -1
    }

    private func deliver(
        _ command: UInt8, _ answer: CardAnswer, into buffer: UnsafeMutableBufferPointer<UInt8>
    ) -> CInt {
        switch CInt(command) {
        case CTAP_CMD_INIT: return answer.isSuccess ? copy(attributes(for: collected), to: buffer) : -1
        // A status of CTAP is there at least.
        case CTAP_CMD_CBOR: return answer.isSuccess && !collected.isEmpty ? copy(collected, to: buffer) : -1
        default: return copy(collected + answer.statusWord, to: buffer)
        }
    }

    private func copy(_ bytes: [UInt8], to buffer: UnsafeMutableBufferPointer<UInt8>) -> CInt {
        guard !bytes.isEmpty, bytes.count <= buffer.count else { return -1 }
        _ = buffer.update(from: bytes)
        return CInt(bytes.count)
    }

    /// The answer to CTAPHID_INIT that a key with this version would give (CTAP 2.1, 11.2.9.1.3); empty for no key of FIDO.
    private func attributes(for version: [UInt8]) -> [UInt8] {
        let abilities: CInt
        switch version {
        // A key that knows both says this (CTAP 2.1, 11.3.4). libfido2 takes it for U2F if it gives no description.
        case Array("U2F_V2".utf8): abilities = FIDO_CAP_CBOR
        case Array("FIDO_2_0".utf8): abilities = FIDO_CAP_CBOR | FIDO_CAP_NMSG
        default: return []
        }
        let channel: [UInt8] = [0, 0, 0, 0]
        return nonce + channel + [2, 0, 0, 0, UInt8(abilities)]
    }

    private func answer(within milliseconds: CInt) -> CardAnswer? {
        answer(until: .now.advanced(by: .milliseconds(Int(milliseconds))))
    }

    /// - Parameter end: nil to wait without an end.
    private func answer(until end: ContinuousClock.Instant?) -> CardAnswer? {
        while true {
            var polled = pollfd(fd: SecurityKeyDescriptor.card, events: Int16(POLLIN), revents: 0)
            if poll(&polled, 1, Self.sliceMilliseconds) == 1 {
                let answer = CardSocket.read()
                if answer == nil { isBroken = true }
                return answer
            }
            let now = ContinuousClock.now
            if let end, now >= end { return nil }
            guard Self.isCancelled.load(ordering: .acquiring) else { continue }
            let last = cancelEnd ?? now.advanced(by: .milliseconds(Int(Self.cancelMilliseconds)))
            cancelEnd = last
            // This card answers only at the end of its work. Its answer would be taken for that to the next command.
            guard now < last else {
                isBroken = true
                return nil
            }
        }
    }
}
