package import SecurityKeyProtocol
package import UnixSocket

/// A key's way to its helper.
package enum KeyPlace: ~Copyable {
    /// This process has opened it, and gives it to the helper.
    case opened(Descriptor)
    /// The helper opens it, with rights that this process does not have.
    case named(KeyOpening)
}
