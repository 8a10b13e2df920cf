import AccessControl
import Crypto
import Foundation
import SecretMemory
import Testing

@testable import KeySlots

@Suite struct KeyHalfTests {
    private let ring = KeyRing.shared
    private let context = Data("store and owner".utf8)

    // MARK: roles

    @Test func `role codes are fixed`() {
        #expect(KeyRing.roles.map(\.code) == [0x01, 0x02, 0x03, 0x11, 0x12, 0x13, 0x14])
    }

    @Test func `a code is read as the role that writes it, any other one as none`() {
        let codes = KeyRing.roles.map(\.code)
        for code in UInt8.min...UInt8.max {
            #expect(KeyRole(code: code)?.code == (codes.contains(code) ? code : nil))
        }
    }

    // MARK: halves

    @Test func `a seed gives back its pair`() throws {
        let half = try PrivateHalf(generating: .passcode, epoch: 4)
        let again = try half.withSeed { try PrivateHalf(seed: SecretBytes(copying: $0), publicHalf: half.publicHalf) }
        #expect(again.publicHalf == half.publicHalf)
        #expect(again.role == .passcode && again.epoch == 4)
    }

    @Test func `two new pairs differ`() throws {
        let first = try PrivateHalf(generating: .passcode, epoch: 1)
        #expect(first.publicHalf.bytes != (try PrivateHalf(generating: .passcode, epoch: 1)).publicHalf.bytes)
    }

    @Test func `a seed is refused with the public half of another pair`() throws {
        let half = try #require(ring.halves[.passcode])
        let other = PublicHalf(
            role: .passcode, epoch: 1, bytes: try #require(KeyRing.foreign.publicHalf(.passcode)).bytes)
        #expect(throws: SlotError.mismatchedHalves(.passcode)) {
            _ = try half.withSeed { try PrivateHalf(seed: SecretBytes(copying: $0), publicHalf: other) }
        }
    }

    @Test(arguments: [0, 31, 33])
    func `a seed of another size is refused`(count: Int) throws {
        let publicHalf = try #require(ring.publicHalf(.passcode))
        #expect(throws: SlotError.mismatchedHalves(.passcode)) {
            _ = try PrivateHalf(seed: SecretBytes(zeroed: count), publicHalf: publicHalf)
        }
    }

    @Test func `a public half comes back from its bytes`() throws {
        for role in KeyRing.roles {
            let half = try #require(ring.publicHalf(role))
            #expect(half.encoded.prefix(11) == Data([1, 1, role.code, 0, 0, 0, 1, 0, 0, 4, 0xc0]))
            #expect(try PublicHalf(encoded: half.encoded) == half)
        }
    }

    @Test func `a public half's damaged bytes are malformed`() throws {
        let bytes = try #require(ring.publicHalf(.passcode)).encoded
        for count in 0..<bytes.count {
            #expect(throws: SlotError.malformed) { _ = try PublicHalf(encoded: bytes.prefix(count)) }
        }
        for (index, value) in [(0, UInt8(2)), (1, 2), (2, 0x04), (2, 0x15), (9, 3), (10, 0xc1)] {
            var changed = bytes
            changed[index] = value
            #expect(throws: SlotError.malformed, "byte \(index)") { _ = try PublicHalf(encoded: changed) }
        }
        #expect(throws: SlotError.malformed) { _ = try PublicHalf(encoded: bytes + [0]) }
    }

    // MARK: wrapped halves

    private func wrapped(_ role: KeyRole = .biometry) throws -> (WrappedPrivateHalf, PrivateHalf, PrivateHalf) {
        let half = try #require(ring.halves[role])
        let passcode = try #require(ring.halves[.passcode])
        return (try WrappedPrivateHalf(wrapping: half, to: passcode.publicHalf, context: context), half, passcode)
    }

    @Test(arguments: [KeyRole.biometry, .classKey(.whenUnlocked), .classKey(.afterFirstUnlock)])
    func `the passcode key gives back what it wraps`(role: KeyRole) throws {
        let (wrapped, half, passcode) = try wrapped(role)
        let decoded = try WrappedPrivateHalf(encoded: wrapped.encoded)
        #expect(decoded == wrapped)
        #expect(wrapped.encoded.count == 1180)
        let unwrapped = try decoded.unwrapped(as: half.publicHalf, with: passcode, context: context)
        let same = unwrapped.withSeed { mine in half.withSeed { mine.isEqual(to: $0) } }
        #expect(same)
    }

    @Test func `another pair or epoch is a missing key`() throws {
        let (wrapped, half, _) = try wrapped()
        let newer = try PrivateHalf(generating: .passcode, epoch: 2)
        for wrong in ring(.biometry, .securityKey) + [newer] {
            #expect(throws: SlotError.missingKey(.passcode, epoch: 1)) {
                _ = try wrapped.unwrapped(as: half.publicHalf, with: wrong, context: context)
            }
        }
    }

    @Test func `another key of the same role and epoch is refused`() throws {
        let (wrapped, half, _) = try wrapped()
        let foreign = try #require(KeyRing.foreign.halves[.passcode])
        #expect(throws: SlotError.refused) {
            _ = try wrapped.unwrapped(as: half.publicHalf, with: foreign, context: context)
        }
    }

    @Test func `another context or public half is refused`() throws {
        let (wrapped, half, passcode) = try wrapped()
        #expect(throws: SlotError.refused) {
            _ = try wrapped.unwrapped(as: half.publicHalf, with: passcode, context: context + [0])
        }
        let others = [
            PublicHalf(role: .biometry, epoch: 2, bytes: half.publicHalf.bytes),
            PublicHalf(role: .securityKey, epoch: 1, bytes: half.publicHalf.bytes),
            try #require(KeyRing.foreign.publicHalf(.biometry)),
        ]
        for other in others {
            #expect(throws: SlotError.refused) {
                _ = try wrapped.unwrapped(as: other, with: passcode, context: context)
            }
        }
    }

    @Test func `damaged bytes are malformed or give back nothing`() throws {
        let (wrapped, half, passcode) = try wrapped()
        let bytes = wrapped.encoded
        for count in 0..<bytes.count {
            #expect(throws: SlotError.malformed) { _ = try WrappedPrivateHalf(encoded: bytes.prefix(count)) }
        }
        #expect(throws: SlotError.malformed) { _ = try WrappedPrivateHalf(encoded: bytes + [0]) }
        for index in bytes.indices where index < 16 || index % 20 == 0 || index >= 1132 {
            var changed = bytes
            changed[index] ^= 0x40
            #expect(throws: SlotError.self, "byte \(index)") {
                _ = try WrappedPrivateHalf(encoded: changed).unwrapped(
                    as: half.publicHalf, with: passcode, context: context)
            }
        }
    }

    @Test func `a wrapped half is no slot: its envelope opens for its own purpose alone`() throws {
        let passcode = try #require(ring.halves[.passcode])
        let envelope = try HybridEnvelope(
            sealing: Sample.accessSecret, to: passcode.publicHalf, purpose: .privateHalf, associatedData: context)
        #expect(throws: SlotError.refused) {
            _ = try envelope.open(with: passcode, purpose: .slot, associatedData: context)
        }
        let opened = try envelope.open(with: passcode, purpose: .privateHalf, associatedData: context)
        #expect(Sample.bytes(opened) == Sample.accessSecretBytes)
    }

    @Test func `the seed is not in the wrapped bytes`() throws {
        let (wrapped, half, _) = try wrapped()
        let seed = half.withSeed { Sample.bytes($0) }
        #expect(wrapped.encoded.range(of: seed.prefix(8)) == nil)
        #expect(half.publicHalf.encoded.range(of: seed.prefix(8)) == nil)
    }
}
