import Authenticators
import BrokerTestSupport
import Foundation
import KeySlots
import Opening
import OstiaryMessages
import Owners
import Refusals
import SecretMemory
import Settings
import StoreTestSupport
import TPMTestSupport
import Testing

@testable import Broker
@testable import OwnerKeys

/// The keys of an owner, with outputs that no key computed.
@Suite(.timeLimit(.minutes(10))) struct SecurityKeyLifeTests {
    private let fixture: FactorFixture
    private let life: SecurityKeyLife
    private let secret = Credential(SecretBytes(random: 32))

    init() throws {
        fixture = try FactorFixture()
        life = try #require(fixture.fixture.account.securityKeys).life
    }

    private func new(_ number: UInt8, isVerified: Bool = true) -> NewSecurityKey {
        NewSecurityKey(
            identifier: Data(repeating: number, count: 16), name: "key \(number)", enrolledAt: 1, credential: [number],
            isVerified: isVerified, pinProtocol: 2, model: [UInt8](repeating: number, count: 16))
    }

    private func enrollFirst() throws -> [PrivateHalf] {
        try life.enroll(new(1), secret: secret.bytes, to: life.load(), openedBy: [])
        let record = try life.load()
        return try life.open(record.keys[0], of: record, with: secret.bytes)
    }

    @Test func `another secret opens nothing, nor does a changed record`() throws {
        _ = try enrollFirst()
        let record = try life.load()
        #expect(throws: SlotError.refused) {
            try life.open(record.keys[0], of: record, with: SecretBytes(random: 32))
        }
        for change: (inout SecurityKeyRecord.Key) -> Void in [
            { $0.isVerified = false }, { $0.pinProtocol = 1 }, { $0.identifier = Data(count: 16) },
        ] {
            var key = record.keys[0]
            change(&key)
            #expect(throws: SlotError.refused) { try life.open(key, of: record, with: secret.bytes) }
        }
    }

    @Test func `a second key needs what the first one opens`() throws {
        let halves = try enrollFirst()
        #expect(throws: Refusal.keysChanged) {
            try life.enroll(new(2), secret: SecretBytes(random: 32), to: life.load(), openedBy: [])
        }
        let foreign = try [PrivateHalf(generating: .securityKey, epoch: 1)]
        #expect(throws: Refusal.keysChanged) {
            try life.enroll(new(2), secret: SecretBytes(random: 32), to: life.load(), openedBy: foreign)
        }
        #expect(try life.load().keys.count == 1)
        try life.enroll(new(2), secret: SecretBytes(random: 32), to: life.load(), openedBy: halves)
        #expect(try life.load().keys.count == 2)
    }

    @Test func `eight keys can be enrolled, and not nine`() throws {
        let halves = try enrollFirst()
        for number: UInt8 in 2...8 {
            try life.enroll(new(number), secret: SecretBytes(random: 32), to: life.load(), openedBy: halves)
        }
        let refused = #expect(throws: Refusal.self) {
            try life.enroll(new(9), secret: SecretBytes(random: 32), to: life.load(), openedBy: halves)
        }
        #expect(refused?.cause == "security-key.too-many")
        #expect(try life.load().keys.count == 8)
    }

    @Test func `a key can be removed however many were, and the first one still opens everything`() throws {
        _ = try enrollFirst()
        for number: UInt8 in 2...40 {
            var record = try life.load()
            let halves = try open(record)
            #expect(halves.map(\.publicHalf) == record.epochs)
            try life.enroll(new(number), secret: SecretBytes(random: 32), to: record, openedBy: halves)
            try life.remove(Data(repeating: number, count: 16))
            record = try life.load()
            #expect(record.keys.map(\.name) == ["key 1"])
            #expect(record.epochs.count == min(Int(number), SecurityKeyRecord.epochCount))
        }
    }

    /// The halves that the first key opens. It follows to the present salt with the same secret.
    private func open(_ record: SecurityKeyRecord) throws -> [PrivateHalf] {
        try life.open(record.keys[0], of: record, with: secret.bytes)
    }

    @Test func `a number of a pair is never used again`() throws {
        _ = try enrollFirst()
        let first = try #require(try life.load().epochs.last)
        try life.remove(Data(repeating: 1, count: 16))
        #expect(try life.load().epochs.isEmpty)
        #expect(fixture.fixture.account.ring.publicHalf(.securityKey) == nil)
        try life.enroll(new(1), secret: secret.bytes, to: life.load(), openedBy: [])
        let second = try #require(try life.load().epochs.last)
        #expect(second.epoch == first.epoch + 1 && second != first)
    }

    @Test func `a key that follows to the present salt opens with nothing else`() throws {
        let halves = try enrollFirst()
        try life.enroll(new(2), secret: SecretBytes(random: 32), to: life.load(), openedBy: halves)
        try life.remove(Data(repeating: 2, count: 16))
        let record = try life.load()
        #expect(record.saltGeneration == 2 && record.keys[0].saltGeneration == 1)
        let opened = try open(record)
        #expect(opened.count == 2)
        let next = SecretBytes(random: 32)
        try life.renew(record.keys[0], of: record, halves: opened, secret: next)
        let renewed = try life.load()
        #expect(renewed.keys[0].saltGeneration == 2)
        #expect(throws: SlotError.refused) { try open(renewed) }
        #expect(try life.open(renewed.keys[0], of: renewed, with: next).map(\.publicHalf) == renewed.epochs)
        #expect(throws: Refusal.keysChanged) {
            try life.renew(record.keys[0], of: record, halves: opened, secret: next)
        }
    }

    @Test func `an unknown key is not removed`() throws {
        _ = try enrollFirst()
        let refused = #expect(throws: Refusal.self) { try life.remove(Data(count: 16)) }
        #expect(refused?.code == .notFound && refused?.cause == "security-key.not-found")
    }

    @Test func `a copy from before a key was enrolled or removed is not the newest one`() throws {
        let tpm = try SoftwareTPM()
        var prompts = PromptConfiguration()
        (prompts.enclave.kind, prompts.enclave.tpm) = (.tpm, tpm.configuration)
        let fixture = try FactorFixture(prompts: prompts)
        defer { withExtendedLifetime((tpm, fixture)) {} }
        let life = try #require(fixture.fixture.account.securityKeys).life
        var copies = [try fixture.fixture.crashCopy()]
        try life.enroll(new(1), secret: secret.bytes, to: life.load(), openedBy: [])
        copies.append(try fixture.fixture.crashCopy())
        try life.remove(new(1).identifier)
        // The daemon ran on, and did not cover the change by ending.
        for copy in copies {
            let error = #expect(throws: BrokerOpeningError.self) { try FactorFixture(in: copy, prompts: prompts) }
            #expect(error?.description.contains("is not the newest copy") == true)
        }
    }

    // MARK: bytes

    @Test func `a record is read strictly`() throws {
        #expect(SecurityKeyRecord().encoded == Data([1] + [UInt8](repeating: 0, count: 8) + [0, 0, 0, 1, 0, 0]))
        _ = try enrollFirst()
        let record = try life.load()
        let bytes = record.encoded
        #expect(try SecurityKeyRecord(decoding: bytes) == record)
        for count in stride(from: 0, to: bytes.count, by: 7) {
            #expect(throws: (any Error).self) { try SecurityKeyRecord(decoding: bytes.prefix(count)) }
        }
        #expect(throws: (any Error).self) { try SecurityKeyRecord(decoding: bytes + [0]) }
        #expect(throws: SecurityKeyRecordError.unknownVersion) {
            try SecurityKeyRecord(decoding: Data([2]) + bytes.dropFirst())
        }
    }
}
