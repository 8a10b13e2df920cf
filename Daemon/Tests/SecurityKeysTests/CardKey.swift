import Cancellations
import Foundation
import Glibc
import SecurityKeyTestSupport
import Synchronization

/// A security key in software at a virtual reader (``TestReaders``): CTAP over NFC (CTAP 2.1, 11.3) behind vpcd's protocol, in
/// which each message has a length of two bytes in front.
final class CardKey: Sendable {
    /// The effect of a fault on an answer; nil gives no answer.
    typealias Fault = @Sendable (_ command: [UInt8], _ answer: [UInt8]) -> [UInt8]?

    private struct State {
        var commands: [[UInt8]] = []
        var chain: [UInt8] = []
        /// The rest of an answer, with its status word.
        var rest: [UInt8] = []
        var running: Running?
        var cancelCount = 0
        var powerCount = 0
    }

    private let connection: CInt
    private let engine: any KeyEngine
    private let version: [UInt8]
    private let pieceByteCount: Int
    private let fault: Fault
    private let state = Mutex(State())
    private let isPresent = Mutex(true)

    /// Puts it at the reader behind a port of the loopback network.
    ///
    /// - Parameters:
    ///   - version: the answer to SELECT; nil for a card without the applet of FIDO.
    ///   - pieceByteCount: how many bytes of an answer it gives at once.
    init(
        at port: UInt16, _ engine: any KeyEngine, version: String? = "U2F_V2", pieceByteCount: Int = 256,
        fault: @escaping Fault = { $1 }
    ) throws {
        self.engine = engine
        self.version = Array((version ?? "").utf8)
        self.pieceByteCount = pieceByteCount
        self.fault = fault
        connection = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard LoopbackAddress(port: port).connect(connection) == 0 else { throw SoftwareKey.KeyFault(code: errno) }
        Thread.detachNewThread { [self] in serve() }
    }

    deinit { remove() }

    /// All commands so far, without vpcd's own.
    var commands: [[UInt8]] { state.withLock { $0.commands } }
    var cancelCount: Int { state.withLock { $0.cancelCount } }
    /// How often the reader powered it.
    var powerCount: Int { state.withLock { $0.powerCount } }

    /// Takes it away from the reader.
    func remove() {
        isPresent.withLock { isPresent in
            guard isPresent else { return }
            isPresent = false
            shutdown(connection, CInt(SHUT_RDWR))
            close(connection)
        }
    }

    // MARK: vpcd

    /// A card without contacts (ISO/IEC 14443-4) as readers show it, with T=1.
    private static let answerToReset: [UInt8] = [0x3B, 0x80, 0x80, 0x01, 0x01]
    private static let (powerOn, askForATR): (UInt8, UInt8) = (1, 4)

    private func serve() {
        while let message = receive() {
            guard message.count > 1 else {
                if message == [Self.askForATR] { send(Self.answerToReset) }
                if message == [Self.powerOn] { state.withLock { $0.powerCount += 1 } }
                continue
            }
            state.withLock { $0.commands.append(message) }
            guard let answer = fault(message, answer(to: message)) else { continue }
            send(answer)
        }
    }

    private func receive() -> [UInt8]? {
        guard let head = receive(2) else { return nil }
        return receive(Int(head[0]) << 8 | Int(head[1]))
    }

    private func receive(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard recv(connection, &bytes, count, CInt(MSG_WAITALL)) == count else { return nil }
        return bytes
    }

    private func send(_ bytes: [UInt8]) {
        let message = [UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes
        _ = Glibc.send(connection, message, message.count, CInt(MSG_NOSIGNAL))
    }

    // MARK: commands

    private static let success: [UInt8] = [0x90, 0x00]
    private static let applet: [UInt8] = [0xA0, 0x00, 0x00, 0x06, 0x47, 0x2F, 0x00, 0x01]

    private func answer(to command: [UInt8]) -> [UInt8] {
        guard command.count >= 5 else { return [0x67, 0x00] }
        let data = command.count == 5 ? [] : Array(command[5...].prefix(Int(command[4])))
        guard command[0] & 0x10 == 0 else {
            state.withLock { $0.chain += data }
            return Self.success
        }
        let request = state.withLock { state in
            defer { state.chain = [] }
            return state.chain + data
        }
        switch (command[0], command[1]) {
        case (0x00, 0xA4):
            guard request == Self.applet, !version.isEmpty else { return [0x6A, 0x82] }
            return first(version + Self.success)
        case (0x00, 0xC0): return first(state.withLock { $0.rest })
        case (0x80, 0x10):
            let running = Running()
            state.withLock { $0.running = running }
            Thread.detachNewThread { [self] in
                running.finish(engine.respond(toCBOR: request, until: running.cancellation))
            }
            return wait(for: running)
        case (0x80, 0x11):
            guard let running = state.withLock({ $0.running }) else { return [0x69, 0x85] }
            if command[2] == 0x11 {
                state.withLock { $0.cancelCount += 1 }
                running.cancellation.cancel()
            }
            return wait(for: running)
        case (0x00, 0x01...0x03):
            let length = [0, UInt8(request.count >> 8), UInt8(truncatingIfNeeded: request.count)]
            return first(engine.respond(toMessage: command[..<4] + length + request))
        default: return [0x6D, 0x00]
        }
    }

    /// The answer, or the word that more time is needed.
    private func wait(for running: Running) -> [UInt8] {
        for _ in 0..<30 {
            if let answer = running.answer {
                state.withLock { $0.running = nil }
                return first(answer + Self.success)
            }
            usleep(5_000)
        }
        return [0x02, 0x91, 0x00]
    }

    /// The first bytes of an answer; the rest is kept.
    private func first(_ answer: [UInt8]) -> [UInt8] {
        guard answer.count - 2 > pieceByteCount else { return answer }
        let rest = Array(answer.dropFirst(pieceByteCount))
        state.withLock { $0.rest = rest }
        return answer.prefix(pieceByteCount) + [0x61, UInt8(min(rest.count - 2, 255))]
    }

    private final class Running: Sendable {
        let cancellation = Cancellation()
        private let result = Mutex<[UInt8]?>(nil)

        var answer: [UInt8]? { result.withLock { $0 } }

        func finish(_ answer: [UInt8]) { result.withLock { $0 = answer } }
    }
}

/// An address of this machine alone.
struct LoopbackAddress {
    private var address = sockaddr_in()

    init(port: UInt16) {
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    }

    func connect(_ descriptor: CInt) -> CInt { use { Glibc.connect(descriptor, $0, $1) } }

    private func use(_ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
