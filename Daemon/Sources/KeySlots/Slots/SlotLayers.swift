import Foundation
import SecretMemory

/// Taking layers off a slot and putting them on: what sealing, opening and re-wrapping share.
extension KeySlot {
    /// Puts one layer per public half around `content`, innermost first.
    ///
    /// - Parameter inner: the layers that `content` already has.
    static func wrapping(
        _ content: consuming SecretBytes, binding: SlotBinding, header: SlotHeader, inner: [Layer],
        to halves: [PublicHalf]
    ) throws(SlotError) -> KeySlot {
        var layers = inner
        var content = content
        for half in halves {
            let keys = layers.map { ($0.role, $0.epoch) } + [(half.role, half.epoch)]
            var envelope = try HybridEnvelope(
                sealing: content, to: half, purpose: .slot,
                associatedData: binding.associatedData(header: header, keys: keys))
            layers.append(Layer(role: half.role, epoch: half.epoch, encapsulatedKey: envelope.encapsulatedKey))
            content = SecretBytes(taking: &envelope.ciphertext)
        }
        let ciphertext = unsafe content.withUnsafeBytes { unsafe Data($0) }
        guard let slot = KeySlot(binding: binding, layers: layers, ciphertext: ciphertext) else { throw .malformed }
        return slot
    }

    /// The content inside the layers from index `depth` outwards. All keys are looked up before the first is used.
    ///
    /// - Throws: ``SlotError/malformed`` for a slot that is not of the header's class, ``SlotError/missingKey(_:epoch:)``
    ///   for the outermost key that is not at hand, ``SlotError/refused``.
    func content(
        insideLayersFrom depth: Int, header: SlotHeader, privateHalves: [PrivateHalf]
    ) throws(SlotError) -> SecretBytes {
        guard layers.last?.role == .classKey(header.availability) else { throw .malformed }
        var halves: [(index: Int, half: PrivateHalf)] = []
        for (index, layer) in layers.enumerated().dropFirst(depth).reversed() {
            guard let half = privateHalves.first(where: { $0.role == layer.role && $0.epoch == layer.epoch }) else {
                throw .missingKey(layer.role, epoch: layer.epoch)
            }
            halves.append((index, half))
        }
        var outermost = ciphertext
        var content = SecretBytes(taking: &outermost)
        for (index, half) in halves {
            let keys = layers[...index].map { ($0.role, $0.epoch) }
            let envelope = HybridEnvelope(
                encapsulatedKey: layers[index].encapsulatedKey,
                ciphertext: unsafe content.withUnsafeBytes { unsafe Data($0) })
            content = try envelope.open(
                with: half, purpose: .slot, associatedData: binding.associatedData(header: header, keys: keys))
        }
        return content
    }
}
