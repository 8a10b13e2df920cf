/// A connected reader.
public struct ReaderDescription: Equatable, Sendable {
    /// How a person moves the finger.
    public enum ScanType: String, Sendable { case press, swipe }

    /// The reader's object on the bus.
    public let path: String
    /// The product's name, according to the driver.
    public let name: String
    /// Nil for a type that this program does not know.
    public let scanType: ScanType?

    package init(path: String, name: String, scanType: ScanType?) {
        self.path = path
        self.name = name
        self.scanType = scanType
    }
}

/// Whether a user's fingers can be verified now.
public enum ReaderState: Equatable, Sendable {
    /// The default reader is connected, and the user has enrolled these fingers. Only a claim shows whether another
    /// program holds it.
    case ready(ReaderDescription, [Finger])
    /// There is a reader, and the user has no finger enrolled.
    case nothingEnrolled(ReaderDescription)
    /// The reader cannot be used, or its state is unknown.
    case unusable(ReaderFailure)
}

/// Why a reader cannot be used.
public enum ReaderFailure: Error, Equatable, Sendable {
    /// The system bus does not answer, or it ended.
    case withoutBus
    /// fprintd is not installed.
    case withoutService
    /// fprintd is installed and does not start.
    case serviceNotStarted
    /// The process that owns fprintd's name does not run as the trusted user.
    case untrustedService
    /// No reader is connected.
    case withoutReader
    /// The reader was unplugged while it was in use.
    case disconnected
    /// polkit does not let this process use the reader, for instance because it is not part of an active local session.
    case denied
    /// polkit does not let this process use the reader for another user, as the machine's daemon must.
    case deniedForOthers
    /// The user has no finger enrolled, or not this one.
    case nothingEnrolled
    /// Another program holds the reader.
    case busy
    /// fprintd ended or was restarted.
    case serviceEnded
    /// fprintd or the bus did not answer in time.
    case silent
    /// The reader stopped with an unnamed error, usually of its driver.
    case readerFault
    /// The wait for an answer was cancelled.
    case stopped
    /// fprintd sent an unexpected answer. The text names no secret.
    case unexpected(String)
}
