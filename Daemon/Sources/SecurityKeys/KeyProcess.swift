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

    /// Ends the helper; `gone` is called once, when nothing has the key any more.
    consuming func end(then gone: @escaping @Sendable () -> Void) { helper.end(then: gone) }
}

/// A report, and the secret that came with it.
struct KeyAnswer: ~Copyable {
    let report: KeyReport
    let secret: SecretBytes

    consuming func takeSecret() -> SecretBytes { secret }
}
