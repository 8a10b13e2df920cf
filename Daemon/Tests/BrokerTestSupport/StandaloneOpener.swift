import Foundation
import KeySlots
import Owners
import Passcodes
import SecretMemory
import Vault

@testable import Broker
@testable import OwnerKeys

/// A slot as it lies in the store, with what it is bound to.
struct StoredSlot {
    let slot: KeySlot
    let header: SlotHeader
}

/// Somebody who got hold of keys and the files, and asks no broker.
struct StandaloneOpener {
    let halves: [PrivateHalf]
    let applicationPassword: String?

    func opens(_ stored: StoredSlot) -> Bool {
        do {
            if let parameters = stored.slot.passwordParameters, let applicationPassword {
                return try SlotOpener.open(
                    stored.slot, header: stored.header, privateHalves: halves,
                    applicationPassword: ApplicationPasswordParameters(parameters)
                        .stretch(SecretBytes(text: applicationPassword), by: .quick, as: .daemon)
                ).count > 0
            }
            return try SlotOpener.open(stored.slot, header: stored.header, privateHalves: halves).count > 0
        } catch { return false }
    }
}

extension BrokerFixture {
    func storedSlots() throws -> [StoredSlot] { try objects().flatMap { try slots(of: $0) } }

    func objects() throws -> [ObjectRecord] {
        try broker.vault.read { try $0.objects(owner: broker.accounts[0].id, kind: .right) }.compactMap(\.record)
    }

    func publicHalves() -> [PublicHalf] { broker.accounts[0].ring.publicHalves }

    func slots(of object: ObjectRecord) throws -> [StoredSlot] {
        let header = try SlotHeader(of: object, storeID: broker.vault.storeID)
        return try KeySlot.decode(object.slots).map { StoredSlot(slot: $0, header: header) }
    }
}
