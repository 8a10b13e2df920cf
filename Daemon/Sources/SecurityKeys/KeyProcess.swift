import Glibc
import PromptProtocol
import SecretMemory
import SecurityKeyProtocol
import UnixSocket

/// A running `ostiary-fido` with its key, from this side of its channel.
struct KeyProcess: ~Copyable {
    private let process: ChildProcess
    private let channel: Descriptor

    /// Starts it with an environment of our own, exactly its descriptors, and in a session of its own.
    init(
        _ program: String, device: consuming Descriptor, road: SecurityKeyRoad
    ) throws(SystemCallError) {
        let ends = try ChannelEnds()
        let key = SecurityKeyDescriptor.key(over: road)
        var descriptors = [CInt](repeating: -1, count: Int(key) + 1)
        descriptors[Int(SecurityKeyDescriptor.channel)] = ends.program.number
        descriptors[Int(key)] = device.number
        process = try ChildProcess(
            program: program, environment: ["SWIFT_BACKTRACE=enable=no", "LC_ALL=C.UTF-8"], descriptors: descriptors,
            leadsSession: true)
        channel = ends.daemon
        _ = consume device
    }

    /// Readable when a report came, or when the helper ended.
    var descriptor: CInt { channel.number }

    /// Sends a request; false when the helper has ended.
    borrowing func send(_ request: KeyRequest, secret: consuming SecretBytes = SecretBytes(zeroed: 0)) -> Bool {
        SecurityKeyFrame(request.bytes, secret: secret).send(on: channel.number)
    }

    /// Waits for the next report; nil when the helper ended, or sent something else.
    borrowing func receive() -> KeyAnswer? {
        guard let frame = SecurityKeyFrame.receive(on: channel.number),
            let report = KeyReport(decoding: frame.message)
        else { return nil }
        return KeyAnswer(report: report, secret: frame.takeSecret())
    }

    consuming func end() { process.killAndReap(withGroup: true) }
}

/// A report, and the secret that came with it.
struct KeyAnswer: ~Copyable {
    let report: KeyReport
    let secret: SecretBytes

    consuming func takeSecret() -> SecretBytes { secret }
}
