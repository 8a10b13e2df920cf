import AccessControl
import Dispatch
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import Synchronization
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport

@Suite("Many programs at once")
struct ConcurrencyTests {
    private static let passcodes = ["correct horse 9", "another battery 8"]

    /// Eight programs make, authorize, use and remove rights while the passcode is changed, with locks in between.
    @Test(.timeLimit(.minutes(10))) func `leave a whole store and block nobody`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode(Self.passcodes[0])
        let present = Mutex(0)
        fixture.prompter.always { question in
            let index = present.withLock { $0 }
            return .text(Self.passcodes[question.kind == .enterPasscode ? index : 1 - index])
        }
        let isOver = Atomic(false)
        let failures = Mutex<[String]>([])
        let useCount = Atomic(0)
        let (path, clock) = (fixture.socketPath, fixture.clock)

        let workers = DispatchGroup()
        for worker in 0..<8 {
            workers.enter()
            Thread {
                defer { workers.leave() }
                do {
                    let program = try Worker(number: worker, socketPath: path, clock: clock)
                    while !isOver.load(ordering: .relaxed) {
                        if try program.step() { useCount.add(1, ordering: .relaxed) }
                    }
                } catch { failures.withLock { $0.append("\(worker): \(error)") } }
            }.start()
        }

        let owner = try fixture.client()
        var changeCount = 0
        for round in 0..<20 {
            if round.isMultiple(of: 5) { try owner.lock() }
            do {
                try owner.passcode(.change)
                changeCount += 1
                present.withLock { $0 = 1 - $0 }
            } catch let refused as Refused {
                #expect(Worker.excusable.contains(refused.code), "\(refused)")
                if refused.code == .lockedOut { clock.advance(by: refused.retryAfter) }
            }
        }
        isOver.store(true, ordering: .relaxed)
        workers.wait()
        fixture.prompter.always(nil)
        #expect(failures.withLock { $0 } == [])
        #expect(changeCount >= 7)
        #expect(useCount.load(ordering: .relaxed) > 20)

        try expectWhole(fixture, passcode: Self.passcodes[present.withLock { $0 }])
    }

    private func expectWhole(_ fixture: BrokerFixture, passcode: String) throws {
        fixture.clock.advance(by: .seconds(24 * 3600))
        for isRestarted in [false, true] {
            if isRestarted { try fixture.restart() }
            for right in try fixture.client().list() {
                #expect(right.unreadableBecause.isEmpty)
                let isBound = right.identifier.hasPrefix("bound")
                try fixture.unlock(passcode)
                #expect(
                    try fixture.opens(right.identifier, answers: isBound ? [.text(passcode)] : []),
                    "\(right.identifier)")
            }
            let records = try fixture.broker.vault.read { try $0.passcodeRecords(owner: fixture.account.id) }
            #expect(records.map(\.record?.state) == [.current])
            fixture.prompter.prepare([.text(passcode)])
            let verdict = try fixture.client().verifyLog(interactive: true)
            #expect(verdict.intact && verdict.sealsChecked)
        }
    }
}

/// One program of many.
private struct Worker {
    let number: Int
    let client: TestClient
    let clock: TestClock
    private let bound: AccessControl
    private let free = AccessControl(availability: .afterFirstUnlock, using: .unrestricted)

    /// What another program's change or lock may cost: the passcode that was typed is old, or what was open is closed.
    static let excusable: Set<WireFailureCode?> = [.authenticationFailed, .lockedOut, .systemCancel, .notAuthorized]

    init(number: Int, socketPath: String, clock: TestClock) throws {
        self.number = number
        self.clock = clock
        client = try TestClient(socketPath: socketPath)
        bound = AccessControl(availability: .whenUnlocked, using: try Requirement(anyOf: [.passcode]))
    }

    /// Makes a right, uses it, and mostly removes it again; false when something was refused for an excusable reason.
    func step() throws -> Bool {
        let isBound = Bool.random()
        let name = "\(isBound ? "bound" : "free") \(number) \(UInt16.random(in: 0 ... .max))"
        let right = try client.create(name, isBound ? bound : free, secret: "secret of \(name)")
        let isUsed = try use(right, name)
        if Int.random(in: 0..<10) > 0 { try client.remove(name) }
        return isUsed
    }

    private func use(_ right: WireRight, _ name: String) throws -> Bool {
        do {
            let context = try client.openContext()
            _ = try client.authorize(right, in: context)
            guard try client.sign(right, in: context), try client.secret(of: right, in: context) == "secret of \(name)"
            else { throw TestClient.UnexpectedAnswer() }
            return true
        } catch let refused as Refused where Self.excusable.contains(refused.code) {
            if refused.code == .lockedOut { clock.advance(by: refused.retryAfter) }
            return false
        }
    }
}
