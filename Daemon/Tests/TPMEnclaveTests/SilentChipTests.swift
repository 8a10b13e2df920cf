import Dispatch
import Enclave
import Foundation
import SecretMemory
import Synchronization
import TPMTestSupport
import TerminalTestSupport
import Testing
import Threading

@testable import TPMEnclave

/// A TPM that takes a request and says nothing.
@Suite(.timeLimit(.minutes(10))) struct SilentChipTests {
    private let tpm: SoftwareTPM
    private let limit = Duration.milliseconds(500)

    init() throws { tpm = try SoftwareTPM() }

    @Test(arguments: [false, true])
    func `fails the request, and works again when it answers again`(keepsLoaded: Bool) throws {
        let location = keepsLoaded ? tpm.keepingLoaded : tpm.shared
        let enclave = try TPMEnclave(at: location, storageKey: nil, timeLimit: limit)
        let key = try enclave.makeKey()
        let open = try enclave.open(key)
        tpm.pause()
        // The first request waits for the limit. The ones after it wait for nobody.
        for _ in 1...3 { expect(.noAnswer(within: limit)) { _ = try open.signature(forDigest: Material.digest) } }
        expect(.noAnswer(within: limit)) { _ = try enclave.makeKey() }
        tpm.resume()
        try eventually("it answers again") {
            do { try open.expectSignature() } catch EnclaveError.noAnswer { return false }
            return true
        }
        try enclave.open(key).expectSignature()
    }

    @Test func `is told from an absent one when a store is opened`() throws {
        let name = try TPMEnclave(at: tpm.shared, storageKey: nil).storageKey
        tpm.pause()
        expect(.noAnswer(within: limit)) {
            _ = try TPMEnclave(at: tpm.shared, storageKey: name, timeLimit: limit)
        }
        tpm.resume()
    }

    /// A lock releases keys, and must not wait for a chip.
    @Test(arguments: [false, true])
    func `keeps nobody who releases a key, while another request waits for it`(keepsLoaded: Bool) throws {
        let enclave = try TPMEnclave(
            at: keepsLoaded ? tpm.keepingLoaded : tpm.shared, storageKey: nil, timeLimit: .seconds(3600))
        let (first, second) = (try enclave.makeKey(), try enclave.makeKey())
        let keys = Mutex<[any OpenEnclaveKey]>([try enclave.open(first), try enclave.open(second)])
        let other = try enclave.open(first)
        tpm.pause()
        let signed = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            do { try other.expectSignature() } catch { Issue.record(error) }
            signed.signal()
        }
        try eventually("the chip has a request") { enclave.chip.turns.isTaken }
        let released = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            keys.withLock { $0 = [] }
            released.signal()
        }
        #expect(released.wait(timeout: .now() + 120) == .success)
        tpm.resume()
        #expect(signed.wait(timeout: .now() + 120) == .success)
        try enclave.open(second).expectSignature()
        enclave.settle()
        #expect(try tpm.handles()[0] == 0)
    }

    @Test func `a request that was given up before it began is not made`() throws {
        let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: nil, timeLimit: limit)
        let owner = Material.binding.owner
        var open: (any OpenEnclaveKey)? = try enclave.open(try enclave.makeKey())
        try open?.expectSignature()
        tpm.pause()
        // The chip's thread waits for the end of the key.
        open = nil
        expect(.noAnswer(within: limit)) {
            _ = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        }
        tpm.resume()
        enclave.settle()
        #expect(try tpm.tool("tpm2_getcap", "handles-nv-index").isEmpty)
        try eventually("it answers again") {
            do { _ = try enclave.makeKey() } catch EnclaveError.noAnswer { return false }
            return true
        }
    }

    @Test func `gives requests their turns in the order in which they came`() throws {
        let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: nil, timeLimit: .seconds(3600))
        let order = Mutex<[Int]>([])
        let done = DispatchGroup()
        tpm.pause()
        for client in 0..<32 {
            Thread.detachNewThread(in: done) {
                do {
                    // The first one asks for more at once, and goes behind the others each time.
                    for _ in 0..<(client == 0 ? 8 : 1) {
                        try enclave.chip.perform(for: nil) { (connection) throws(ChipFault) in
                            _ = try connection.lockoutInterval()
                            order.withLock { $0.append(client) }
                        }
                    }
                } catch { Issue.record(error) }
            }
            try eventually("it asked") { enclave.chip.turns.isTaken && enclave.chip.turns.waitingCount == client }
        }
        tpm.resume()
        #expect(done.wait(timeout: .now() + 120) == .success)
        #expect(Array(order.withLock { $0 }.prefix(32)) == Array(0..<32))
        #expect(order.withLock { $0 }.count == 39)
    }

    @Test func `gives owners their turns first, however many requests one of them has`() throws {
        let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: nil, timeLimit: .seconds(3600))
        func binding(of owner: UInt8) -> KeyBinding {
            KeyBinding(owner: Data(repeating: owner, count: 16), outsideInfo: Data(), requiresPasscode: false)
        }
        let keys = try [1, 2].map { (owner: UInt8) in
            let key = try enclave.makeKey(authorization: Material.secret(1), binding: binding(of: owner))
            return try enclave.openKey(
                key, authorization: Material.secret(1), binding: binding(of: owner), session: nil)
        }
        let order = Mutex<[Int]>([])
        let done = DispatchGroup()
        tpm.pause()
        // Thirty signatures of the first owner, then one of the second.
        for number in 0...30 {
            Thread.detachNewThread(in: done) {
                do {
                    let owner = number == 30 ? 1 : 0
                    _ = try keys[owner].signature(forDigest: Material.digest)
                    order.withLock { $0.append(owner) }
                } catch { Issue.record(error) }
            }
            try eventually("it asked") { enclave.chip.turns.isTaken && enclave.chip.turns.waitingCount == number }
        }
        tpm.resume()
        #expect(done.wait(timeout: .now() + 120) == .success)
        // The request that runs, one of the owner who waited before; threads may note their ends in another order.
        let place = try #require(order.withLock { $0 }.firstIndex(of: 1))
        #expect(place <= 4, "\(place)")
    }

    @Test func `gives no try of a passcode back`() throws {
        let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil, timeLimit: limit)
        let owner = Material.binding.owner
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        expect(.refused) { _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2)) }
        tpm.pause()
        expect(.noAnswer(within: limit)) {
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2))
        }
        tpm.resume()
        try eventually("it answers again") {
            do { return try enclave.wrongTries(at: passcode).count >= 1 } catch EnclaveError.noAnswer { return false }
        }
    }
}

extension Thread {
    /// Runs `body` on a thread of its own, which `group` waits for.
    fileprivate static func detachNewThread(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        detachNewThread {
            body()
            group.leave()
        }
    }
}
