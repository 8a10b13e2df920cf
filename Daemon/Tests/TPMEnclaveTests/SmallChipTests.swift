import Enclave
import Foundation
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// Three slots for objects, three for sessions, no resource manager, restarts, and other programs on the same chip.
@Suite(.timeLimit(.minutes(10))) struct SmallChipTests {
    private let tpm: SoftwareTPM

    init() throws { tpm = try SoftwareTPM() }

    private func locations() -> [TPMLocation] { [tpm.shared, tpm.keepingLoaded] }

    private static func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    // MARK: remains in the chip

    @Test func `a shared chip holds nothing of ours between two requests`() throws {
        let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        #expect(try tpm.handles() == [0, 0, 0])
        let key = try enclave.makeKey()
        #expect(try tpm.handles() == [0, 0, 0])
        let open = try enclave.open(key)
        #expect(try tpm.handles() == [0, 0, 0])
        try open.expectSignature()
        #expect(try tpm.handles() == [0, 0, 0])
        _ = try enclave.unseal(try enclave.seal(7))
        expect(.refused) { _ = try enclave.open(key, 2) }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `a chip of our own holds the key in use and two sessions, and nothing after its release`() throws {
        do {
            let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: nil)
            let key = try enclave.makeKey()
            do {
                let open = try enclave.open(key)
                #expect(try tpm.handles() == [1, 2, 0])
                try open.expectSignature()
                #expect(try tpm.handles() == [1, 2, 0])
            }
            enclave.settle()
            #expect(try tpm.handles() == [0, 2, 0])
            expect(.refused) { _ = try enclave.open(key, 2) }
            #expect(try tpm.handles() == [0, 2, 0])
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `no descriptor is left after any number of connections`() throws {
        func useOnce() throws {
            for location in locations() {
                let enclave = try TPMEnclave(at: location, storageKey: nil)
                try enclave.open(try enclave.makeKey()).expectSignature()
            }
        }
        try useOnce()
        let before = try Self.openDescriptors()
        for _ in 0..<5 { try useOnce() }
        #expect(try Self.openDescriptors() == before)
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `more keys than slots are in use in turns`() throws {
        for location in locations() {
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            let keys = try (0..<5).map { _ in try enclave.open(try enclave.makeKey()) }
            for key in keys + keys.reversed() { try key.expectSignature() }
            #expect(try tpm.handles()[0] <= 1)
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    // MARK: other programs

    @Test func `an object of another program leaves enough room; two are an error, and later it works again`() throws {
        let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        let key = try enclave.makeKey()
        try tpm.tool("tpm2_createprimary", "-C", "n", "-G", "ecc", "-c", "one.ctx")
        try enclave.open(key).expectSignature()
        try tpm.tool("tpm2_createprimary", "-C", "n", "-G", "ecc", "-c", "two.ctx")
        expect(.slotsTaken(.objects)) { _ = try enclave.open(key) }
        #expect(try tpm.handles() == [2, 0, 0])
        try tpm.tool("tpm2_flushcontext", "-t")
        try enclave.open(key).expectSignature()
    }

    @Test func `sessions of another program can fill the chip; later it works again`() throws {
        let enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
        let key = try enclave.makeKey()
        let other = try ChipConnection(tpm.shared, pinned: nil)
        _ = try other.sessions()
        expect(.slotsTaken(.sessions)) { _ = try enclave.open(key) }
        // The doctor's questions need sessions too.
        expect(.slotsTaken(.sessions)) { _ = try enclave.lockout(for: nil) }
        #expect(try tpm.handles() == [0, 2, 0], "the session that fitted is not left")
        other.close()
        try enclave.open(key).expectSignature()
    }

    @Test func `another program that flushes everything does no harm`() throws {
        let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: nil)
        let open = try enclave.open(try enclave.makeKey())
        try tpm.tool("tpm2_flushcontext", "-t")
        try open.expectSignature()
        try tpm.tool("tpm2_flushcontext", "-l")
        try open.expectSignature()
        try tpm.tool("tpm2_flushcontext", "-t")
        try tpm.tool("tpm2_flushcontext", "-l")
        try open.expectSignature()
        #expect(try tpm.handles() == [1, 2, 0])
    }

    // MARK: restarts

    @Test func `after a restart of the chip the next request works`() throws {
        for location in locations() {
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            let open = try enclave.open(try enclave.makeKey())
            let sealed = try enclave.seal(7)
            try open.expectSignature()
            try tpm.restart()
            try open.expectSignature()
            try tpm.restart()
            #expect(try enclave.unseal(sealed) == Data(repeating: 7, count: 32))
            try tpm.restart()
            _ = try enclave.makeKey()
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `while the chip is away requests say so, and work when it is back`() throws {
        for location in locations() {
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            let open = try enclave.open(try enclave.makeKey())
            tpm.kill()
            for _ in 0..<2 {
                // TSS2_TCTI_RC_IO_ERROR
                expect(.unavailable(code: 0xa000a)) { _ = try open.signature(forDigest: Material.digest) }
                expect(.unavailable(code: 0xa000a)) { _ = try enclave.makeKey() }
            }
            try tpm.start()
            try open.expectSignature()
        }
    }

    @Test func `another program's object and session with our numbers after a restart are no refusal`() throws {
        let enclave = try TPMEnclave(at: tpm.keepingLoaded, storageKey: nil)
        let key = try enclave.makeKey()
        let open = try enclave.open(key)
        try tpm.restart()
        try tpm.tool("tpm2_createprimary", "-C", "n", "-G", "ecc", "-c", "other.ctx")
        let other = try ChipConnection(tpm.shared, pinned: nil)
        let sessions = try other.sessions()
        // Not refused: our numbers are another's. There is no room for two new sessions.
        expect(.slotsTaken(.sessions)) { _ = try open.signature(forDigest: Material.digest) }
        try other.context.flush(sessions.encrypting)
        try open.expectSignature()
        expect(.refused) { _ = try enclave.open(key, 2) }
        #expect(try tpm.handles() == [1, 3, 0], "the other's object and session are left alone")
    }
}
