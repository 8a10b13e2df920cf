import Glibc

/// A second connection, on which a served connection asks the bus about its peers.
///
/// The bus answers with descriptors, so this connection takes some, and any program can send it some. It serves nothing, and each message
/// but the awaited answer is dropped as it comes. So the descriptors of one message are open at most. Where it is lost all the same, it is
/// made again with the next question.
final class BusInquiry {
    private let address: String
    private let isLookedAt: Bool
    private var bus: Bus?
    /// Readable when there is something to drop; -1 while there is no connection.
    private(set) var descriptor: CInt = -1
    /// Messages that are dropped before the served connection has its turn again.
    private static let dropCount = 64

    /// Connects, and waits until the bus let it in, at most 5 seconds.
    ///
    /// - Parameter isLookedAt: whether the bus has to be run by a message bus of the system's (``BusHost``).
    init(to address: String, isLookedAt: Bool) throws(BusError) {
        (self.address, self.isLookedAt) = (address, isLookedAt)
        _ = try connection()
    }

    private func connection() throws(BusError) -> Bus {
        if let bus { return bus }
        let made = try Bus(to: address, acceptsDescriptors: true)
        if isLookedAt { _ = try BusHost(of: made) }
        (bus, descriptor) = (made, try made.descriptor())
        return made
    }

    private func lose() { (bus, descriptor) = (nil, -1) }

    /// Drops what others sent. Left alone, it would wait in the bus.
    func drop() {
        guard let bus else { return }
        do throws(BusError) {
            for _ in 0..<Self.dropCount { guard try bus.process().isBusy else { return } }
        } catch { lose() }
    }

    /// The connection that has this name now; nil if it ended. Blocks for the answer of the bus.
    func caller(named name: String) throws(BusError) -> BusCaller? {
        try ask { (bus) throws(BusError) in try BusCaller.named(name, on: bus) }
    }

    /// The connection that has a well-known name now; nil while none has it. Blocks for the answer of the bus.
    func owner(of name: String) throws(BusError) -> String? {
        do throws(BusError) {
            return try ask { (bus) throws(BusError) in try bus.ask("GetNameOwner", name).readText() }
        } catch {
            guard error.isNameWithoutOwner else { throw error }
            return nil
        }
    }

    private func ask<Value>(_ question: (Bus) throws(BusError) -> Value) throws(BusError) -> Value {
        let bus = try connection()
        do throws(BusError) { return try question(bus) } catch {
            // An error that the bus answered with leaves the connection as it is.
            if error.name.isEmpty { lose() }
            throw error
        }
    }
}

extension Bus {
    /// Asks the bus itself something about one name, and waits for the answer, at most 5 seconds. Drops all other messages that come
    /// meanwhile.
    func ask(_ member: String, _ name: String) throws(BusError) -> BusMessage {
        try waitUntilReady()
        let call = try send(BusDriver.name, BusDriver.path, BusDriver.name, member, [name])
        let deadline = ContinuousClock.now + .microseconds(Int64(Self.answerMicroseconds))
        while let message = try next(unlessReadable: nil, until: deadline) {
            guard message.sender == BusDriver.name, message.isAnswer(to: call) else { continue }
            try message.requireResult(of: call)
            return message
        }
        throw BusError(member, code: ETIMEDOUT)
    }
}
