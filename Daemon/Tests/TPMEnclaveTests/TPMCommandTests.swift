import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The commands of a passcode's life, which the documents state: a chip needs up to 200 ms for each.
@Suite(.timeLimit(.minutes(10))) struct TPMCommandTests {
    private let tpm: SoftwareTPM
    private let owner = Material.binding.owner

    /// With the machine's storage key, as on a common machine.
    init() throws {
        tpm = try SoftwareTPM()
        try tpm.keepStorageKey()
    }

    /// An enclave whose commands are recorded, with a resource manager and started sessions.
    private func recorded(_ body: (TPMEnclave) throws -> Void) throws {
        _ = try tpm.recorded("commands.pcap") { location in
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            _ = try enclave.makeKey()
            try body(enclave)
        }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    private func expectCommands(
        _ expected: [RecordedCommand], _ location: SourceLocation = #_sourceLocation, from body: () throws -> Void
    ) throws {
        let commands = try tpm.commands("commands.pcap", during: body)
        #expect(commands == expected, sourceLocation: location)
    }

    private func made(in enclave: TPMEnclave, as chipOwner: OwnerPassword? = nil) throws -> Data {
        let passcode = try enclave.makePasscode(
            Material.secret(1), sealing: Material.secret(9), of: owner, as: chipOwner)
        try enclave.use(passcode, of: owner)
        return passcode
    }

    private func session(_ enclave: TPMEnclave, _ passcode: Data, _ value: UInt8 = 1) throws -> any PasscodeSession {
        try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(value)).session
    }

    @Test func `setting a passcode is twelve commands, and three more where one was left behind`() throws {
        try recorded { enclave in
            let written: [RecordedCommand] = [
                .defineSpace, .load, .startSession, .policySecret, .policyOr, .write, .flush, .read,
            ]
            try expectCommands([.create, .capability] + written + [.create, .create]) { _ = try made(in: enclave) }
            let former: [RecordedCommand] = [.capability, .readIndex, .readIndex, .undefineSpace]
            try expectCommands([.create] + former + written + [.create, .create]) {
                _ = try made(in: enclave)
            }
        }
    }

    @Test func `a key below the passcode is made with six commands, any other with one`() throws {
        try recorded { enclave in
            _ = try made(in: enclave)
            try expectCommands([.load, .startSession, .policyCommandCode, .policyOr, .create, .flush]) {
                _ = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
            }
            try expectCommands([.create]) { _ = try enclave.makeKey() }
        }
    }

    @Test func `an entry is five commands and a wrong passcode three, also in a row`() throws {
        try recorded { enclave in
            let passcode = try made(in: enclave)
            let right: [RecordedCommand] = [.startSession, .policySecret, .load, .unseal, .flush]
            func wrong() { expect(.refused) { _ = try session(enclave, passcode, 2) } }
            for _ in 1...2 { try expectCommands(right) { _ = try session(enclave, passcode) } }
            for _ in 1...3 { try expectCommands([.startSession, .policySecret, .read], from: wrong) }
            #expect(try enclave.wrongTries(at: passcode) == WrongTries(count: 3, limit: 10))
            try expectCommands(right) { _ = try session(enclave, passcode) }
            for _ in 1...9 { wrong() }
            for value: UInt8 in [2, 1] {
                try expectCommands([.startSession, .policySecret, .read]) {
                    expect(.passcodeBlocked) { _ = try session(enclave, passcode, value) }
                }
            }
        }
    }

    @Test func `where the owner has a password, a wrong passcode is nine commands and an entry five`() throws {
        try tpm.setOwnerPassword()
        try recorded { enclave in
            let password = OwnerPassword(SecretBytes(Data(SoftwareTPM.ownerPassword.utf8)))
            let passcode = try made(in: enclave, as: password)
            // The sessions that carried the owner's password have ended with that request.
            _ = try session(enclave, passcode)
            try expectCommands([.startSession, .policySecret, .load, .unseal, .flush]) {
                _ = try session(enclave, passcode)
            }
            let wrong: [RecordedCommand] = [
                .startSession, .policySecret, .read, .random, .random, .readIndex, .policyCommandCode, .policyOr, .read,
            ]
            for _ in 1...3 {
                try expectCommands(wrong) { expect(.refused) { _ = try session(enclave, passcode, 2) } }
            }
            try expectCommands([.readIndex, .startSession, .policyCommandCode, .policyOr, .read]) {
                let tries = try enclave.wrongTries(at: passcode)
                #expect(tries == WrongTries(count: 3, limit: 10))
            }
        }
    }

    @Test func `the first entry after a start reads the index too`() throws {
        let first = try TPMEnclave(at: tpm.shared, storageKey: nil)
        let passcode = try made(in: first)
        try recorded { enclave in
            try expectCommands([.startSession, .readIndex, .policySecret, .load, .unseal, .flush]) {
                _ = try session(enclave, passcode)
            }
        }
    }

    @Test func `an entry with the key brought back is six commands, and eight more the first time`() throws {
        try recorded { enclave in
            let passcode = try made(in: enclave)
            let key = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
            func opened() throws -> any OpenEnclaveKey {
                try enclave.openKey(
                    key, authorization: Material.secret(4), binding: Material.passcodeBinding,
                    session: session(enclave, passcode))
            }
            let entry: [RecordedCommand] = [.startSession, .policySecret, .load, .unseal, .flush]
            var open: (any OpenEnclaveKey)?
            try expectCommands(entry + [.load, .read, .startSession, .policySecret, .policyOr, .load, .flush, .sign]) {
                open = try opened()
            }
            try expectCommands([.sign]) { try open?.expectSignature() }
            try expectCommands([.readPublic, .contextSave, .flush]) {
                open = nil
                enclave.settle()
            }
            for _ in 1...2 {
                try expectCommands(entry + [.contextLoad]) { open = try opened() }
                try expectCommands([.sign]) { try open?.expectSignature() }
                try expectCommands([.flush]) {
                    open = nil
                    enclave.settle()
                }
            }
        }
    }

    @Test func `a change is five commands`() throws {
        try recorded { enclave in
            let passcode = try made(in: enclave)
            try expectCommands([.startSession, .policyAuthValue, .policyCommandCode, .policyOr, .changeAuth]) {
                try enclave.changePasscode(passcode, from: Material.secret(1), to: Material.secret(5))
            }
            _ = try session(enclave, passcode, 5)
        }
    }
}
