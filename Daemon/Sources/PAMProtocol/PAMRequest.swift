import CanonicalEncoding

/// The descriptors that `ostiary-pam` is started with; 0, 1 and 2 are the null device.
public enum PAMDescriptor {
    /// A socket that keeps messages apart. The helper receives one ``PAMRequest`` and sends ``PAMReport``s. It ends as soon
    /// as the other end is closed.
    public static let channel: Int32 = 3
}

/// A request to `ostiary-pam`.
public struct PAMRequest: Equatable, Sendable {
    public static let version: UInt8 = 2
    /// The longest encoded request.
    public static let maximumByteCount = 4096

    /// The service's name: the name of a file in ``folder``.
    public let service: String
    /// The folder of service files.
    public let folder: String
    /// The name of the user to authenticate; nil for the helper's own user.
    public let user: String?
    /// The user to whom the service file must belong; root, except in tests.
    public let trustedUserID: UInt32

    public init(service: String, folder: String, user: String?, trustedUserID: UInt32) {
        self.service = service
        self.folder = folder
        self.user = user
        self.trustedUserID = trustedUserID
    }

    /// Whether a helper takes the request from a sender. The sender names the folder whose modules run with the helper's rights. So
    /// it has these rights itself, or the files are the ones that root alone writes for everybody.
    ///
    /// - Parameters:
    ///   - sender: the account at the other end of the channel, as the kernel says.
    ///   - helper: the account as which the helper runs.
    public func mayCome(from sender: UInt32, to helper: UInt32) -> Bool {
        sender == helper || sender == 0 || (trustedUserID == 0 && folder == PAMServiceFile.standardFolder)
    }

    /// The account as which the service manager starts the helpers of the machine's daemon.
    public static let machineAccount = "ostiary-pam"

    /// Whether a helper authenticates the user whom the request names. Its own user counts; root's helper, and one of the machine's
    /// daemon, takes every name. Nobody else runs under that account, and the helper's socket admits the daemon alone.
    ///
    /// - Parameters:
    ///   - account: the name of the account as which the helper runs.
    ///   - isRoot: whether the helper runs as root.
    ///   - isActivated: whether the service manager has started the helper.
    public func mayName(to account: String, isRoot: Bool, isActivated: Bool) -> Bool {
        guard let user, !user.utf8.elementsEqual(account.utf8) else { return true }
        return isRoot || (isActivated && account.utf8.elementsEqual(Self.machineAccount.utf8))
    }

    /// One message. Nil for names that are too long, and for an empty user.
    public var bytes: [UInt8]? {
        guard user?.isEmpty != true,
            service.utf8.count + folder.utf8.count + (user ?? "").utf8.count <= Self.maximumByteCount - 16
        else { return nil }
        var writer = CanonicalWriter()
        writer.write(Self.version)
        writer.write(service.utf8, length: UInt16.self)
        writer.write(folder.utf8, length: UInt16.self)
        writer.write((user ?? "").utf8, length: UInt16.self)
        writer.write(trustedUserID)
        return writer.bytes
    }

    /// Nil for bytes that ``bytes`` never has.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count <= Self.maximumByteCount else { return nil }
        var reader = CanonicalReader(bytes)
        do throws(CanonicalEncodingError) {
            guard try reader.read(UInt8.self) == Self.version else { return nil }
            service = try reader.readText(length: UInt16.self)
            folder = try reader.readText(length: UInt16.self)
            let name = try reader.readText(length: UInt16.self)
            user = name.isEmpty ? nil : name
            trustedUserID = try reader.read(UInt32.self)
            try reader.finish()
        } catch { return nil }
    }
}
