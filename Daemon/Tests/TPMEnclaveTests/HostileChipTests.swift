import Crypto
import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import TerminalTestSupport
import Testing

@testable import TPMEnclave

/// A TPM, or somebody on the way to it, that answers as it likes.
@Suite(.timeLimit(.minutes(10))) struct HostileChipTests {
    /// Each request ends with a result that holds, or with an error.
    @Test(arguments: UInt64(1)...6)
    func `every answer either holds or is an error, and later all works again`(seed: UInt64) throws {
        let tpm = try SoftwareTPM()
        let proxy = try HostileProxy(to: tpm, seed: seed)
        defer { proxy.end() }
        let enclave = try TPMEnclave(at: proxy.location, storageKey: nil, timeLimit: .seconds(2))
        let owner = Material.binding.owner
        let key = try enclave.makeKey()
        let blob = try enclave.seal(7)
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)

        proxy.setHostile(true)
        var (worked, failed) = (0, 0)
        for turn in 0..<40 {
            do throws(EnclaveError) {
                switch turn % 4 {
                case 0:
                    let signature = try enclave.openKey(
                        key, authorization: Material.secret(1), binding: Material.binding, session: nil
                    ).signature(forDigest: Material.digest)
                    #expect(Self.isValid(signature, by: key))
                case 1:
                    let secret = try enclave.unseal(
                        blob, authorization: Material.secret(1), context: Material.context)
                    #expect(Data(exposing: secret) == Data(repeating: 7, count: 32))
                case 2:
                    let made = try enclave.makeKey(.p256, authorization: Material.secret(1), binding: Material.binding)
                    #expect(made.publicKey.count == 65)
                default:
                    let opened = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
                    #expect(Data(exposing: opened.secret) == Data(repeating: 9, count: 32))
                }
                worked += 1
            } catch {
                failed += 1
            }
        }
        #expect(failed > 0 && proxy.deedCount >= failed / 4, "\(worked) worked, \(failed) failed")
        // A wrong passcode is never taken for the right one.
        for _ in 0..<4 {
            #expect(throws: EnclaveError.self) {
                _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2))
            }
        }

        proxy.setHostile(false)
        // Where an answer was lost, nobody knows what is left in the chip: see "When it does not work" in tpm.md.
        enclave.settle()
        #expect(try tpm.handles().allSatisfy { $0 <= 3 })
        tpm.flush()
        try eventually("it works again") {
            do {
                try enclave.open(key).expectSignature()
                return true
            } catch is EnclaveError {
                return false
            }
        }
        #expect(try enclave.unseal(blob) == Data(repeating: 7, count: 32))
        _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
        #expect(try tpm.handles() == [0, 0, 0])
    }

    // MARK: some spoilt answers

    /// Everything that a daemon has a chip do.
    private enum Work: CaseIterable {
        case sign, unseal, makeKey, approve, enter, keyBelow, change, replace
    }

    /// The enclave and the keys with which the work is done.
    private final class Stage {
        let enclave: TPMEnclave
        let key: WrappedKey
        let blob: Data
        let confirming: WrappedKey
        let binding: KeyBinding
        let passcode: Data
        /// Whose passcode is set and removed.
        let other = Data(repeating: 8, count: 16)
        /// The values of which one is the passcode's: two after a change without an answer.
        var values: [UInt8] = [1]

        private static let owner = Material.binding.owner

        init(_ enclave: TPMEnclave) throws {
            self.enclave = enclave
            key = try enclave.makeKey()
            blob = try enclave.seal(7)
            binding = KeyBinding(
                owner: Self.owner, outsideInfo: Data(), requiresPasscode: false,
                approver: try ApprovalKey(derivedFrom: Material.secret(8)).publicKey)
            confirming = try enclave.makeKey(authorization: Material.secret(1), binding: binding)
            passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: Self.owner)
            try enclave.use(passcode, of: Self.owner)
        }

        func carryOut(_ work: Work) throws {
            switch work {
            case .sign: try enclave.open(key).expectSignature()
            case .unseal: #expect(try enclave.unseal(blob) == Data(repeating: 7, count: 32))
            case .makeKey: #expect(try enclave.makeKey().publicKey.count == 65)
            case .approve: try approve()
            case .enter: _ = try enter()
            case .keyBelow: try useKeyBelow()
            case .change: try change()
            case .replace: try replace()
            }
        }

        private func approve() throws {
            let open = try enclave.openKey(
                confirming, authorization: Material.secret(1), binding: binding, session: nil)
            let approval = SignatureApproval(
                of: Material.digest, by: try ApprovalKey(derivedFrom: Material.secret(8)))
            let signature = try open.signature(forDigest: Material.digest, approvedBy: approval)
            #expect(HostileChipTests.isValid(signature, by: confirming))
        }

        private func useKeyBelow() throws {
            let made = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
            let session = try enter().session
            let open = try enclave.openKey(
                made, authorization: Material.secret(4), binding: Material.passcodeBinding, session: session)
            try open.expectSignature()
        }

        private func enter() throws -> OpenedPasscode {
            for value in values.dropLast() {
                do { return try enter(value) } catch EnclaveError.refused {}
            }
            return try enter(values[values.count - 1])
        }

        private func enter(_ value: UInt8) throws -> OpenedPasscode {
            let opened = try enclave.openPasscode(
                passcode, of: Self.owner, authorization: Material.secret(value))
            let secret = Data(exposing: opened.secret)
            #expect(secret == Data(repeating: 9, count: 32))
            values = [value]
            return opened
        }

        private func change() throws {
            _ = try enter()
            let (former, next): (UInt8, UInt8) = (values[0], values[0] == 1 ? 5 : 1)
            values = [former, next]
            try enclave.changePasscode(passcode, from: Material.secret(former), to: Material.secret(next))
            values = [next]
            _ = try enter()
        }

        private func replace() throws {
            try enclave.removePasscode(of: other)
            let made = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: other)
            _ = try enclave.openPasscode(made, of: other, authorization: Material.secret(1))
        }
    }

    /// Answers that are spoilt now and then stop nothing for long. A person frees places as the error says.
    @Test(arguments: UInt64(1)...3)
    func `with one spoilt answer of forty each kind of work gets done`(seed: UInt64) throws {
        let tpm = try SoftwareTPM()
        try tpm.keepStorageKey()
        let proxy = try HostileProxy(to: tpm, seed: seed, oneOf: 40)
        defer { proxy.end() }
        let enclave = try TPMEnclave(at: proxy.keepingLoaded, storageKey: nil, timeLimit: .seconds(2))
        let stage = try Stage(enclave)
        proxy.setHostile(true)
        var worked: [Work: Int] = [:]
        for _ in 1...12 {
            for work in Work.allCases {
                do {
                    try stage.carryOut(work)
                    worked[work, default: 0] += 1
                } catch EnclaveError.slotsTaken {
                    tpm.flush()
                } catch is EnclaveError {}
            }
        }
        for work in Work.allCases { #expect(worked[work, default: 0] >= 4, "\(work)") }
        #expect(proxy.deedCount >= 10)
        proxy.setHostile(false)
        tpm.flush()
        for work in Work.allCases {
            try eventually("\(work) works again") {
                do { try stage.carryOut(work) } catch is EnclaveError { return false }
                return true
            }
        }
    }

    fileprivate static func isValid(_ signature: Data, by key: WrappedKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            let key = try? P256.Signing.PublicKey(x963Representation: key.publicKey)
        else { return false }
        return key.isValidSignature(signature, for: SHA256.hash(data: Data("message".utf8)))
    }
}
