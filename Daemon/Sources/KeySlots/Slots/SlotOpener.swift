import Foundation
public import SecretMemory

/// Opens a slot: the step at which "allowed" becomes a key.
public enum SlotOpener {
    /// The object's access secret.
    ///
    /// Authenticate the row first: a slot that opens proves nothing about who made it. For a slot with an
    /// ``KeySlot/enrolmentID``, compare it with the present set first.
    ///
    /// - Parameters:
    ///   - privateHalves: the result of the evaluation. Halves that the slot does not name are not used.
    ///   - applicationPassword: the stretched password, made with ``KeySlot/passwordParameters``.
    /// - Throws: ``SlotError/missingKey(_:epoch:)`` or ``SlotError/missingApplicationPassword`` before anything is tried,
    ///   ``SlotError/malformed`` for a slot of another class than the header's, ``SlotError/refused`` for everything else.
    public static func open(
        _ slot: KeySlot, header: SlotHeader, privateHalves: [PrivateHalf],
        applicationPassword: borrowing SecretBytes? = nil
    ) throws(SlotError) -> SecretBytes {
        let asksForPassword = slot.passwordParameters != nil
        switch applicationPassword {
        case .some(let stretchedKey) where asksForPassword:
            let message = try slot.content(insideLayersFrom: 0, header: header, privateHalves: privateHalves)
            let secret = try PasswordLayer.open(
                message, under: stretchedKey, associatedData: slot.binding.associatedDataOfPassword(header: header))
            return secret
        case .none where asksForPassword:
            throw .missingApplicationPassword
        default:
            return try slot.content(insideLayersFrom: 0, header: header, privateHalves: privateHalves)
        }
    }
}
