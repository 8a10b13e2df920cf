import Glibc

/// A call of sd-bus that failed, or an error that the other side answered with.
public struct BusError: Error, Equatable, CustomStringConvertible {
    /// The function of sd-bus, or the method that was called.
    public let call: String
    /// An `errno`.
    public let code: CInt
    /// The D-Bus name of an answered error, for example `org.freedesktop.DBus.Error.NameHasNoOwner`; empty without one.
    public let name: String

    public init(_ call: String, code: CInt, name: String = "") {
        self.call = call
        self.code = code
        self.name = name
    }

    /// The result of a function of sd-bus, which is a negative `errno` when it failed.
    @discardableResult
    static func check(_ result: CInt, _ call: String) throws(BusError) -> CInt {
        guard result >= 0 else { throw BusError(call, code: -result) }
        return result
    }

    /// Nobody has the bus name that was asked for.
    public var isNameWithoutOwner: Bool { name == "org.freedesktop.DBus.Error.NameHasNoOwner" }

    /// There is no such object, or none any more.
    public var isUnknownObject: Bool {
        name == "org.freedesktop.DBus.Error.UnknownObject" || name == "org.freedesktop.DBus.Error.UnknownMethod"
    }

    /// The bus itself has ended, and with it all of its connections.
    public var isEndOfBus: Bool { name.isEmpty && (code == ECONNRESET || code == EPIPE) }

    /// The process that serves the bus executes no message bus of the system's, or counts processes in another PID namespace: it could name any
    /// program as a caller.
    public var isUntrustedBus: Bool { name == Self.untrustedBusName }

    private static let untrustedBusName = "org.ostiary.Error.UntrustedBus"

    static func untrustedBus(_ process: Int32) -> BusError {
        BusError("process \(process)", code: EPERM, name: untrustedBusName)
    }

    /// The bus ended this connection, and goes on.
    static let dropped = BusError("the bus ended the connection", code: ECONNABORTED)

    /// sd-bus failed at one message, and can go on with the next one. It cannot if bytes of the connection are lost, as with descriptors that
    /// had no number (`EXFULL`), or if the connection is.
    var isOfMessage: Bool {
        let areOfConnection: Set = [
            EXFULL, EIO, EBADMSG, EPROTO, ENOMEM, ENOTCONN, ECONNRESET, ECONNABORTED, EPIPE, ESHUTDOWN, ETIMEDOUT,
        ]
        return !areOfConnection.contains(code)
    }

    /// This process, or the system, has no more descriptors; or there was no number for one that a message brought (`EXFULL`).
    public var isShortage: Bool { name.isEmpty && [EMFILE, ENFILE, EXFULL].contains(code) }

    public var description: String { unsafe "\(call): \(name.isEmpty ? String(cString: strerror(code)) : name)" }
}
