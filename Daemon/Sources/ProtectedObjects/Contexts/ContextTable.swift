package import Authenticators
package import ExactNames
import Foundation
import OstiaryMessages
package import Passcodes
package import Refusals
import Synchronization
package import Vault

/// Gives contexts their ids, from 1.
package final class ContextNumbers: Sendable {
    private let last = Atomic<UInt64>(0)

    package init() {}

    func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

/// The contexts of one connection, or of one client of a door.
package final class ContextTable: Sendable {
    private struct Contents {
        var contexts: [UInt64: EvaluationContext] = [:]
    }

    private let contents = Mutex(Contents())
    private let clock: any BootClock
    private let lifetime: Duration
    private let quota: ProgramQuota
    private let program: ProgramOfOwner
    private let numbers: ContextNumbers
    private let ended: GrantEndHandler

    /// - Parameters:
    ///   - lifetime: how long what is proved in a context counts there.
    ///   - quota: bounds the grants of all tables together.
    ///   - program: the program whose contexts they are.
    ///   - numbers: tables that share them give no two contexts the same id.
    ///   - ended: told of the ends of grants in all contexts.
    package init(
        clock: any BootClock, lifetime: Duration, quota: ProgramQuota, program: ProgramOfOwner,
        numbers: ContextNumbers = ContextNumbers(), ended: @escaping GrantEndHandler
    ) {
        self.clock = clock
        self.lifetime = lifetime
        self.quota = quota
        self.program = program
        self.numbers = numbers
        self.ended = ended
    }

    /// - Parameter keepsFactors: whether what is proved in the context is kept for what is opened in it next.
    package func open(keepingFactors keepsFactors: Bool) throws(Refusal) -> UInt64 {
        let id: UInt64? = contents.withLock { contents in
            guard contents.contexts.count < ContextLimits.contextCount else { return nil }
            let id = numbers.next()
            contents.contexts[id] = EvaluationContext(
                keepsFactors: keepsFactors, clock: clock, lifetime: lifetime, quota: quota, program: program,
                ended: ended)
            return id
        }
        guard let id else {
            throw Refusal(.tooMany, "This program holds \(ContextLimits.contextCount) contexts already; release some.")
        }
        return id
    }

    /// The context `id` of this connection; an id of another connection means nothing here.
    package func context(_ id: UInt64) throws(Refusal) -> EvaluationContext {
        guard let context = contents.withLock({ $0.contexts[id] }) else {
            throw Refusal(.unknownContext, "The context does not exist on this connection, or was invalidated.")
        }
        return context
    }

    /// Forgets a context, wipes it and ends what it evaluates.
    package func close(_ id: UInt64) throws(Refusal) {
        let context = contents.withLock { $0.contexts.removeValue(forKey: id) }
        guard let context else {
            throw Refusal(.unknownContext, "The context does not exist on this connection, or was invalidated.")
        }
        context.invalidate()
    }

    package func endAllGrants() { for context in all { context.endAllGrants() } }

    package func endKeptFactors() { for context in all { context.endKeptFactors() } }

    package func endGrantsOfCurrentSet() { for context in all { context.endGrantsOfCurrentSet() } }

    /// Tells the program that objects are authorized under a lease no more.
    package func endLeased(_ objects: Set<VaultID>) { for context in all { context.endLeased(objects) } }

    package func endGrants(on object: VaultID) { for context in all { context.endGrant(on: object) } }

    /// Wipes everything: the connection has ended.
    package func wipe() {
        let contexts = contents.withLock { contents in
            defer { contents.contexts = [:] }
            return Array(contents.contexts.values)
        }
        for context in contexts { context.invalidate() }
    }

    /// The contexts in which a right or a requirement is granted.
    package var idsOfHeldGrants: [UInt64] {
        contents.withLock { $0.contexts }.filter { $0.value.holdsGrant }.keys.sorted()
    }

    package var isEmpty: Bool { contents.withLock { $0.contexts.isEmpty } }

    package var all: [EvaluationContext] { contents.withLock { Array($0.contexts.values) } }
}

/// What the contexts of one connection may hold.
enum ContextLimits {
    /// Contexts of one connection: one for each `LAContext` and each authorized right that the program keeps.
    static let contextCount = 1024
    /// Requirements that count as satisfied in one context.
    static let requirementCount = 64
    /// Objects with limits whose uses one context counts; an entry has some hundred bytes.
    static let meterCount = 1024
}
