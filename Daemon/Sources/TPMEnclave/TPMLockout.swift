import CTSS2
public import Enclave
public import Foundation

/// How near a chip is to its dictionary-attack lockout, in which it takes no authorization that counts. Other programs can
/// bring it there. Nothing of ours counts towards it.
public struct TPMLockout: Equatable, Sendable {
    /// Wrong authorizations that the chip remembers.
    public let failureCount: UInt32
    /// After this number it is locked out.
    public let limit: UInt32
    /// After how long it forgets one.
    public let interval: Duration

    public var isLockedOut: Bool { failureCount >= limit }
}

extension TPMEnclave {
    /// Asks the chip, over sessions as all requests with a secret need them: a chip without room for them does not work. Counts
    /// nothing.
    ///
    /// - Parameter user: the id of the user who asks; nil for the administrator.
    public func lockout(for user: Data?) throws(EnclaveError) -> TPMLockout {
        try chip.perform(for: user) { (connection) throws(ChipFault) in
            _ = try connection.sessions()
            return TPMLockout(
                failureCount: try connection.property(OSTIARY_TPM_PT_LOCKOUT_COUNTER),
                limit: try connection.property(OSTIARY_TPM_PT_MAX_AUTH_FAIL),
                interval: try connection.lockoutInterval())
        }
    }
}
