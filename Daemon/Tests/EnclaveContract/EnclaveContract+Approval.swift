import Crypto
import Enclave
import Foundation
import SecretMemory
import Testing

extension EnclaveContract {
    private static func approver(_ seed: UInt8) throws -> ApprovalKey { try ApprovalKey(derivedFrom: secret(seed)) }

    private static func approval(of digest: Data, by seed: UInt8 = 8) throws -> SignatureApproval {
        SignatureApproval(of: digest, by: try approver(seed))
    }

    private static func approvedBinding(by seed: UInt8 = 8, requiresPasscode: Bool = true) throws -> KeyBinding {
        KeyBinding(
            owner: owner, outsideInfo: binding.outsideInfo, requiresPasscode: requiresPasscode,
            approver: try approver(seed).publicKey)
    }

    private func approvedKey(requiresPasscode: Bool = true) throws -> any OpenEnclaveKey {
        let enclave = try open()
        let binding = try Self.approvedBinding(requiresPasscode: requiresPasscode)
        let key = try enclave.makeKey(authorization: Self.secret(1), binding: binding)
        return try enclave.openKey(
            key, authorization: Self.secret(1), binding: binding, session: requiresPasscode ? session() : nil)
    }

    private static func digest(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }

    static let approvalChecks = [
        Check("a key with an approver signs each approved digest, and OpenSSL accepts that") { contract in
            for requiresPasscode in [true, false] {
                let key = try contract.approvedKey(requiresPasscode: requiresPasscode)
                for digest in [digest("one"), digest("two")] {
                    let signature = try key.signature(forDigest: digest, approvedBy: approval(of: digest))
                    #expect(try OpenSSL().accepts(signature, forDigest: digest, publicKey: key.publicKey))
                }
            }
        },
        Check("it does nothing without an approval") { contract in
            let key = try contract.approvedKey()
            let peer = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
            expect(.approvalNeeded) { _ = try key.signature(forDigest: digest("one")) }
            expect(.approvalNeeded) { _ = try key.signature(forMessage: Data("one".utf8)) }
            expect(.unsupportedKey) { _ = try key.sharedSecret(withPublicKey: peer) }
        },
        Check("it signs no other digest than the approved one") { contract in
            let key = try contract.approvedKey()
            let approved = digest("one")
            var flipped = approved
            flipped[31] ^= 1
            for other in [flipped, digest("two"), Data(count: 32)] {
                expect(.notApproved) { _ = try key.signature(forDigest: other, approvedBy: approval(of: approved)) }
            }
            for short in [Data(), Data(approved.dropLast())] {
                expect(.notApproved) { _ = try key.signature(forDigest: approved, approvedBy: approval(of: short)) }
                expect(.invalidDigest) { _ = try key.signature(forDigest: short, approvedBy: approval(of: short)) }
            }
            let signature = try key.signature(forDigest: approved, approvedBy: approval(of: approved))
            #expect(try OpenSSL().accepts(signature, forDigest: approved, publicKey: key.publicKey))
        },
        Check("the approval of another key counts for nothing") { contract in
            let key = try contract.approvedKey()
            expect(.notApproved) {
                _ = try key.signature(forDigest: digest("one"), approvedBy: approval(of: digest("one"), by: 9))
            }
        },
        Check("an approval makes no difference to a key without an approver") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            let open = try enclave.openKey(
                key, authorization: secret(1), binding: binding, session: contract.session())
            expect(.unsupportedKey) {
                _ = try open.signature(forDigest: digest("one"), approvedBy: approval(of: digest("one")))
            }
        },
        Check("the approver is fixed when a key is made") { contract in
            let enclave = try contract.open()
            let approved = try approvedBinding()
            let key = try enclave.makeKey(authorization: secret(1), binding: approved)
            for wrong in [binding, try approvedBinding(by: 9), try approvedBinding(requiresPasscode: false)] {
                expect(.unreadable) {
                    _ = try enclave.openKey(key, authorization: secret(1), binding: wrong, session: contract.session())
                }
            }
            let free = try enclave.makeKey(authorization: secret(1), binding: binding)
            expect(.unreadable) {
                _ = try enclave.openKey(free, authorization: secret(1), binding: approved, session: contract.session())
            }
            expect(.passcodeNeeded) {
                _ = try enclave.openKey(key, authorization: secret(1), binding: approved, session: nil)
            }
        },
        Check("only keys of P-256 have an approver") { contract in
            let enclave = try contract.open()
            for type in EnclaveKeyType.allCases where type != .p256 {
                expect(.unsupportedKey) {
                    _ = try enclave.makeKey(type, authorization: secret(1), binding: approvedBinding())
                }
            }
        },
        Check("the approving key follows from the access secret alone") { contract in
            let key = try approver(8).publicKey
            #expect(try approver(8).publicKey == key)
            #expect(try approver(9).publicKey != key)
            // Computed with Python's `cryptography`: the label and the form of the key are part of every store.
            #expect(
                key.base64EncodedString()
                    == "BJvji5vpCfjfb/rkr1W0+Y+tsmqBIePvEaw3N+jpbWKSQ73IRHIMwLGXb+gMUYgypswM1r2lJ9RZ5IHhZcnEjc0=")
        },
    ]
}
