import Enclave
import Foundation
import Threading

/// The TPM of one store. Its requests take turns, because a chip does one thing at a time: first users, then the requests of each. They
/// run on a thread of the chip's own, so that a chip which never answers keeps nobody for longer than the time limit.
///
/// The chip may be restarted, and the way to it may break, at any moment. A request then gets one new connection, unless it
/// changes something that lasts in the chip, and would do something else the second time.
final class Chip: Sendable {
    /// How long a request may take. Its commands take up to some hundred milliseconds each on a slow chip, and a self-test
    /// up to some seconds.
    static let timeLimit = Duration.seconds(30)

    /// By the ids of users.
    let turns = Turns<Data>()
    let thread = WorkThread(name: "ostiary-chip")
    private let link: ChipLink
    private let timeLimit: Duration

    init(_ location: TPMLocation, storageKey: StorageKeyName?, timeLimit: Duration = Chip.timeLimit) {
        link = ChipLink(location, storageKey: storageKey)
        self.timeLimit = timeLimit
    }

    deinit {
        // Without an answer the connection stays open until the process ends.
        let closing = ChipWork<Void> { (link) throws(EnclaveError) in link.disconnect() }
        do { try carryOut(closing) } catch {}
    }

    /// The storage key's name; the same from the first successful request on.
    func storageKey(as owner: OwnerPassword?) throws(EnclaveError) -> StorageKeyName {
        try perform(for: nil, as: owner) { (connection) throws(ChipFault) in connection.root.name }
    }

    /// Does one request; blocks until it is its turn and the chip answered, or for the time limit.
    ///
    /// - Parameters:
    ///   - user: the id of the user whose turn the request takes; nil for the store, and for work that no user can ask for at will. It
    ///     has no default: requests of one user that forgot it would keep everybody's from the chip.
    ///   - isRepeatable: false if the request would do something else the second time: it is then made once.
    ///   - key: the only object that the request uses, if it may be in a connection of its own.
    ///   - owner: the password of the chip's owner, if the request has it.
    func perform<Result: ~Copyable>(
        for user: Data?, isRepeatable: Bool = true, using key: ChipObject? = nil, as owner: OwnerPassword? = nil,
        _ request: @escaping (ChipConnection) throws(ChipFault) -> Result
    ) throws(EnclaveError) -> Result {
        let work = ChipWork<Result> { (link) throws(EnclaveError) in
            try link.perform(isRepeatable: isRepeatable, using: key, as: owner, request)
        }
        turns.take(for: user)
        defer { turns.passOn() }
        return try carryOut(work)
    }

    /// Forgets an object in the chip, after the present request. Waits for nothing: keys are released under locks, and a chip
    /// may take long to answer, or give no answer at all.
    func forget(_ object: ChipObject) {
        // The object lives until then, so that no other gets its identity.
        thread.run { [link] in link.forget(object) }
    }

    private func carryOut<Result: ~Copyable>(_ work: ChipWork<Result>) throws(EnclaveError) -> Result {
        let link = self.link
        guard !link.isStuck else { throw .noAnswer(within: timeLimit) }
        thread.run { work.run(on: link) }
        return try work.result(within: timeLimit, on: link)
    }
}
