package import AccessControl
package import Foundation
package import KeySlots
import Passcodes
import Refusals
package import SecretMemory

/// Opens one object's slots with the proofs of an evaluation.
///
/// While the person is asked, a change of the passcode may wrap the slots again. So they are read again when they are
/// opened, inside `PasscodeKeeper.exclusively`, where slots and key ring fit together.
package final class SlotAccess {
    private let header: SlotHeader
    private let passwordParameters: Data?
    /// The enrolled sets that slots are bound to.
    package let enrolmentIDs: Set<Data>
    private let current: () throws -> [KeySlot]
    private let ring: KeyRing
    private let stretching: PasscodeStretching
    /// Set by the check of an application password, which is made by opening.
    private var accessSecret: SecretBytes?
    private var applicationPassword: ApplicationPassword?

    /// - Parameters:
    ///   - slots: the encoded slots, as they are now.
    ///   - current: returns the stored slots at the moment of the call; throws when the object is gone.
    package init(
        _ slots: Data, header: SlotHeader, ring: KeyRing, stretching: PasscodeStretching,
        current: @escaping () throws -> [KeySlot]
    ) throws {
        self.header = header
        self.ring = ring
        self.stretching = stretching
        self.current = current
        let slots = try KeySlot.decode(slots)
        passwordParameters = slots.lazy.compactMap(\.passwordParameters).first
        enrolmentIDs = Set(slots.compactMap(\.enrolmentID))
    }

    /// How an application password is checked; nil when the object has none.
    package var applicationPasswordCheck: ApplicationPasswordCheck? {
        guard passwordParameters != nil else { return nil }
        return ApplicationPasswordCheck(subject: header.objectID) { [self] entered, keys, turn in
            try open(password: entered, with: keys, in: turn)
        }
    }

    /// The access secret, once. Uses a slot that what was proved satisfies.
    ///
    /// - Parameters:
    ///   - factors: what was proved.
    ///   - keys: what this yielded; the key ring has the others.
    package func takeSecret(by factors: FactorSet, _ keys: ProvedKeys) throws -> SecretBytes {
        if accessSecret == nil { accessSecret = try open(by: factors, keys) }
        guard let secret = accessSecret.take() else { throw SlotError.refused }
        return secret
    }

    /// The application password that opened, once: to wrap another secret under it. Nil when none was asked for.
    package func takeApplicationPassword() -> ApplicationPassword? { applicationPassword.take() }

    private func open(by factors: FactorSet, _ keys: ProvedKeys) throws -> SecretBytes {
        let satisfied = try current().filter { factors.satisfies($0.factors) }
        guard !satisfied.isEmpty else { throw SlotError.refused }
        guard let slot = satisfied.first(where: { Self.isOfSet($0, keys) }) else { throw Self.otherSet }
        return try SlotOpener.open(slot, header: header, privateHalves: ring.classHalves + keys.halves)
    }

    /// Whether a finger was compared with the set that the slot is bound to, if it is bound to one.
    private static func isOfSet(_ slot: KeySlot, _ keys: ProvedKeys) -> Bool {
        slot.enrolmentID == nil || slot.enrolmentID == keys.enrolmentID
    }

    private static let otherSet = Refusal.unavailable(.biometryCurrentSet, because: .biometrySetChanged)

    private func open(
        password: borrowing SecretBytes, with keys: ProvedKeys, in turn: borrowing StretchTurn
    ) throws -> Bool {
        // All slots of one object were made with the same password, salt and cost.
        guard let passwordParameters else { return false }
        let stretched = try ApplicationPasswordParameters(passwordParameters)
            .stretch(password, by: stretching, in: turn)
        let slots: [KeySlot]
        do { slots = try current() } catch let refusal as Refusal { throw UncheckedSecret(reason: refusal) }
        var isTried = false
        for slot in slots where slot.passwordParameters == passwordParameters && Self.isOfSet(slot, keys) {
            do {
                accessSecret = try SlotOpener.open(
                    slot, header: header, privateHalves: ring.classHalves + keys.halves,
                    applicationPassword: SecretBytes(copying: stretched))
                applicationPassword = ApplicationPassword(
                    stretchedKey: SecretBytes(copying: stretched), parameters: passwordParameters)
                return true
            } catch SlotError.refused { isTried = true } catch SlotError.missingKey { continue }
        }
        // A lock or a change of the passcode has taken the keys of the outer layers meanwhile.
        guard isTried else { throw UncheckedSecret(reason: Refusal.keysChanged) }
        return false
    }
}

/// Checks an application password by opening the object with it.
package struct ApplicationPasswordCheck {
    /// The counter of wrong tries: the object's id.
    package let subject: Data
    /// True when it opens; throws when it could not be tried. The keys are those that the key ring does not hold.
    package let opens:
        (_ entered: borrowing SecretBytes, _ keys: ProvedKeys, _ turn: borrowing StretchTurn) throws -> Bool
}

/// How an application password is stretched: parameters and salt, as they stand in a slot.
package struct ApplicationPasswordParameters {
    private let parameters: StretchParameters
    private let salt: StretchSalt

    /// The recommended parameters with a new salt.
    package init() {
        parameters = .recommended
        salt = .random()
    }

    package init(_ bytes: Data) throws {
        parameters = try StretchParameters(canonicalBytes: Array(bytes.prefix(StretchParameters.byteCount)))
        guard let salt = StretchSalt(Array(bytes.dropFirst(StretchParameters.byteCount))) else {
            throw SlotError.malformed
        }
        self.salt = salt
    }

    package var bytes: Data { Data(parameters.canonicalBytes + salt.bytes) }

    /// Waits for a turn.
    package func stretch(
        _ password: borrowing SecretBytes, by stretching: PasscodeStretching, as requester: StretchRequester
    ) throws -> SecretBytes {
        try stretching.stretch(password, salt: salt, parameters: parameters, as: requester)
    }

    fileprivate func stretch(
        _ password: borrowing SecretBytes, by stretching: PasscodeStretching, in turn: borrowing StretchTurn
    ) throws -> SecretBytes {
        try stretching.stretch(password, salt: salt, parameters: parameters, in: turn)
    }
}
