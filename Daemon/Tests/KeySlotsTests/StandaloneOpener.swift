import AccessControl
import Crypto
import Foundation
import SecretMemory
import Testing

@testable import KeySlots

/// An attacker's opener: it is given raw key material and the public description of an object, believes no role or
/// epoch that a slot claims, and tries every key on every layer. It shares no code with `SlotOpener`: the associated
/// data is written out here from the documented layout.
struct StandaloneOpener {
    private let keys: [(role: KeyRole, key: XWingMLKEM768X25519.PrivateKey)]
    private let knowsPassword: Bool

    init(halves: [PrivateHalf], knowsPassword: Bool) throws {
        keys = try halves.map { ($0.role, try $0.key()) }
        self.knowsPassword = knowsPassword
    }

    /// Whether any of the slots gives up the secret.
    func opensAny(of slots: [KeySlot], header: SlotHeader) throws -> Bool {
        for slot in slots where try open(slot, header: header) != nil { return true }
        return false
    }

    /// The secret of one slot, or nil when no key at hand fits some layer.
    func open(_ slot: KeySlot, header: SlotHeader) throws -> Data? {
        var content = slot.ciphertext
        for index in slot.layers.indices.reversed() {
            guard let inner = try peel(content, layer: index, of: slot, header: header).first?.content else {
                return nil
            }
            content = inner
        }
        return try secret(in: content, of: slot, header: header)
    }

    /// The secret in what lies inside of all layers with key pairs.
    private func secret(in content: Data, of slot: KeySlot, header: SlotHeader) throws -> Data? {
        guard slot.factors.contains(.applicationPassword) else { return content }
        guard knowsPassword else { return nil }
        let key = Sample.stretchedPassword.derivedKey(label: "ostiary.slot.application-password.v1")
        return try AES.GCM.open(
            AES.GCM.SealedBox(combined: content), using: key, authenticating: Self.common(slot, header: header))
    }

    /// For each layer, outermost first, the roles of all keys at hand that open it; they must end at the sample secret.
    func keys(opening slot: KeySlot, header: SlotHeader) throws -> [Set<KeyRole>] {
        var content = slot.ciphertext
        var roles: [Set<KeyRole>] = []
        for index in slot.layers.indices.reversed() {
            let opened = try peel(content, layer: index, of: slot, header: header)
            roles.append(Set(opened.map(\.role)))
            guard let inner = opened.first?.content else { return roles }
            content = inner
        }
        #expect(try secret(in: content, of: slot, header: header) == Sample.accessSecretBytes)
        return roles
    }

    /// Every key at hand that opens this layer, with what it gives.
    private func peel(
        _ content: Data, layer index: Int, of slot: KeySlot, header: SlotHeader
    ) throws -> [(role: KeyRole, content: Data)] {
        var associatedData = Self.common(slot, header: header)
        associatedData.append(UInt8(index + 1))
        for layer in slot.layers[...index] {
            associatedData.append(layer.role.code)
            withUnsafeBytes(of: layer.epoch.bigEndian) { associatedData.append(contentsOf: $0) }
        }
        return try keys.compactMap { role, key in
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: .XWingMLKEM768X25519_SHA256_AES_GCM_256,
                info: Data("ostiary.slot.v1".utf8), encapsulatedKey: slot.layers[index].encapsulatedKey)
            do {
                return (role, try recipient.open(content, authenticating: associatedData))
            } catch {
                return nil  // Not this key; the next one.
            }
        }
    }

    static func common(_ slot: KeySlot, header: SlotHeader) -> Data {
        var data = Data(SHA256.hash(data: header.encoded))
        withUnsafeBytes(of: slot.number.bigEndian) { data.append(contentsOf: $0) }
        data.append(slot.factors.rawValue)
        for part in [slot.passwordParameters ?? Data(), slot.enrolmentID ?? Data()] {
            withUnsafeBytes(of: UInt32(part.count).bigEndian) { data.append(contentsOf: $0) }
            data.append(part)
        }
        return data
    }
}
