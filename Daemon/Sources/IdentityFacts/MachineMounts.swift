import Foundation

/// The mounts of the machine itself: those that process 1 sees.
struct MachineMounts: Sendable {
    private let text: @Sendable () -> Data?

    init() { self.init { try? Data(contentsOf: URL(fileURLWithPath: "/proc/1/mountinfo")) } }

    /// - Parameter text: the text of the file, as it is now; nil when it cannot be read.
    init(reading text: @escaping @Sendable () -> Data?) { self.text = text }

    /// Whether the mount with this number is one of them. It is not when they cannot be read.
    func contains(_ number: UInt64) -> Bool {
        guard let text = text() else { return false }
        let wanted = Array("\(number) ".utf8)
        // A path in a line may hold any byte but a line's end (proc_pid_mountinfo(5)).
        return text.split(separator: UInt8(ascii: "\n")).contains { $0.starts(with: wanted) }
    }
}
