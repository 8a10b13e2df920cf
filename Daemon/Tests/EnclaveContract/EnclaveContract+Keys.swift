import Enclave
import Foundation
import SecretMemory
import Testing

extension EnclaveContract {
    static let keyChecks = [
        Check("a key opens after a restart with its authorization and binding") { contract in
            let key = try contract.open().makeKey(authorization: secret(1), binding: binding)
            let opened = try contract.open().openKey(
                key, authorization: secret(1), binding: binding, session: contract.session())
            #expect(opened.publicKey == key.publicKey)
        },
        Check("a key says its kind and an uncompressed public key") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            #expect(key.kind == enclave.kind)
            #expect(key.publicKey.count == 65)
            #expect(key.publicKey.first == 0x04)
        },
        Check("two keys differ in public key and blob") { contract in
            let enclave = try contract.open()
            let first = try enclave.makeKey(authorization: secret(1), binding: binding)
            let second = try enclave.makeKey(authorization: secret(1), binding: binding)
            #expect(first.publicKey != second.publicKey)
            #expect(first.blob != second.blob)
        },
        Check("a wrong authorization is refused") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            expect(.refused) {
                _ = try enclave.openKey(key, authorization: secret(2), binding: binding, session: contract.session())
            }
            expect(.refused) {
                _ = try enclave.openKey(key, authorization: none, binding: binding, session: contract.session())
            }
        },
        Check("an authorization that starts like the right one is refused") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            expect(.refused) {
                _ = try enclave.openKey(
                    key, authorization: secret(1).prefix(31), binding: binding, session: contract.session())
            }
        },
        Check("a key is not made for an authorization that a chip would shorten") { contract in
            let enclave = try contract.open()
            expect(.invalidAuthorization) { _ = try enclave.makeKey(authorization: none, binding: binding) }
            expect(.invalidAuthorization) { _ = try enclave.makeKey(authorization: secret(0), binding: binding) }
        },
        Check("a key takes as much outside information as a chip has room for, and no more") { contract in
            let enclave = try contract.open()
            let largest = KeyBinding(owner: owner, outsideInfo: Data(repeating: 1, count: 64), requiresPasscode: true)
            let key = try enclave.makeKey(authorization: secret(1), binding: largest)
            _ = try enclave.openKey(key, authorization: secret(1), binding: largest, session: contract.session())
            let larger = KeyBinding(owner: owner, outsideInfo: Data(repeating: 1, count: 65), requiresPasscode: true)
            expect(.invalidBinding) { _ = try enclave.makeKey(authorization: secret(1), binding: larger) }
        },
        Check("another outside information makes a key unreadable") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            for outsideInfo in [Data(), binding.outsideInfo.dropLast(), binding.outsideInfo + [0]] {
                let other = KeyBinding(owner: owner, outsideInfo: outsideInfo, requiresPasscode: true)
                expect(.unreadable) {
                    _ = try enclave.openKey(key, authorization: secret(1), binding: other, session: contract.session())
                }
            }
        },
        Check("a key that requires the passcode does not open as one that does not, nor the other way round") {
            contract in
            let enclave = try contract.open()
            for made in [true, false] {
                let right = KeyBinding(owner: owner, outsideInfo: binding.outsideInfo, requiresPasscode: made)
                let wrong = KeyBinding(owner: owner, outsideInfo: binding.outsideInfo, requiresPasscode: !made)
                let key = try enclave.makeKey(authorization: secret(1), binding: right)
                expect(.unreadable) {
                    _ = try enclave.openKey(key, authorization: secret(1), binding: wrong, session: contract.session())
                }
            }
        },
        Check("a key that requires the passcode opens only in a session of its owner") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            expect(.passcodeNeeded) {
                _ = try enclave.openKey(key, authorization: secret(1), binding: binding, session: nil)
            }
            expect(.passcodeNeeded) {
                _ = try enclave.openKey(
                    key, authorization: secret(1), binding: binding, session: contract.session(of: otherOwner))
            }
            expect(.passcodeNeeded) {
                _ = try enclave.openKey(
                    key, authorization: secret(1), binding: binding, session: ForeignSession(owner: owner))
            }
            _ = try enclave.openKey(key, authorization: secret(1), binding: binding, session: contract.session())
        },
        Check("a key that does not require the passcode opens without a session") { contract in
            let enclave = try contract.open()
            let free = KeyBinding(owner: owner, outsideInfo: binding.outsideInfo, requiresPasscode: false)
            let key = try enclave.makeKey(authorization: secret(1), binding: free)
            _ = try enclave.openKey(key, authorization: secret(1), binding: free, session: nil)
        },
        Check("a session replaces no authorization") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            expect(.refused) {
                _ = try enclave.openKey(key, authorization: none, binding: binding, session: contract.session())
            }
        },
        Check("a key of another device is unreadable, with the right authorization too") { contract in
            let key = try contract.openOther().makeKey(authorization: secret(1), binding: binding)
            let enclave = try contract.open()
            expect(.unreadable) {
                _ = try enclave.openKey(key, authorization: secret(1), binding: binding, session: contract.session())
            }
        },
        Check("a key is not opened as a key of another kind") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            for kind in EnclaveKind.allCases where kind != enclave.kind {
                expect(.wrongKind) {
                    _ = try enclave.openKey(
                        altered(key, kind: kind), authorization: secret(1), binding: binding,
                        session: contract.session())
                }
            }
        },
        Check("a key does not open with the public key of another one") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            let other = try enclave.makeKey(authorization: secret(1), binding: binding)
            for publicKey in [other.publicKey, Data(), key.publicKey.dropLast()] {
                expect(.unreadable) {
                    _ = try enclave.openKey(
                        altered(key, publicKey: publicKey), authorization: secret(1), binding: binding,
                        session: contract.session())
                }
            }
        },
        Check("a damaged key opens for nobody") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            let session = try contract.session()
            for (what, blob) in damaged(key.blob) {
                #expect(throws: EnclaveError.self, "\(what)") {
                    _ = try enclave.openKey(
                        altered(key, blob: blob), authorization: secret(1), binding: binding, session: session)
                }
            }
            // The session was not why.
            _ = try enclave.openKey(key, authorization: secret(1), binding: binding, session: session)
        },
    ]
}

/// A session of no enclave's own type.
private struct ForeignSession: PasscodeSession {
    let owner: Data
}
