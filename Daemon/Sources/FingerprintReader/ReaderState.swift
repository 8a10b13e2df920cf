/// A reader that is connected.
public struct ReaderDescription: Equatable, Sendable {
    /// How a person moves the finger.
    public enum ScanType: String, Sendable { case press, swipe }

    /// The object that stands for it on the bus.
    public let path: String
    /// The product's name, as the driver says it.
    public let name: String
    /// Nil for a type that fprintd did not have when this was written.
    public let scanType: ScanType?
}

/// Whether fingers of a user can be verified now.
public enum ReaderState: Equatable, Sendable {
    /// The default reader is there and knows these fingers. Another program may hold it: only a claim shows that.
    case ready(ReaderDescription, [Finger])
    /// There is a reader, and the user has no finger enrolled.
    case nothingEnrolled(ReaderDescription)
    /// It cannot be used, or this could not be found out.
    case unusable(ReaderFailure)
}

/// Why a reader cannot be used.
public enum ReaderFailure: Error, Equatable, Sendable {
    /// Nobody listens at the place of the system bus, or the bus ended.
    case withoutBus
    /// fprintd is not installed or cannot be started.
    case withoutService
    /// The process that has fprintd's name runs as another user than the one that is trusted with it.
    case untrustedService
    /// No reader is connected.
    case withoutReader
    /// The reader was unplugged while it was in use.
    case disconnected
    /// polkit does not let this process use the reader: it is not part of an active local session, for instance.
    case denied
    /// The user has no finger enrolled, or not this one.
    case nothingEnrolled
    /// Another program holds the reader.
    case busy
    /// fprintd ended or was restarted.
    case serviceEnded
    /// fprintd or the bus did not answer in time.
    case silent
    /// The reader stopped with an error that has no name, usually one of its driver.
    case readerFault
    /// The wait for an answer was cancelled.
    case stopped
    /// fprintd answered with something that it should not have, which names no secret.
    case unexpected(String)
}
