import Crypto
import EnclaveContract
import Foundation
import Glibc
import SecretMemory
import Testing

@testable import Enclave

@Suite struct SoftwareEnclaveTests {
    private let scratch = ScratchDirectory()
    private let otherScratch = ScratchDirectory()
    private let binding = KeyBinding(owner: Data(count: 16), outsideInfo: Data("rule".utf8), requiresPasscode: false)

    init() throws {
        try scratch.make()
        try otherScratch.make()
    }

    private func enclave() throws -> SoftwareEnclave {
        try SoftwareEnclave(directory: scratch.path, ownedBy: geteuid(), createIfMissing: true)
    }

    private static func secret(_ byte: UInt8) -> SecretBytes {
        var data = Data(repeating: byte, count: 32)
        return SecretBytes(taking: &data)
    }

    @Test(arguments: EnclaveContract.checks)
    func `it keeps the contract of an enclave`(check: EnclaveContract.Check) throws {
        try check(
            EnclaveContract(
                open: { [scratch] in
                    try SoftwareEnclave(directory: scratch.path, ownedBy: geteuid(), createIfMissing: true)
                },
                openOther: { [otherScratch] in
                    try SoftwareEnclave(directory: otherScratch.path, ownedBy: geteuid(), createIfMissing: true)
                }, session: { SoftwarePasscodeSession(owner: $0) }))
    }

    @Test func `it says that guessing is offline`() throws {
        let enclave = try enclave()
        #expect(enclave.kind == .software)
        #expect(enclave.guessing == .offline)
    }

    @Test func `a blob that names another kind is not opened, whatever the row says`() throws {
        let enclave = try enclave()
        let key = try enclave.makeKey(authorization: Self.secret(1), binding: binding)
        var blob = key.blob
        blob[1] = EnclaveKind.tpm.code
        let foreign = WrappedKey(kind: .software, publicKey: key.publicKey, blob: blob)
        #expect(throws: EnclaveError.wrongKind) {
            _ = try enclave.openKey(foreign, authorization: Self.secret(1), binding: binding, session: nil)
        }
        var sealed = try enclave.seal(Self.secret(2), authorization: Self.secret(1), context: Data())
        sealed[1] = EnclaveKind.tpm.code
        #expect(throws: EnclaveError.wrongKind) {
            _ = try enclave.unseal(sealed, authorization: Self.secret(1), context: Data())
        }
    }

    @Test func `every damaged byte outside of the kind makes a blob unreadable rather than refused`() throws {
        let enclave = try enclave()
        let key = try enclave.makeKey(authorization: Self.secret(1), binding: binding)
        for index in key.blob.indices where index != 1 {
            var blob = key.blob
            blob[index] ^= 0x80
            let damaged = WrappedKey(kind: .software, publicKey: key.publicKey, blob: blob)
            #expect(throws: EnclaveError.unreadable, "byte \(index)") {
                _ = try enclave.openKey(damaged, authorization: Self.secret(1), binding: binding, session: nil)
            }
        }
        for count in 0..<key.blob.count {
            let cut = WrappedKey(kind: .software, publicKey: key.publicKey, blob: key.blob.prefix(count))
            #expect(throws: EnclaveError.unreadable, "cut to \(count)") {
                _ = try enclave.openKey(cut, authorization: Self.secret(1), binding: binding, session: nil)
            }
        }
    }

    @Test func `a newer blob version is unreadable`() throws {
        let enclave = try enclave()
        var blob = try enclave.seal(Self.secret(2), authorization: Self.secret(1), context: Data())
        blob[0] = 2
        #expect(throws: EnclaveError.unreadable) {
            _ = try enclave.unseal(blob, authorization: Self.secret(1), context: Data())
        }
    }

    @Test func `a slice of a larger buffer opens like a blob of its own`() throws {
        let enclave = try enclave()
        let blob = try enclave.seal(Self.secret(2), authorization: Self.secret(1), context: Data())
        let slice = (Data([9, 9, 9]) + blob).dropFirst(3)
        let secret = try enclave.unseal(slice, authorization: Self.secret(1), context: Data())
        #expect(secret.withUnsafeBytes { Data($0) } == Data(repeating: 2, count: 32))
    }

    @Test func `the private key occurs neither in the key nor in the folder`() throws {
        let enclave = try enclave()
        let marker = Data("marker-of-a-secret-32-bytes-long".utf8)
        var copy = Data(marker)
        let secret = SecretBytes(taking: &copy)
        let blob = try enclave.seal(secret, authorization: Self.secret(1), context: Data())
        #expect(blob.range(of: marker.prefix(8)) == nil)
        let file = try Data(contentsOf: URL(fileURLWithPath: scratch.path("device-secret")))
        #expect(file.range(of: marker.prefix(8)) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["device-secret"])
    }
}
