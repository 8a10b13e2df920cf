package import AuthenticatorRequests
package import SecurityKeyProtocol
package import UnixSocket

/// A place where a security key is plugged in, or a reader at which it lies.
package struct SecurityKeyPort: Hashable, Sendable {
    /// A new one each time that a key is plugged in.
    package let identifier: String
    /// The key's own name for itself, or the reader's. It is not trusted.
    package let name: String
    package let road: SecurityKeyRoad

    package init(identifier: String, name: String, road: SecurityKeyRoad = .usb) {
        (self.identifier, self.name, self.road) = (identifier, name, road)
    }
}

/// Where security keys are found. The shipped daemon only finds those of ``MachinePorts``.
package protocol SecurityKeyPorts: Sendable {
    /// The keys that are plugged in now, and that a user may use.
    ///
    /// - Parameter userID: nil for the user of this process, whose right the kernel checks when a key is opened.
    func present(to userID: UInt32?) -> [SecurityKeyPort]

    /// The question's step when no key is there for the user.
    ///
    /// - Parameter userID: as for ``present(to:)``.
    func absence(for userID: UInt32?) -> CredentialStep

    /// Opens a key for `ostiary-fido`, or names it. Of an opened one over USB a read gives a report of 64 bytes, and a write takes the
    /// byte 0 and a report of 64 bytes. Over NFC a write takes a command APDU, and a read gives its answer.
    ///
    /// - Parameter userID: as for ``present(to:)``. Another device may lie in the port's place by now, or this user's right may be
    ///   gone, so the right is checked once more.
    /// - Throws: when it is unplugged by now, or when the user may not use it.
    func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace
}

extension SecurityKeyPorts {
    package func absence(for userID: UInt32?) -> CredentialStep { .insert }
}
