import Foundation
import KeySlots
import SecretMemory
import Testing
package import Vault

@testable package import OwnerKeys
@testable import Refusals

/// What a check needs of the keeper under test: a store of its own, with one user.
package protocol KeeperBench: Sendable {
    var owner: VaultID { get }

    /// The store and its keeper as a new start of the daemon finds them; what was started before is not used any more.
    func start() throws -> (vault: Vault, keeper: any PasscodeKeeper)

    /// Lets time pass on the boot clock.
    func advance(by duration: Duration)

    /// Runs `body` when a passcode is looked at the next time: the try is counted then.
    func duringNextCheck(_ body: @escaping @Sendable () -> Void)

    /// A bench with all of this one, store and chip, as a kill at this moment leaves it.
    func copy() throws -> any KeeperBench

    /// Runs `body`; returns copies of the bench from before each commit of it and from after it.
    func copies(during body: () throws -> Void) throws -> [any KeeperBench]
}

/// What every keeper of a passcode must do. The tests of an implementation run each of ``checks`` against it:
///
///     @Test(arguments: PasscodeKeeperContract.checks)
///     func `it keeps the contract of a keeper`(check: PasscodeKeeperContract.Check) throws { try check(on: …) }
package enum PasscodeKeeperContract {
    /// One sentence of the contract.
    package struct Check: Sendable, CustomTestStringConvertible {
        package let testDescription: String
        private let body: @Sendable (any KeeperBench) throws -> Void

        init(_ sentence: String, _ body: @escaping @Sendable (any KeeperBench) throws -> Void) {
            testDescription = sentence
            self.body = body
        }

        /// Runs the check on a new bench; failures are recorded as issues of the running test.
        package func callAsFunction(on bench: any KeeperBench) throws { try body(bench) }
    }

    package static let checks = checkingChecks + countingChecks + changingChecks

    // MARK: material

    static let passcode = "correct horse 9"
    static let another = "another battery 8"

    static func secret(_ text: String) -> SecretBytes { SecretBytes(Data(text.utf8)) }

    static func half(epoch: UInt32) throws -> PrivateHalf { try PrivateHalf(generating: .passcode, epoch: epoch) }
}

/// One start over a bench, with the steps that checks are made of.
struct Start {
    let bench: any KeeperBench
    let vault: Vault
    let keeper: any PasscodeKeeper

    init(_ bench: any KeeperBench) throws {
        self.bench = bench
        (vault, keeper) = try bench.start()
    }

    /// Does what `PasscodeLife` does with a transition, up to the point where only the keeper has something left to do.
    func store(_ transition: any PasscodeTransition, opening half: PrivateHalf?) throws {
        try vault.write("transition") { writer in
            if let half {
                try writer.setKeyPair(
                    KeyPairRecord(
                        owner: bench.owner, role: KeyRole.passcode.code, epoch: half.epoch,
                        publicHalf: half.publicHalf.encoded, wrappedPrivateHalf: nil))
            } else {
                try writer.removeKeyPair(owner: bench.owner, role: KeyRole.passcode.code)
            }
            try transition.store(in: writer)
        }
    }

    @discardableResult
    func set(_ passcode: String = PasscodeKeeperContract.passcode) throws -> PrivateHalf {
        let half = try PasscodeKeeperContract.half(epoch: 1)
        let transition = try preparedSetting(passcode, opening: half)
        try store(transition, opening: half)
        try transition.finish()
        return half
    }

    /// A first passcode, prepared.
    func preparedSetting(_ passcode: String, opening half: PrivateHalf) throws -> any PasscodeTransition {
        try keeper.exclusively.withStretchTurn(as: .daemon) { turn in
            try keeper.set(PasscodeKeeperContract.secret(passcode), opening: half, in: turn, as: nil)
        }
    }

    /// A change from ``PasscodeKeeperContract/passcode`` to ``PasscodeKeeperContract/another``, prepared.
    func preparedChange() throws -> (transition: any PasscodeTransition, half: PrivateHalf) {
        let half = try PasscodeKeeperContract.half(epoch: 2)
        let proved = try keeper.prove(PasscodeKeeperContract.secret(PasscodeKeeperContract.passcode))
        let next = PasscodeKeeperContract.secret(PasscodeKeeperContract.another)
        let transition = try keeper.exclusively.withStretchTurn(as: .daemon) { turn in
            try keeper.change(proved, to: next, opening: half, in: turn)
        }
        return (transition, half)
    }

    /// Removes ``PasscodeKeeperContract/passcode``.
    ///
    /// - Parameter proved: from before, where wrong tries would delay a proof.
    func remove(_ proved: ProvedPasscode? = nil) throws {
        let transition = try keeper.remove(
            proved ?? keeper.prove(PasscodeKeeperContract.secret(PasscodeKeeperContract.passcode)))
        try store(transition, opening: nil)
        try transition.finish()
    }

    /// What the passcode opens; nil when it is wrong.
    func opened(by passcode: String) throws -> PrivateHalf? {
        do { return try keeper.prove(PasscodeKeeperContract.secret(passcode)).half } catch is WrongSecret { return nil }
    }

    /// Whether the passcode opens exactly `half`.
    func opens(_ half: PrivateHalf, by passcode: String = PasscodeKeeperContract.passcode) throws -> Bool {
        guard let opened = try opened(by: passcode) else { return false }
        let isSame = opened.withSeed { mine in half.withSeed { theirs in mine.isEqual(to: theirs) } }
        return isSame && opened.publicHalf == half.publicHalf
    }

    /// The code of the refusal that proving gives; nil when it proves or the passcode is wrong.
    func refusal(of passcode: String) throws -> Refusal? {
        do { _ = try opened(by: passcode) } catch let refusal as Refusal { return refusal }
        return nil
    }
}
