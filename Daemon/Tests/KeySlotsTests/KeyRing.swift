import AccessControl
import Foundation
import KeySlots
import SecretMemory
import Testing

/// The key pairs of one owner, all of them, and the values that tests seal with.
struct KeyRing: Sendable {
    static let roles: [KeyRole] =
        [.passcode, .biometry, .securityKey] + AvailabilityClass.allCases.map { .classKey($0) }

    /// One ring for all tests that do not need their own: making keys is the slow part.
    static let shared = KeyRing()
    /// The same roles with other keys and the same epochs.
    static let foreign = KeyRing()

    let halves: [KeyRole: PrivateHalf]

    /// A pair that cannot be made is an issue, and missing.
    init(epoch: UInt32 = 1) {
        var halves: [KeyRole: PrivateHalf] = [:]
        for role in Self.roles {
            do { halves[role] = try PrivateHalf(generating: role, epoch: epoch) } catch {
                Issue.record(error, "\(role)")
            }
        }
        self.halves = halves
    }

    var all: [PrivateHalf] { Self.roles.compactMap { halves[$0] } }

    func publicHalf(_ role: KeyRole) -> PublicHalf? { halves[role]?.publicHalf }

    func callAsFunction(_ roles: KeyRole...) -> [PrivateHalf] { roles.compactMap { halves[$0] } }
}

/// Values that several suites use.
enum Sample {
    static let accessSecretBytes = Data("access-secret-marker-0123456789a".utf8)
    static let enrolmentID = Data("templates of two fingers".utf8)
    static let passwordParameters = Data("salt and cost".utf8)

    static var accessSecret: SecretBytes { secret(accessSecretBytes) }
    static var stretchedPassword: SecretBytes { secret(Data(repeating: 0x5a, count: 32)) }
    static var otherPassword: SecretBytes { secret(Data(repeating: 0x5b, count: 32)) }

    static func secret(_ bytes: Data) -> SecretBytes {
        var copy = bytes
        return SecretBytes(taking: &copy)
    }

    static func bytes(_ secret: borrowing SecretBytes) -> Data { secret.withUnsafeBytes { Data($0) } }

    static func header(
        store: String = "store", owner: String = "owner", object: String = "object",
        availability: AvailabilityClass = .whenUnlocked, accessControl: Data = Data([1, 3, 0]), group: String = "group"
    ) -> SlotHeader {
        SlotHeader(
            storeID: Data(store.utf8), ownerID: Data(owner.utf8), objectID: Data(object.utf8),
            availability: availability, accessControl: accessControl, accessGroup: group)
    }

    /// Seals the sample secret for `alternatives` to `ring`, with password and enrolment id at hand.
    static func slots(
        _ alternatives: [FactorSet], header: SlotHeader = Sample.header(), ring: KeyRing = .shared
    ) throws -> [KeySlot] {
        try SlotSealer.seal(
            accessSecret, alternatives: alternatives, header: header, publicHalves: ring.publicHalf,
            applicationPassword: ApplicationPassword(stretchedKey: stretchedPassword, parameters: passwordParameters),
            enrolmentID: enrolmentID)
    }

    /// The secret that a slot gives, as data to compare.
    static func open(
        _ slot: KeySlot, header: SlotHeader = Sample.header(), with halves: [PrivateHalf] = KeyRing.shared.all,
        password: Bool = true
    ) throws(SlotError) -> Data {
        let secret =
            password
            ? try SlotOpener.open(slot, header: header, privateHalves: halves, applicationPassword: stretchedPassword)
            : try SlotOpener.open(slot, header: header, privateHalves: halves)
        return bytes(secret)
    }
}
