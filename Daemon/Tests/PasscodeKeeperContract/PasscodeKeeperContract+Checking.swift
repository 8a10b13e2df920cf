import Enclave
import Foundation
import KeySlots
import OwnerKeys
import Synchronization
import Testing
import Vault

@testable import Refusals

extension PasscodeKeeperContract {
    static let checkingChecks = [
        Check("without a passcode nothing is checked or counted") { bench in
            let start = try Start(bench)
            #expect(throws: Refusal.passcodeNotSet) { try start.keeper.requireRecords() }
            #expect(try start.refusal(of: passcode) == Refusal.passcodeNotSet)
            #expect(try start.keeper.attempts().failedCount == 0)
        },
        Check("the passcode that was set opens its key, after a restart too") { bench in
            let half = try Start(bench).set()
            for _ in 1...2 {
                let start = try Start(bench)
                try start.keeper.requireRecords()
                #expect(try start.opens(half))
            }
        },
        Check("a wrong passcode opens nothing, however near it is") { bench in
            let half = try Start(bench).set()
            for wrong in ["x", String(passcode.dropLast()), passcode + " ", passcode.uppercased()] {
                let start = try Start(bench)
                #expect(try start.opened(by: wrong) == nil, "\(wrong)")
                #expect(try start.opens(half))
            }
        },
        Check("a proof opens keys of its owner, and says so") { bench in
            let start = try Start(bench)
            try start.set()
            let proved = try start.keeper.prove(secret(passcode))
            #expect(proved.key.session.owner == bench.owner.bytes)
            #expect(proved.half.publicHalf == proved.key.half.publicHalf)
        },
        Check("checks are made one at a time") { bench in
            let start = try Start(bench)
            try start.set()
            let isBusy = Mutex(false)
            start.keeper.exclusively {
                Thread {
                    start.keeper.exclusively { isBusy.withLock { $0 = true } }
                }.start()
                Thread.sleep(forTimeInterval: 0.05)
                #expect(!isBusy.withLock { $0 })
                #expect(throws: Never.self) { try start.keeper.prove(secret(passcode)) }
            }
        },
    ]
}
