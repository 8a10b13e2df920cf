public import Foundation
public import SecretMemory

/// An enclave with counters that only go up. No copy of files, restart or removal of a counter brings one back to a number
/// that it had before.
///
/// The store chooses the authorization value, which is needed to move and to read its counter.
public protocol CountingEnclave: Enclave {
    /// Makes the counter of a store; one that the chip has of it is replaced. It stands above every number that any counter of
    /// this chip ever had.
    ///
    /// - Parameter chipOwner: for a chip whose owner has a password.
    /// - Returns: the data of it that the store keeps, at most 64 bytes and not secret, and its number.
    func makeCounter(
        _ authorization: borrowing SecretBytes, of store: Data, as chipOwner: OwnerPassword?
    ) throws(EnclaveError) -> (counter: Data, value: UInt64)

    /// Where the counter stands.
    func read(_ counter: Data, authorization: borrowing SecretBytes) throws(EnclaveError) -> CounterReading

    /// Moves the counter from the number below `value` to `value`; one that stands elsewhere is left alone. So it may be
    /// called again after any error.
    ///
    /// - Returns: where the counter stands afterwards.
    func advance(
        _ counter: Data, to value: UInt64, authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> CounterReading

    /// Whether the chip has a counter of the store that this value reads.
    func hasCounter(of store: Data, authorization: borrowing SecretBytes) throws(EnclaveError) -> Bool

    /// Removes the counter of a store that nobody opens again; without it nothing is done.
    ///
    /// - Parameter chipOwner: for a chip whose owner has a password.
    func removeCounter(_ counter: Data, as chipOwner: OwnerPassword?) throws(EnclaveError)
}

/// The chip's answer about a counter.
public enum CounterReading: Equatable, Sendable {
    case value(UInt64)
    /// There is none: somebody removed it.
    case missing
    /// Another one is in its place: of another sort, never moved, or with another authorization value.
    case replaced
}
