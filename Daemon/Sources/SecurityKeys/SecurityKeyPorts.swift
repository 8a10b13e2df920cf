package import UnixSocket

/// A place where a security key is plugged in.
package struct SecurityKeyPort: Hashable, Sendable {
    /// A new one each time that a key is plugged in.
    package let identifier: String
    /// The key's own name for itself. It is not trusted.
    package let name: String

    package init(identifier: String, name: String) { (self.identifier, self.name) = (identifier, name) }
}

/// Where security keys are found. The shipped daemon only finds those of the kernel (``HIDRawPorts``).
package protocol SecurityKeyPorts: Sendable {
    /// The keys that are plugged in now.
    func present() -> [SecurityKeyPort]

    /// Opens a key for `ostiary-fido`. A read gives a report of 64 bytes; a write takes the byte 0 and a report of 64 bytes.
    ///
    /// - Throws: when it is unplugged by now, or when the user may not use it.
    func open(_ port: SecurityKeyPort) throws(SystemCallError) -> Descriptor
}
