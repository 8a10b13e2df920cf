import UnixSocket

/// A reader that libfprint plays. Its sensor is a socket: each connection says one thing.
public enum VirtualReader: String, CaseIterable, Sendable {
    /// Compares a touch with one finger. fprintd keeps the templates.
    case verifying = "FP_VIRTUAL_DEVICE"
    /// Compares a touch with all fingers, and keeps the templates itself while it runs.
    case identifying = "FP_VIRTUAL_DEVICE_STORAGE"

    /// The folder of its templates in a user's folder of fprintd.
    public var templateFolder: String { self == .verifying ? "virtual_device/0" : "virtual_device_storage/0" }
}

/// What happens at a virtual reader.
public enum SensorEvent: Sendable {
    /// Somebody's finger touches it; the name stands for the skin.
    case touch(String)
    /// A touch that was no good: 0 is any reason, 1 too short a swipe, 2 not centred, 3 to be removed first.
    case badTouch(Int)
    /// The reader fails; the number is one of libfprint's errors.
    case fault(Int)
    case unplug

    var command: String {
        switch self {
        case .touch(let skin): "SCAN \(skin)"
        case .badTouch(let reason): "RETRY \(reason)"
        case .fault(let number): "ERROR \(number)"
        case .unplug: "UNPLUG"
        }
    }

    /// Tells the sensor; returns when it has taken it.
    func play(at socketPath: String) throws {
        let socket = try UnixSocket.connect(to: socketPath)
        try socket.setReceiveTimeout(seconds: 5)
        try Array(command.utf8).withUnsafeBytes { try socket.send($0) }
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            // It closes the connection, sometimes with an answer before.
            while let received = try? socket.receive(into: buffer, expecting: []), received.count > 0 {}
        }
    }
}
