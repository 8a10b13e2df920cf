import Enclave
import Foundation
import Glibc
import PasscodeKeeperContract
import Settings
import StoreTestSupport
import Synchronization
import TPMTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Opening
@testable import OwnerKeys

/// A store with one user and no broker, for the contract of the passcode's keeper.
final class KeeperStage: KeeperBench {
    /// Where a keeper finds itself at a start.
    struct Place {
        let folder: String
        let enclave: any Enclave
        let vault: Vault
        let owner: VaultID
        let clock: TestClock
        /// To be run when a passcode is looked at.
        let meeting: Meeting
    }

    let owner: VaultID
    private let folder: TestFolder
    private let clock: TestClock
    private let meeting = Meeting()
    private let copier = Copier()
    /// The chip of the store; nil for a store in software.
    private let tpm: SoftwareTPM?
    private let makeKeeper: @Sendable (Place) -> any PasscodeKeeper

    init(in tpm: SoftwareTPM? = nil, _ makeKeeper: @escaping @Sendable (Place) -> any PasscodeKeeper) throws {
        self.tpm = tpm
        folder = try TestFolder()
        clock = TestClock()
        self.makeKeeper = makeKeeper
        let user = UserRecord(uid: geteuid(), name: "user", created: 0)
        owner = user.id
        let (vault, _) = try start()
        try vault.write("user") { try $0.addUser(user) }
        try vault.close()
    }

    private init(copying other: KeeperStage) throws {
        folder = try TestFolder()
        for name in try FileManager.default.contentsOfDirectory(atPath: other.folder.path) {
            try FileManager.default.copyItem(atPath: other.folder.path(name), toPath: folder.path(name))
        }
        tpm = try other.tpm.map(SoftwareTPM.init(copying:))
        (owner, clock, makeKeeper) = (other.owner, other.clock, other.makeKeeper)
    }

    func start() throws -> (vault: Vault, keeper: any PasscodeKeeper) {
        var configuration = EnclaveConfiguration()
        if let tpm { (configuration.kind, configuration.tpm) = (.tpm, tpm.configuration) }
        let (enclave, _, vault) = try StoreOpening(
            path: folder.path, userID: geteuid(), observer: copier, enclave: configuration
        ).open()
        let place = Place(
            folder: folder.path, enclave: enclave, vault: vault, owner: owner, clock: clock, meeting: meeting)
        return (vault, makeKeeper(place))
    }

    func advance(by duration: Duration) { clock.advance(by: duration) }

    func duringNextCheck(_ body: @escaping @Sendable () -> Void) { meeting.duringNextStretch(body) }

    func copy() throws -> any KeeperBench { try KeeperStage(copying: self) }

    func copies(during body: () throws -> Void) throws -> [any KeeperBench] {
        copier.begin { [self] in try copy() }
        try body()
        return copier.end()
    }
}

/// Takes a copy of a bench before and after each commit, when told to.
private final class Copier: WriteObserver {
    private struct State {
        var copy: (@Sendable () throws -> any KeeperBench)?
        var copies: [any KeeperBench] = []
    }

    private let state = Mutex(State())

    func begin(_ copy: @escaping @Sendable () throws -> any KeeperBench) { state.withLock { $0.copy = copy } }

    func end() -> [any KeeperBench] {
        state.withLock { state in
            state.copy = nil
            return state.copies
        }
    }

    func willCommit(_ label: String) { take() }
    func didCommit(_ label: String) { take() }

    private func take() {
        state.withLock { state in
            guard let copy = state.copy else { return }
            do { state.copies.append(try copy()) } catch { Issue.record(error) }
        }
    }
}
