/// The limits of one connection.
enum HelperLimits {
    /// The time for the request. A caller sends its 36 bytes at once.
    static let requestSeconds = 5
    /// fprintd keeps `USER/DRIVER/DEVICE/FINGER`: two folders between a user's folder and a template.
    static let folderDepth = 2
    /// Ten fingers for each of a few readers.
    static let entryCount = 256
    /// The largest template that libfprint's drivers make has some ten thousand bytes.
    static let fileByteCount = 1 << 20
    static let totalByteCount = 8 << 20
    /// How often a folder is read again because it changed meanwhile.
    static let readAttempts = 10
    /// Changes that belong together come within this time.
    static let settlingMilliseconds: CInt = 50
    /// A connection ends after so long without a change; a daemon that follows changes connects again. So no user can
    /// occupy the socket's connections for good.
    static let idleMilliseconds: CInt = 600_000
}
