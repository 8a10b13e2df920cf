import Glibc
import KeyDevices
import SecurityKeyProtocol
import UnixSocket

/// The key that the daemon named, because it may not open it.
struct NamedKey {
    /// The kernel's file with the report descriptor; -1 for a key that was not opened.
    private let reportDescriptor: CInt
    /// Why the key was not opened; 0 for one that was.
    private let code: Int32

    /// Waits for the name, and opens the key under the number of a given one. Reads nothing of it.
    ///
    /// - Returns: nil when the daemon hung up, or sent something else.
    static func receive() -> NamedKey? {
        var bytes = [UInt8](repeating: 0, count: KeyOpening.maximumByteCount + 1)
        var count = recv(SecurityKeyDescriptor.channel, &bytes, bytes.count, 0)
        while count < 0, errno == EINTR { count = recv(SecurityKeyDescriptor.channel, &bytes, bytes.count, 0) }
        guard count > 0, let opening = KeyOpening(decoding: Array(bytes[..<count])) else { return nil }
        do throws(SystemCallError) {
            let device = try device(of: opening)
            let reportDescriptor = try reportDescriptor(of: opening, device)
            try give(device, number: SecurityKeyDescriptor.device)
            return NamedKey(reportDescriptor: reportDescriptor.release(), code: 0)
        } catch { return NamedKey(reportDescriptor: -1, code: error.code) }
    }

    private static func device(of opening: KeyOpening) throws(SystemCallError) -> Descriptor {
        #if OSTIARY_TEST_OPTIONS
            if let keys = TestKeys.ofArguments { return try keys.open(opening) }
        #endif
        return try NamedKeyDevice.open(opening.name, for: opening.userID)
    }

    private static func reportDescriptor(
        of opening: KeyOpening, _ device: borrowing Descriptor
    ) throws(SystemCallError) -> Descriptor {
        #if OSTIARY_TEST_OPTIONS
            if let keys = TestKeys.ofArguments { return try keys.reportDescriptor(of: opening) }
        #endif
        return try NamedKeyDevice.reportDescriptor(of: device)
    }

    private static func give(_ device: consuming Descriptor, number: CInt) throws(SystemCallError) {
        let present = device.release()
        guard present != number else { return }
        defer { close(present) }
        guard dup2(present, number) == number else { throw SystemCallError("dup2") }
    }

    /// Looks whether it is a security key, and tells the daemon. To be called behind the filter: the device may be hostile, and its report
    /// descriptor is its first word.
    ///
    /// - Returns: false when there is no key to speak to.
    func confirm() -> Bool {
        var code = code
        if reportDescriptor >= 0 {
            if !NamedKeyDevice.isSecurityKey(reportDescriptor) { code = KeyOpeningAnswer.noSecurityKey }
            close(reportDescriptor)
        }
        let answer = KeyOpeningAnswer(code: code).bytes
        // If the daemon has hung up, this ends the process, or fails. The filter has no send(2).
        return write(SecurityKeyDescriptor.channel, answer, answer.count) == answer.count && code == 0
    }
}
