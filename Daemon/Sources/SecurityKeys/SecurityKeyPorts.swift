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
    /// The keys that are plugged in now.
    func present() -> [SecurityKeyPort]

    /// The question's step when no key is there.
    func absence() -> CredentialStep

    /// Opens a key for `ostiary-fido`. Over USB a read gives a report of 64 bytes, and a write takes the byte 0 and a report of 64
    /// bytes. Over NFC a write takes a command APDU, and a read gives its answer.
    ///
    /// - Throws: when it is unplugged by now, or when the user may not use it.
    func open(_ port: SecurityKeyPort) throws(SystemCallError) -> Descriptor
}

extension SecurityKeyPorts {
    package func absence() -> CredentialStep { .insert }
}
