import Enclave
import Foundation
import SecretMemory
import Testing

extension EnclaveContract {
    private static let context = Data("passcode key of an owner".utf8)

    static let sealingChecks = [
        Check("a sealed secret comes back after a restart") { contract in
            let blob = try contract.open().seal(secret(7), authorization: secret(1), context: context)
            let unsealed = try contract.open().unseal(blob, authorization: secret(1), context: context)
            #expect(bytes(unsealed) == bytes(Self.secret(7)))
        },
        Check("a secret may be sealed to the enclave alone, and then takes no authorization") { contract in
            let enclave = try contract.open()
            let blob = try enclave.seal(secret(7), authorization: none, context: context)
            let unsealed = try enclave.unseal(blob, authorization: none, context: context)
            #expect(bytes(unsealed) == bytes(Self.secret(7)))
            expect(.refused) { _ = try enclave.unseal(blob, authorization: secret(1), context: context) }
        },
        Check("a wrong authorization is refused") { contract in
            let enclave = try contract.open()
            let blob = try enclave.seal(secret(7), authorization: secret(1), context: context)
            expect(.refused) { _ = try enclave.unseal(blob, authorization: secret(2), context: context) }
            expect(.refused) { _ = try enclave.unseal(blob, authorization: none, context: context) }
        },
        Check("a refusal changes nothing: the right authorization works afterwards") { contract in
            let enclave = try contract.open()
            let blob = try enclave.seal(secret(7), authorization: secret(1), context: context)
            expect(.refused) { _ = try enclave.unseal(blob, authorization: secret(2), context: context) }
            let unsealed = try enclave.unseal(blob, authorization: secret(1), context: context)
            #expect(bytes(unsealed) == bytes(Self.secret(7)))
        },
        Check("another context makes a sealed secret unreadable") { contract in
            let enclave = try contract.open()
            let blob = try enclave.seal(secret(7), authorization: secret(1), context: context)
            for other in [Data(), context.dropLast(), context + [0]] {
                expect(.unreadable) { _ = try enclave.unseal(blob, authorization: secret(1), context: other) }
            }
        },
        Check("a secret sealed on another device is unreadable") { contract in
            let enclave = try contract.open()
            let other = try contract.openOther()
            let blob = try other.seal(secret(7), authorization: secret(1), context: context)
            expect(.unreadable) { _ = try enclave.unseal(blob, authorization: secret(1), context: context) }
            let unlocked = try other.seal(secret(7), authorization: none, context: context)
            expect(.unreadable) { _ = try enclave.unseal(unlocked, authorization: none, context: context) }
        },
        Check("a damaged sealed secret opens for nobody") { contract in
            let enclave = try contract.open()
            let blob = try enclave.seal(secret(7), authorization: secret(1), context: context)
            for (what, bytes) in damaged(blob) {
                #expect(throws: EnclaveError.self, "\(what)") {
                    _ = try enclave.unseal(bytes, authorization: secret(1), context: context)
                }
            }
        },
        Check("the same secret seals to different bytes, none of them its own") { contract in
            let enclave = try contract.open()
            let first = try enclave.seal(secret(7), authorization: secret(1), context: context)
            let second = try enclave.seal(secret(7), authorization: secret(1), context: context)
            #expect(first != second)
            #expect(first.range(of: Data(repeating: 7, count: 8)) == nil)
        },
        Check("a key does not open as a sealed secret") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            expect(.unreadable) {
                _ = try enclave.unseal(key.blob, authorization: secret(1), context: Data("label".utf8))
            }
        },
        Check("a sealed secret does not open as a key") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            let sealed = try enclave.seal(secret(7), authorization: secret(1), context: binding.outsideInfo)
            expect(.unreadable) {
                _ = try enclave.openKey(
                    altered(key, blob: sealed), authorization: secret(1), binding: binding, session: contract.session())
            }
        },
        Check("as much can be sealed as a chip has room for, and neither more nor nothing") { contract in
            let enclave = try contract.open()
            for count in [1, 96, 128] {
                let blob = try enclave.seal(SecretBytes(zeroed: count), authorization: none, context: context)
                let unsealed = try enclave.unseal(blob, authorization: none, context: context)
                #expect(bytes(unsealed) == Data(count: count))
            }
            for count in [0, 129] {
                expect(.invalidSecret) {
                    _ = try enclave.seal(SecretBytes(zeroed: count), authorization: none, context: context)
                }
            }
        },
    ]
}
