public import CLocalAuthentication
public import Foundation
import OstiaryMessages

/// Digests of the fingers and devices that are enrolled on this machine. A digest changes with the enrolment (Apple's
/// `LADomainState`).
///
/// A program can keep a digest and compare it later. Nothing can be read out of it, and another program gets another digest of
/// the same fingers.
public final class LADomainState: NSObject, Sendable {
    /// The biometric part.
    public let biometry: LADomainStateBiometry
    /// The part of companions.
    public let companion: LADomainStateCompanion
    /// Both parts as one digest of 32 bytes, nil when nothing is enrolled or paired.
    public let stateHash: Data?

    /// Nil while the daemon cannot be asked: then there is no digest either.
    init(_ environment: WireEnvironment?) {
        biometry = LADomainStateBiometry(environment?.biometry)
        companion = LADomainStateCompanion(environment?.companions ?? [])
        stateHash = environment?.stateHash.nonEmpty
        super.init()
    }
}

/// The state of biometry (Apple's `LADomainStateBiometry`).
public final class LADomainStateBiometry: NSObject, Sendable {
    /// The sensor.
    public let biometryType: LABiometryType
    /// A digest of the enrolment, 32 bytes; nil when nothing is enrolled, or the fingers cannot be digested.
    public let stateHash: Data?

    init(_ biometry: WireBiometry?) {
        biometryType = LABiometryType(biometry)
        stateHash = biometry?.stateHash.nonEmpty
        super.init()
    }
}

/// The state of companions (Apple's `LADomainStateCompanion`).
public final class LADomainStateCompanion: NSObject, Sendable {
    /// The kinds of paired companions. An enrolled security key counts as a watch.
    public let availableCompanionTypes: Set<LACompanionType>
    private let hashes: [LACompanionType: Data]

    init(_ companions: [WireCompanion]) {
        let typed = companions.compactMap { companion in
            LACompanionType(rawValue: Int(companion.type)).map { ($0, companion.stateHash.nonEmpty) }
        }
        availableCompanionTypes = Set(typed.map(\.0))
        hashes = Dictionary(
            typed.compactMap { type, hash in hash.map { (type, $0) } }, uniquingKeysWith: { first, _ in first })
        super.init()
    }

    /// A digest of all enrolled security keys, 32 bytes; nil when none is enrolled. It changes when one is enrolled or removed. A
    /// key that is removed and enrolled again counts as another one.
    public var stateHash: Data? {
        // Security keys are the only companions here.
        stateHash(for: .watch)
    }

    /// A digest of the companions of one kind, as ``stateHash``; nil for a kind of which none is enrolled.
    @discardableResult
    public func stateHash(for companionType: LACompanionType) -> Data? { hashes[companionType] }
}

extension Data {
    /// The daemon sends no bytes where there is no digest.
    fileprivate var nonEmpty: Data? { isEmpty ? nil : self }
}
