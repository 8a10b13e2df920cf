/// Why client data cannot be read (WebAuthn Level 3, section 5.8.1).
public enum ClientDataError: Error, Equatable, Sendable {
    /// More than 8,192 bytes; this many.
    case tooLong(Int)
    case notUTF8
    /// It is not one JSON object. The number tells where: bytes from the start, after a byte order mark.
    case notJSON(offset: Int)
    /// More than eight arrays and objects lie within each other.
    case nestedTooDeeply
    case missing(ClientDataMember)
    /// The member is of another type than it must be.
    case mistyped(ClientDataMember)
    /// The object has a member of this name twice. `nil`: a member that has no meaning here.
    case repeated(ClientDataMember?)
}

/// The members of client data that a relying party reads.
public enum ClientDataMember: String, Equatable, Sendable, CaseIterable {
    case type, challenge, origin, crossOrigin, topOrigin
}
