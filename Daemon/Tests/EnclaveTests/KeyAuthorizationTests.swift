import Crypto
import Foundation
import SecretMemory
import Testing

@testable import Enclave

@Suite struct KeyAuthorizationTests {
    private static func bytes(_ secret: borrowing SecretBytes) -> Data { secret.withUnsafeBytes { Data($0) } }

    private static func accessSecret(_ number: UInt16) -> Data {
        Data(SHA256.hash(data: withUnsafeBytes(of: number) { Data($0) }))
    }

    private static func derived(_ accessSecret: Data) -> Data {
        var copy = Data(accessSecret)
        return bytes(KeyAuthorization.derived(from: SecretBytes(taking: &copy)))
    }

    /// HKDF as the documentation says it, without the correction.
    private static func uncorrected(_ accessSecret: Data) -> Data {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: accessSecret),
            info: Data("ostiary.access-secret.enclave-key.v1".utf8), outputByteCount: 32
        ).withUnsafeBytes { Data($0) }
    }

    @Test func `a value never ends in a zero byte, and differs from HKDF only where it would have`() {
        var corrected = 0
        for number in UInt16(0)..<2048 {
            let secret = Self.accessSecret(number)
            let value = Self.derived(secret)
            let plain = Self.uncorrected(secret)
            if plain.last == 0 {
                corrected += 1
                #expect(value == plain.dropLast() + [1])
            } else {
                #expect(value == plain)
            }
        }
        #expect(corrected > 0, "the sample must contain a value that needs the correction")
    }

    @Test func `a value is not the access secret and is the same each time`() {
        let secret = Self.accessSecret(1)
        #expect(Self.derived(secret) != secret)
        #expect(Self.derived(secret) == Self.derived(secret))
        #expect(Self.derived(secret) != Self.derived(Self.accessSecret(2)))
    }

    @Test func `a derived value is usable, an empty one and one with a trailing zero are not`() {
        let usable = [
            KeyAuthorization.isUsable(KeyAuthorization.derived(from: SecretBytes(random: 32))),
            KeyAuthorization.isUsable(SecretBytes(zeroed: 0)),
            KeyAuthorization.isUsable(SecretBytes(zeroed: 32)),
        ]
        #expect(usable == [true, false, false])
    }
}
