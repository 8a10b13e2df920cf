import AccessControl
import Crypto
import Enclave
import Foundation
import SecretMemory
import Testing

@testable import KeySlots

@Suite struct PayloadCipherTests {
    private let marker = Data("marker-of-a-payload".utf8)

    private func seal(_ payload: Data) throws -> Data {
        try PayloadCipher.seal(Sample.secret(payload), accessSecret: Sample.accessSecret, header: Sample.header())
    }

    private func open(
        _ sealed: Data, accessSecret: Data = Sample.accessSecretBytes, header: SlotHeader = Sample.header()
    ) throws(SlotError) -> Data {
        Sample.bytes(try PayloadCipher.open(sealed, accessSecret: Sample.secret(accessSecret), header: header))
    }

    @Test(arguments: [0, 1, 32, 5000, 100_000])
    func `a payload of any size comes back`(count: Int) throws {
        let payload = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let sealed = try seal(payload)
        #expect(sealed.count == count + 29)
        #expect(try open(sealed) == payload)
    }

    @Test func `the same payload seals to different bytes without its text`() throws {
        let first = try seal(marker)
        #expect(first != (try seal(marker)))
        #expect(first.range(of: marker.prefix(8)) == nil)
    }

    @Test func `another access secret is refused`() throws {
        let sealed = try seal(marker)
        #expect(throws: SlotError.refused) { _ = try open(sealed, accessSecret: Data(count: 32)) }
    }

    @Test(arguments: [0, 31, 33])
    func `an access secret of another size is not used`(count: Int) throws {
        let sealed = try seal(marker)
        #expect(throws: SlotError.invalidAccessSecret) { _ = try open(sealed, accessSecret: Data(count: count)) }
    }

    @Test(arguments: [
        Sample.header(store: "other"), Sample.header(owner: "other"), Sample.header(object: "other"),
        Sample.header(availability: .always), Sample.header(accessControl: Data([9])), Sample.header(group: "other"),
    ])
    func `another object's header is refused`(header: SlotHeader) throws {
        let sealed = try seal(marker)
        #expect(throws: SlotError.refused) { _ = try open(sealed, header: header) }
    }

    @Test func `every truncation and flipped bit is refused or malformed`() throws {
        let sealed = try seal(marker)
        #expect(throws: SlotError.malformed) { _ = try open(Data()) }
        for count in 1..<sealed.count {
            #expect(throws: SlotError.refused) { _ = try open(sealed.prefix(count)) }
        }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: index == 0 ? SlotError.malformed : .refused) { _ = try open(changed) }
        }
    }

    @Test func `a slice of a larger buffer opens`() throws {
        #expect(try open((Data([1, 2]) + seal(marker)).dropFirst(2)) == marker)
    }

    @Test func `the access secret has another value for each use`() throws {
        let payloadKey = Sample.accessSecret.derivedKey(label: AccessSecret.payloadLabel)
        let payload = payloadKey.withUnsafeBytes { Data($0) }
        let authorization = Sample.bytes(KeyAuthorization.derived(from: Sample.accessSecret))
        #expect(Set([payload, authorization, Sample.accessSecretBytes]).count == 3)
    }

    @Test func `new access secrets differ`() {
        #expect(Sample.bytes(AccessSecret.random()) != Sample.bytes(AccessSecret.random()))
        #expect(Sample.bytes(AccessSecret.random()).count == 32)
    }
}
