import Foundation
import KeySlots
import OwnerKeys
import Testing
import Vault

@testable import Refusals

extension PasscodeKeeperContract {
    /// One of the two passcodes of an unfinished change fits at least. Each that does settles the change: the other one is
    /// wrong from then on.
    private static func expectSettling(_ bench: any KeeperBench, on half: PrivateHalf) throws {
        var fitting = 0
        for (entered, other) in [(passcode, another), (another, passcode)] {
            let copy = try bench.copy()
            guard try Start(copy).opened(by: entered) != nil else { continue }
            fitting += 1
            for _ in 1...2 {
                let start = try Start(copy)
                #expect(try start.opened(by: other) == nil, "\(other) after \(entered)")
                #expect(try start.opens(half, by: entered))
            }
        }
        #expect(fitting > 0)
    }

    static let changingChecks = [
        Check("after a change the new passcode opens the new key, and the old one nothing") { bench in
            let start = try Start(bench)
            try start.set()
            let (transition, half) = try start.preparedChange()
            try start.store(transition, opening: half)
            try transition.finish()
            // One after the other: a store has one daemon at a time.
            for next in [{ start }, { try Start(bench) }] as [() throws -> Start] {
                let start = try next()
                #expect(try start.opened(by: passcode) == nil)
                #expect(try start.opens(half, by: another))
            }
        },
        Check("a change that was prepared and not stored did not happen") { bench in
            let half = try Start(bench).set()
            _ = try Start(bench).preparedChange()
            let start = try Start(bench)
            #expect(try start.opens(half))
            #expect(try start.opened(by: another) == nil)
        },
        Check("a change whose transaction failed is stored in another one") { bench in
            let start = try Start(bench)
            try start.set()
            let (transition, half) = try start.preparedChange()
            #expect(throws: CancellationError.self) {
                try start.vault.write("fails") { writer in
                    try transition.store(in: writer)
                    throw CancellationError()
                }
            }
            try start.store(transition, opening: half)
            try transition.finish()
            #expect(try start.opens(half, by: another))
        },
        Check("a change that was stored and not finished settles on the passcode that fits") { bench in
            try Start(bench).set()
            let start = try Start(bench)
            let (transition, half) = try start.preparedChange()
            try start.store(transition, opening: half)
            try expectSettling(bench, on: half)
        },
        Check("a change that was killed while it finished settles on the passcode that fits") { bench in
            try Start(bench).set()
            let start = try Start(bench)
            let (transition, half) = try start.preparedChange()
            try start.store(transition, opening: half)
            let copies = try bench.copies(during: transition.finish)
            #expect(!copies.isEmpty)
            for copy in copies { try expectSettling(copy, on: half) }
            #expect(try start.opens(half, by: another))
        },
        Check("a wrong passcode settles nothing") { bench in
            try Start(bench).set()
            let start = try Start(bench)
            let (transition, half) = try start.preparedChange()
            try start.store(transition, opening: half)
            #expect(try start.opened(by: "wrong") == nil)
            #expect(try start.keeper.attempts().failedCount > 0)
            try expectSettling(bench, on: half)
        },
        Check("a change can follow one that was not finished") { bench in
            try Start(bench).set()
            let start = try Start(bench)
            let (unfinished, half) = try start.preparedChange()
            try start.store(unfinished, opening: half)
            let next = try Start(bench)
            guard try next.opened(by: passcode) != nil else { return }  // A keeper where only the new passcode fits.
            let (transition, last) = try next.preparedChange()
            try next.store(transition, opening: last)
            try transition.finish()
            #expect(try next.opens(last, by: another))
            #expect(try next.opened(by: passcode) == nil)
        },
        Check("after removal there is no passcode, and no count") { bench in
            let start = try Start(bench)
            try start.set()
            let proved = try start.keeper.prove(secret(passcode))
            #expect(try start.opened(by: "wrong") == nil)
            try start.remove(proved)
            // One after the other: a store has one daemon at a time.
            for next in [{ start }, { try Start(bench) }] as [() throws -> Start] {
                let start = try next()
                #expect(try start.refusal(of: passcode) == Refusal.passcodeNotSet)
                #expect(try start.keeper.attempts().failedCount == 0)
            }
        },
        Check("a removal that was prepared and not stored did not happen") { bench in
            let start = try Start(bench)
            let half = try start.set()
            _ = try start.keeper.remove(start.keeper.prove(secret(passcode)))
            #expect(try Start(bench).opens(half))
        },
        Check("a removal that was stored and not finished stands, and a passcode can be set again") { bench in
            let start = try Start(bench)
            try start.set()
            let removal = try start.keeper.remove(start.keeper.prove(secret(passcode)))
            try start.store(removal, opening: nil)
            let next = try Start(bench)
            #expect(try next.refusal(of: passcode) == Refusal.passcodeNotSet)
            let half = try next.set(another)
            #expect(try next.opens(half, by: another))
            #expect(try next.opened(by: passcode) == nil)
        },
        Check("a new passcode begins without the wrong tries at a former one") { bench in
            let start = try Start(bench)
            try start.set()
            let proved = try start.keeper.prove(secret(passcode))
            for _ in 1...3 { #expect(try start.opened(by: "wrong") == nil) }
            try start.remove(proved)
            let half = try start.set(another)
            #expect(try start.keeper.attempts().failedCount == 0)
            #expect(try start.opens(half, by: another))
        },
        Check("a passcode that was prepared and not stored is not set") { bench in
            let start = try Start(bench)
            _ = try start.preparedSetting(passcode, opening: half(epoch: 1))
            let next = try Start(bench)
            #expect(try next.refusal(of: passcode) == Refusal.passcodeNotSet)
            let half = try next.set()
            #expect(try next.opens(half))
        },
    ]
}
