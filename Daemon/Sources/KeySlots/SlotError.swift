/// Why a slot or a key half could not be made, read or opened. No case ever counts as permission, and none says anything
/// about bytes.
public enum SlotError: Error, Equatable, Sendable {
    // MARK: opening

    /// It does not open: another key, another header, or changed bytes. The error does not say which.
    case refused
    /// The private half with this role and epoch is needed and not at hand; nothing was tried.
    case missingKey(KeyRole, epoch: UInt32)
    /// The slot asks for an application password and none was given; nothing was tried.
    case missingApplicationPassword
    /// The bytes are not an encoding, or the slot's layers are not those of its factors and class.
    case malformed

    // MARK: making

    /// There is no public half for a role that an alternative or the class needs.
    case missingPublicHalf(KeyRole)
    /// The public half of this role is no public key.
    case invalidPublicHalf(KeyRole)
    /// The seed is not the private half of this public half.
    case mismatchedHalves(KeyRole)
    /// No alternative, too many, one of them twice, or one that no rule can have.
    case invalidAlternatives
    /// An alternative asks for `biometryCurrentSet` and no identifier of the enrolled set was given.
    case missingEnrolmentID
    /// An enrolment identifier or password parameters of a size that the format has no room for.
    case invalidParameterSize
    /// The access secret has another size than 32 bytes.
    case invalidAccessSecret
    /// A layer outside of a replaced one would stay. Replacing a layer needs the outer layers too.
    case buriedLayer(KeyRole)
    /// The cryptographic library failed where it never should.
    case libraryFailure
}
