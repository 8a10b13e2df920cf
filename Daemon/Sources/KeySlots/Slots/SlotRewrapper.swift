/// Replaces the outer layers of slots without opening the inner layers: when a passcode is set (class), and when it is
/// changed or removed (class, passcode and biometry).
///
/// Factors of inner layers are not needed, so a security key need not be present, and no application password is asked
/// for.
public enum SlotRewrapper {
    /// The same slots, with every layer whose role has a replacement sealed to that replacement.
    ///
    /// - Parameters:
    ///   - slots: authenticated by the caller, as are the replacements.
    ///   - replacements: the new public half of a role; nil for a role that stays unchanged. Replacing a role needs
    ///     replacements for all layers outside of it; these may be the present halves.
    ///   - privateHalves: the present private halves of the layers that are replaced.
    /// - Returns: all slots in the same order; those without a replaced layer unchanged. If one slot fails, none is
    ///   returned: ``SlotError/buriedLayer(_:)`` names a layer that would have stayed around a replaced one.
    public static func rewrap(
        _ slots: [KeySlot], header: SlotHeader, replacements: (KeyRole) -> PublicHalf?, privateHalves: [PrivateHalf]
    ) throws(SlotError) -> [KeySlot] {
        var rewrapped: [KeySlot] = []
        for slot in slots {
            rewrapped.append(
                try rewrap(slot, header: header, replacements: replacements, privateHalves: privateHalves))
        }
        return rewrapped
    }

    private static func rewrap(
        _ slot: KeySlot, header: SlotHeader, replacements: (KeyRole) -> PublicHalf?, privateHalves: [PrivateHalf]
    ) throws(SlotError) -> KeySlot {
        guard let depth = slot.layers.firstIndex(where: { replacements($0.role) != nil }) else { return slot }
        var halves: [PublicHalf] = []
        for layer in slot.layers[depth...] {
            guard let half = replacements(layer.role) else { throw .buriedLayer(layer.role) }
            guard half.role == layer.role else { throw .missingPublicHalf(layer.role) }
            halves.append(half)
        }
        let content = try slot.content(insideLayersFrom: depth, header: header, privateHalves: privateHalves)
        return try KeySlot.wrapping(
            content, binding: slot.binding, header: header, inner: Array(slot.layers[..<depth]), to: halves)
    }
}
