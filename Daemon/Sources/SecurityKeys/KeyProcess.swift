import HelperProcesses
import SecretMemory
import SecurityKeyProtocol
import UnixSocket

/// A running `ostiary-fido` with its key, from this side of its channel.
struct KeyProcess: ~Copyable {
    private let helper: Helper

    /// Starts it with an environment of our own and its key.
    ///
    /// - Parameter stop: a descriptor that ends the wait for the helper when it is readable.
    init(
        _ road: HelperRoad, device: consuming Descriptor, over keyRoad: SecurityKeyRoad, stoppedBy stop: CInt
    ) throws(HelperUnavailability) {
        let key = SecurityKeyDescriptor.key(over: keyRoad)
        let number = device.number
        let given = GivenDescriptors(connection: SecurityKeyDescriptor.channel, count: Int(key) + 1) {
            $0 == key ? number : -1
        }
        helper = try Helper(road, giving: given, stoppedBy: stop)
        _ = consume device
    }

    /// The time for a helper to open its key and to look whether it is one.
    private static let openingLimit: Duration = .seconds(5)

    /// Starts it without a key, and has it open the one that is named.
    ///
    /// - Parameters:
    ///   - stop: a descriptor that ends the wait for the helper when it is readable.
    ///   - gone: called once if this throws, when nothing has the key any more.
    init(
        _ road: HelperRoad, opening: KeyOpening, stoppedBy stop: CInt, orElse gone: @escaping @Sendable () -> Void
    ) throws(KeyStartFailure) {
        let helper: Helper
        do throws(HelperUnavailability) { helper = try Helper(road, stoppedBy: stop) } catch {
            gone()
            throw .helper(error)
        }
        if let failure = Self.failure(of: helper, at: road.place, opening, stop) {
            // It may have opened the key all the same.
            helper.end(then: gone)
            throw failure
        }
        self.helper = helper
    }

    /// Why the helper has not opened the key; nil when it has.
    private static func failure(
        of helper: borrowing Helper, at place: String, _ opening: KeyOpening, _ stop: CInt
    ) -> KeyStartFailure? {
        guard helper.send(opening.bytes) else { return .helper(.ended(place)) }
        switch helper.wait(until: .now.advanced(by: openingLimit), stoppedBy: stop) {
        case .message: break
        case .ended: return .helper(.ended(place))
        case .timedOut: return .helper(.silent(place))
        case .stopped: return .helper(.stopped)
        }
        guard case .bytes(let bytes) = helper.receive(atMost: KeyOpeningAnswer.byteCount),
            let answer = KeyOpeningAnswer(decoding: bytes)
        else { return .helper(.ended(place)) }
        return answer.code == 0 ? nil : .refusedByHelper(opening.name, code: answer.code)
    }

    /// Readable when a report came, or when the helper ended.
    var descriptor: CInt { helper.descriptor }

    /// Sends a request; false when the helper has ended.
    borrowing func send(_ request: KeyRequest, secret: consuming SecretBytes = SecretBytes(zeroed: 0)) -> Bool {
        SecurityKeyFrame(request.bytes, secret: secret).send(on: helper.descriptor)
    }

    /// Waits for the next report; nil when the helper ended, or sent something else.
    borrowing func receive() -> KeyAnswer? {
        guard let frame = SecurityKeyFrame.receive(on: helper.descriptor),
            let report = KeyReport(decoding: frame.message)
        else { return nil }
        return KeyAnswer(report: report, secret: frame.takeSecret())
    }

    /// Tells the helper to end, and waits for nothing.
    consuming func beginEnd() -> EndingHelper { helper.beginEnd() }
}

extension HelperRoad {
    /// The path to name in an error.
    fileprivate var place: String {
        switch self {
        case .spawned(let program): program
        case .activated(let socket): socket.path
        }
    }
}

/// A report, and the secret that came with it.
struct KeyAnswer: ~Copyable {
    let report: KeyReport
    let secret: SecretBytes

    consuming func takeSecret() -> SecretBytes { secret }
}
