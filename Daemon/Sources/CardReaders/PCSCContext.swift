import CPCSC
import Glibc

/// A connection to pcscd. Belongs to one thread.
struct PCSCContext: ~Copyable {
    private let context: SCARDCONTEXT

    /// Nil when pcscd does not run, or does not let this user in.
    init?() {
        var context: SCARDCONTEXT = 0
        guard SCardEstablishContext(DWORD(SCARD_SCOPE_SYSTEM), nil, nil, &context) == 0 else { return nil }
        self.context = context
    }

    deinit { SCardReleaseContext(context) }

    borrowing func readers() -> [String] {
        var names = [CChar](repeating: 0, count: OSTIARY_SCARD_READER_NAMES)
        var count = DWORD(names.count)
        guard SCardListReaders(context, nil, &names, &count) == 0 else { return [] }
        // Names one behind the other, each with a zero byte at its end.
        return names.prefix(Int(count)).split(separator: 0).map { name in
            String(decoding: name.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    borrowing func cards() -> [PresentCard] { readers().compactMap { card(at: $0) } }

    /// The card at one reader.
    borrowing func card(at reader: String) -> PresentCard? {
        guard let state = state(of: reader) else { return nil }
        guard state & DWORD(SCARD_STATE_PRESENT) != 0, state & DWORD(SCARD_STATE_MUTE) == 0 else { return nil }
        return PresentCard(reader: reader, eventCount: Self.eventCount(in: state))
    }

    /// How many cards came to a reader and went since pcscd knows it; nil when there is no such reader.
    borrowing func eventCount(at reader: String) -> UInt16? { state(of: reader).map { Self.eventCount(in: $0) } }

    /// The upper half counts (SCardGetStatusChange of pcsc-lite).
    private static func eventCount(in state: DWORD) -> UInt16 { UInt16(truncatingIfNeeded: state >> 16) }

    private borrowing func state(of reader: String) -> DWORD? {
        reader.withCString { name in
            var state = SCARD_READERSTATE()
            state.szReader = name
            state.dwCurrentState = DWORD(SCARD_STATE_UNAWARE)
            guard SCardGetStatusChange(context, 0, &state, 1) == 0 else { return nil }
            return state.dwEventState
        }
    }

    /// Powers the card at a reader, for this program alone.
    borrowing func connect(to reader: String) throws(PCSCError) -> CardConnection {
        var (handle, active): (SCARDHANDLE, DWORD) = (0, 0)
        let protocols = DWORD(SCARD_PROTOCOL_T0 | SCARD_PROTOCOL_T1)
        let code = SCardConnect(context, reader, DWORD(SCARD_SHARE_EXCLUSIVE), protocols, &handle, &active)
        guard code == 0 else { throw PCSCError(code: code) }
        return CardConnection(handle: handle, protocolNumber: active)
    }
}

/// A code of libpcsclite other than success.
struct PCSCError: Error {
    let code: LONG

    /// Whether another program uses the card.
    var isSharingViolation: Bool { code == ostiary_scard_sharing_violation }
}

/// A powered card. It must not outlive its context.
struct CardConnection: ~Copyable {
    private let handle: SCARDHANDLE
    private let protocolNumber: DWORD

    init(handle: SCARDHANDLE, protocolNumber: DWORD) {
        (self.handle, self.protocolNumber) = (handle, protocolNumber)
    }

    deinit { SCardDisconnect(handle, DWORD(SCARD_UNPOWER_CARD)) }

    /// Gives the card one command, and waits for its answer: for as long as the driver of the reader waits.
    ///
    /// - Returns: nil when the card is gone or was reset, or when the reader could not reach it.
    borrowing func transmit(_ command: [UInt8]) -> [UInt8]? {
        var request = SCARD_IO_REQUEST()
        request.dwProtocol = UInt(protocolNumber)
        request.cbPciLength = UInt(MemoryLayout<SCARD_IO_REQUEST>.size)
        var answer = [UInt8](repeating: 0, count: OSTIARY_SCARD_ANSWER)
        var count = DWORD(answer.count)
        guard SCardTransmit(handle, &request, command, DWORD(command.count), nil, &answer, &count) == 0 else {
            return nil
        }
        return Array(answer.prefix(Int(count)))
    }
}
