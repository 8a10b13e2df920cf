public import Foundation
import Glibc
import Synchronization
import TerminalTestSupport
public import TPMEnclave

/// Stands between tpm2-tss and a TPM. It spoils answers by chance, from a seed, or acts before chosen commands.
public final class HostileProxy: Sendable {
    /// The fate of an answer.
    private enum Deed: CaseIterable {
        case nothing, cutOff, flipBit, repeatFormer, otherBody, silence, wrongSize, refusal, delay
    }

    private struct State {
        var generator: Generator
        var isHostile = false
        var former = Data()
        var deedCount = 0
    }

    /// Knuth's MMIX generator: a seed gives the same deeds everywhere.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private let port: Int
    private let listeners: [CInt]
    private let state: Mutex<State>
    private let before: Mutex<Deputy?>
    private let interval: UInt64

    /// Called with each command before the TPM gets it. It may use the TPM itself. Its answer goes to the client, and the TPM
    /// does not get the command then; nil lets the command pass.
    public typealias Deputy = @Sendable (RecordedCommand) -> Data?

    /// - Parameter interval: one answer of so many is spoilt. With three, requests just get as far as their later commands.
    public init(
        to tpm: SoftwareTPM, seed: UInt64 = 0, oneOf interval: UInt64 = 3, before: @escaping Deputy = { _ in nil }
    ) throws {
        self.before = Mutex(before)
        self.interval = interval
        state = Mutex(State(generator: Generator(state: seed)))
        for _ in 0..<50 {
            let port = Int.random(in: 30_000..<32_000)
            guard let commands = Self.listen(at: port) else { continue }
            guard let control = Self.listen(at: port + 1) else {
                close(commands)
                continue
            }
            self.port = port
            listeners = [commands, control]
            // The TPM is not kept: it ends with its test, and these threads perhaps later.
            let server = tpm.port
            accept(on: commands) { $0.passCommands($1, to: server) }
            accept(on: control) { _, client in
                Self.withServer(at: server + 1) { Self.passBytes(client, $0) }
            }
            return
        }
        throw ReservedPorts.NoneFree()
    }

    /// Takes no more connections, and calls its deputy no more.
    public func end() {
        before.withLock { $0 = nil }
        for listener in listeners { shutdown(listener, CInt(SHUT_RDWR)) }
    }

    /// Where programs find it.
    public var configuration: String { "swtpm:host=127.0.0.1,port=\(port)" }
    public var location: TPMLocation { TPMLocation(configuration) }
    public var keepingLoaded: TPMLocation { TPMLocation(configuration, keepsLoaded: true) }

    public func setHostile(_ isHostile: Bool) { state.withLock { $0.isHostile = isHostile } }

    /// How many answers were spoilt.
    public var deedCount: Int { state.withLock { $0.deedCount } }

    // MARK: connections

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return address
    }

    private static func with(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        var address = address(port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    private static func stream() -> CInt { socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }

    private static func listen(at port: Int) -> CInt? {
        let listener = stream()
        guard with(port, { bind(listener, $0, $1) }) == 0, Glibc.listen(listener, 16) == 0 else {
            close(listener)
            return nil
        }
        return listener
    }

    /// A connection to the TPM; nil if it takes none.
    private static func withServer<Result>(at port: Int, _ body: (CInt) -> Result) -> Result? {
        let server = stream()
        defer { close(server) }
        return with(port, { connect(server, $0, $1) }) == 0 ? body(server) : nil
    }

    /// Serves each connection on a thread of its own.
    private func accept(on listener: CInt, _ serve: @escaping @Sendable (HostileProxy, CInt) -> Void) {
        Thread.detachNewThread { [self] in
            while true {
                let client = Glibc.accept(listener, nil, nil)
                guard client >= 0 else { break }
                Thread.detachNewThread { [self] in
                    serve(self, client)
                    close(client)
                }
            }
            close(listener)
        }
    }

    private static func passBytes(_ client: CInt, _ server: CInt) {
        var ends = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: server, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&ends, 2, -1) > 0 {
            for (end, other) in [(0, server), (1, client)] where ends[end].revents != 0 {
                var bytes = [UInt8](repeating: 0, count: 4096)
                let count = recv(ends[end].fd, &bytes, bytes.count, 0)
                guard count > 0, send(Data(bytes.prefix(count)), to: other) else { return }
            }
        }
    }

    /// A connection to the TPM lasts for one command, so that others get between two.
    private func passCommands(_ client: CInt, to port: Int) {
        while let command = Self.message(from: client) {
            let deputy = before.withLock { $0 }
            if let answer = deputy?(RecordedCommand(command.dropFirst(6).prefix(4))) {
                guard Self.send(answer, to: client) else { return }
                continue
            }
            let answer = Self.withServer(at: port) { server in
                Self.send(command, to: server) ? Self.message(from: server) : nil
            }
            guard let answer = answer ?? nil, let spoilt = spoilt(answer), Self.send(spoilt.bytes, to: client),
                !spoilt.isLast
            else { return }
        }
    }

    private static func message(from end: CInt) -> Data? {
        guard var message = bytes(6, from: end) else { return nil }
        let size = message.suffix(4).reduce(0) { $0 << 8 | Int($1) }
        guard (6...8192).contains(size), let rest = bytes(size - 6, from: end) else { return nil }
        message += rest
        return message
    }

    private static func bytes(_ count: Int, from end: CInt) -> Data? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let received = bytes.withUnsafeMutableBytes { recv(end, $0.baseAddress! + filled, count - filled, 0) }
            guard received > 0 else { return nil }
            filled += received
        }
        return Data(bytes)
    }

    private static func send(_ bytes: Data, to end: CInt) -> Bool {
        bytes.withUnsafeBytes { Glibc.send(end, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) } == bytes.count
    }

    // MARK: deeds

    /// The bytes for the client, and whether the connection ends then; nil when it gets nothing.
    private func spoilt(_ answer: Data) -> (bytes: Data, isLast: Bool)? {
        let deed = state.withLock { state -> (Deed, Data, UInt64) in
            defer { state.former = answer }
            guard state.isHostile, state.generator.next() % interval == 0 else { return (.nothing, Data(), 0) }
            let deed = Deed.allCases.randomElement(using: &state.generator) ?? .nothing
            if deed != .nothing { state.deedCount += 1 }
            return (deed, state.former, state.generator.next())
        }
        var spoilt = answer
        switch deed {
        case (.nothing, _, _): return (answer, false)
        case (.cutOff, _, let chance): return (answer.prefix(Int(chance % UInt64(answer.count))), true)
        case (.flipBit, _, let chance):
            spoilt[Int(chance % UInt64(answer.count))] ^= 1 << UInt8(chance >> 32 & 7)
            return (spoilt, true)
        case (.repeatFormer, let former, _): return (former.isEmpty ? answer : former, true)
        case (.otherBody, _, let chance):
            for place in spoilt.indices.dropFirst(10) {
                spoilt[place] ^= UInt8(truncatingIfNeeded: chance >> (place % 8))
            }
            return (spoilt, false)
        case (.silence, _, _):
            usleep(150_000)
            return nil
        case (.delay, _, _):
            usleep(500_000)
            return (answer, false)
        case (.wrongSize, _, let chance):
            spoilt[4] = UInt8(truncatingIfNeeded: chance)
            return (spoilt, true)
        case (.refusal, _, let chance):
            let codes: [UInt16] = [0x922, 0x908, 0x90a, 0x921, 0x902, 0x903, 0x98e, 0x9a2, 0x18b, 0x910, 0x100, 0x101]
            let code = codes[Int(chance % UInt64(codes.count))]
            return (Self.refusal(code), false)
        }
    }

    /// An answer with this code and nothing else.
    public static func refusal(_ code: UInt16) -> Data {
        Data([0x80, 0x01, 0, 0, 0, 10, 0, 0, UInt8(code >> 8), UInt8(code & 0xff)])
    }
}
