public import AccessControl
public import Foundation
public import SecretMemory

/// Compiles a rule into slots: one per alternative, each for that alternative's factors and the class together.
public enum SlotSealer {
    /// Seals `accessSecret` once per alternative. Asks nobody: public halves are enough.
    ///
    /// - Parameters:
    ///   - accessSecret: 32 bytes; see ``AccessSecret``.
    ///   - alternatives: a requirement's alternatives; the empty set stands for the class alone.
    ///   - header: the object; its class is the outermost layer of every slot.
    ///   - publicHalves: the present public half of a role, authenticated by the caller; nil when there is none.
    ///   - applicationPassword: for alternatives that ask for one.
    ///   - enrolmentID: the enrolled set, 1 to 255 bytes, for alternatives with `biometryCurrentSet`.
    /// - Returns: the slots, numbered from 0 in the order of `alternatives`. All or none.
    public static func seal(
        _ accessSecret: borrowing SecretBytes, alternatives: [FactorSet], header: SlotHeader,
        publicHalves: (KeyRole) -> PublicHalf?, applicationPassword: borrowing ApplicationPassword? = nil,
        enrolmentID: Data? = nil
    ) throws(SlotError) -> [KeySlot] {
        guard accessSecret.count == AccessSecret.byteCount else { throw .invalidAccessSecret }
        guard 1...KeySlot.maximumCount ~= alternatives.count, Set(alternatives).count == alternatives.count,
            alternatives.allSatisfy(SlotLayout.isPermitted)
        else { throw .invalidAlternatives }
        var slots: [KeySlot] = []
        for (number, factors) in alternatives.enumerated() {
            let binding = try binding(
                number: UInt16(number), factors: factors, applicationPassword: applicationPassword,
                enrolmentID: enrolmentID)
            let halves = try halves(for: factors, availability: header.availability, among: publicHalves)
            let content = try innermost(accessSecret, binding: binding, header: header, password: applicationPassword)
            slots.append(
                try KeySlot.wrapping(content, binding: binding, header: header, inner: [], to: halves))
        }
        return slots
    }

    private static func binding(
        number: UInt16, factors: FactorSet, applicationPassword: borrowing ApplicationPassword?, enrolmentID: Data?
    ) throws(SlotError) -> SlotBinding {
        var parameters: Data?
        if factors.contains(.applicationPassword) {
            switch applicationPassword {
            case .some(let password): parameters = password.parameters
            case .none: throw .missingApplicationPassword
            }
        }
        let asksForSet = factors.contains(.biometryCurrentSet)
        guard !asksForSet || enrolmentID != nil else { throw .missingEnrolmentID }
        let binding = SlotBinding(
            number: number, factors: factors, passwordParameters: parameters,
            enrolmentID: asksForSet ? enrolmentID : nil)
        guard binding.isConsistent else { throw .invalidParameterSize }
        return binding
    }

    private static func halves(
        for factors: FactorSet, availability: AvailabilityClass, among publicHalves: (KeyRole) -> PublicHalf?
    ) throws(SlotError) -> [PublicHalf] {
        var halves: [PublicHalf] = []
        for role in SlotLayout.roles(for: factors, availability: availability) {
            guard let half = publicHalves(role), half.role == role else { throw .missingPublicHalf(role) }
            halves.append(half)
        }
        return halves
    }

    private static func innermost(
        _ accessSecret: borrowing SecretBytes, binding: SlotBinding, header: SlotHeader,
        password: borrowing ApplicationPassword?
    ) throws(SlotError) -> SecretBytes {
        guard binding.factors.contains(.applicationPassword) else { return SecretBytes(copying: accessSecret) }
        switch password {
        case .some(let password):
            return try PasswordLayer.seal(
                accessSecret, under: password.stretchedKey,
                associatedData: binding.associatedDataOfPassword(header: header))
        case .none: throw .missingApplicationPassword
        }
    }
}
