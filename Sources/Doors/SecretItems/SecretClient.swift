import DoorSupport
import Foundation
import OstiaryClient
import Synchronization
public import UnixSocket

/// A program that asks the Secret Service: what Ostiary does in its name, and what it has proved. Calls block.
///
/// The items are this door's own. The daemon looks at the program itself, and decides about each call.
public final class SecretClient: Sendable {
    let served: ServedClient
    private let process: SharedDescriptor
    private let proofs = Mutex(ClientProofs())

    /// - Parameter process: a pidfd. The caller has made sure that it is the client's.
    /// - Throws: `noClient` when it has ended, or runs in a Flatpak.
    public init(process: SharedDescriptor) throws(StoreRefusal) {
        do throws(DoorFailure) {
            served = ServedClient(sender: try SenderProcess(process))
        } catch { throw StoreRefusal(any: error) }
        self.process = process
    }

    /// Whether its process has not ended.
    public var isAlive: Bool { SenderProcess.isAlive(process) }

    /// Makes sure that a pidfd is of the process which has this number now.
    ///
    /// - Throws: `noClient` when it is of another one, has ended, or runs in a Flatpak; `tooMuch` without a descriptor to look with.
    public static func requireNumber(_ processID: Int32, of process: SharedDescriptor) throws(StoreRefusal) {
        let sender: SenderProcess
        do throws(DoorFailure) { sender = try SenderProcess(process) } catch { throw StoreRefusal(any: error) }
        guard sender.processID == processID else {
            throw .noClient("The bus gives the process \(sender.processID), and the number of another one.")
        }
    }

    /// Whether it executes a program of the system: a file of root's with this name, which nobody else may write.
    public func isSystemProgram(named name: String) -> Bool {
        SystemProgram.isExecuted(by: process, named: name)
    }

    // MARK: its place in the daemon

    /// Names the client to the daemon, which takes it for the program that it runs now. Asks nobody.
    public func begin() throws(StoreRefusal) {
        do throws(DoorFailure) { try served.begin() } catch { throw StoreRefusal(any: error) }
        proofs.withLock { $0.isPresent = true }
    }

    /// Gives the client's place up, and all that it proved. Later calls name it each time. Waits for nothing.
    public func rest() {
        let ended = proofs.withLock { proofs in
            proofs.isPresent = false
            return proofs.endAll(beside: served.context)
        }
        for context in ended { context.invalidate() }
    }

    /// Ends its calls and questions, and all that it proved.
    public func leave() {
        served.leave()
        rest()
    }

    // MARK: what it proved

    /// Ends what was proved for an item, or for all items of a collection. Nothing else ends, and no question. Waits for nothing.
    public func forgetProofs(of scope: ProofScope) {
        let ended = proofs.withLock { $0.separate(scope, beside: served.context) }
        for context in ended { context.invalidate() }
    }

    /// The collection is gone, and what was proved for it.
    public func leaveProofs(ofCollection name: String) {
        let ended = proofs.withLock { $0.leave(collection: name) }
        for context in ended { context.invalidate() }
    }

    /// The context whose proofs count for something; nil where none can be there.
    func context(for scope: ProofScope?) -> AuthorizationContext? {
        proofs.withLock { proofs in
            if let own = proofs.context(for: scope, makeContext) { return own }
            return proofs.isPresent ? served.context : nil
        }
    }

    private func makeContext() -> AuthorizationContext {
        AuthorizationContext(client: served.ostiary, keepsFactors: true)
    }

    /// Does something in the context in which the person proves something. Until it has ended a lock does not end the context, and so
    /// not the question.
    func asking<Result>(for scope: ProofScope?, _ body: (AuthorizationContext) throws -> Result) rethrows -> Result {
        let context = proofs.withLock { $0.beginQuestion(for: scope, beside: served.context, makeContext) }
        defer { if proofs.withLock({ $0.endQuestion(in: context) }) { context.invalidate() } }
        return try body(context)
    }

    /// Calls with what the client proved, and with a question if there is one.
    ///
    /// - Parameter question: nil where nobody is to be asked.
    func using<Result>(
        _ question: SecretQuestion?, for scope: ProofScope?, _ body: (ItemUse) throws -> Result
    ) rethrows -> Result {
        guard let question else {
            var use = ItemUse(context: context(for: scope))
            use.cancellation = served.cancellation
            return try body(use)
        }
        return try asking(for: scope) { context in
            var use = ItemUse(context: context, interaction: question.interaction)
            use.cancellation = question.cancellation
            return try body(use)
        }
    }
}
