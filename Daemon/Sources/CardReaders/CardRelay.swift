import Glibc
import HelperProcesses
import Threading
import UnixSocket

/// Carries APDUs between a card and whoever speaks to it, on a thread of its own. It looks into none of them.
enum CardRelay {
    /// Longer than each command with a length of one byte (ISO/IEC 7816-4, 5.1).
    private static let commandByteCount = 512
    /// How long another program may still use the card.
    private static let sharingTries = 40
    private static let sharingMicroseconds: UInt32 = 50_000

    static func start(_ card: PresentCard) throws(SystemCallError) -> Descriptor {
        let ends = try ChannelEnds()
        let channel = SharedDescriptor(ends.daemon)
        do throws(ThreadShortage) { try Threads.start("ostiary-card") { run(card, channel) } } catch {
            throw SystemCallError("pthread_create", subject: "", code: EAGAIN)
        }
        return ends.program
    }

    /// Ends when the other end is closed, or when the card is gone. The end of this closes the channel.
    private static func run(_ card: PresentCard, _ channel: SharedDescriptor) {
        guard let context = PCSCContext() else { return }
        var connection: CardConnection?
        for _ in 0..<sharingTries where connection == nil {
            do throws(PCSCError) { connection = try context.connect(to: card.reader) } catch {
                guard error.isSharingViolation, isOpen(channel) else { return }
                usleep(sharingMicroseconds)
            }
        }
        // Another card may have come to this reader.
        guard let connection = connection.take(), context.card(at: card.reader) == card else { return }
        while let command = receive(on: channel), let answer = connection.transmit(command) {
            guard !answer.isEmpty, send(answer, on: channel) else { return }
        }
    }

    private static func isOpen(_ channel: SharedDescriptor) -> Bool {
        var polled = pollfd(fd: channel.number, events: 0, revents: 0)
        return poll(&polled, 1, 0) == 0
    }

    /// Waits for the next command; nil when there is none, or when it is too long for one.
    private static func receive(on channel: SharedDescriptor) -> [UInt8]? {
        var command = [UInt8](repeating: 0, count: commandByteCount)
        var count = recv(channel.number, &command, command.count, CInt(MSG_TRUNC))
        while count < 0, errno == EINTR { count = recv(channel.number, &command, command.count, CInt(MSG_TRUNC)) }
        guard (1...commandByteCount).contains(count) else { return nil }
        return Array(command.prefix(count))
    }

    private static func send(_ answer: [UInt8], on channel: SharedDescriptor) -> Bool {
        let flags = CInt(MSG_NOSIGNAL)
        var count = Glibc.send(channel.number, answer, answer.count, flags)
        while count < 0, errno == EINTR { count = Glibc.send(channel.number, answer, answer.count, flags) }
        return count == answer.count
    }
}
