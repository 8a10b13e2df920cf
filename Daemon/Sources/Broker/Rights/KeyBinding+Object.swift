import AccessControl
import Crypto
import Enclave
import Foundation
import KeySlots

extension KeyBinding {
    /// What an object's enclave key is bound to for good: store, owner, object and rules, and whether every way to it leads
    /// through the passcode.
    init(of header: SlotHeader) throws {
        let requirement = try AccessControl(canonicalBytes: Array(header.accessControl)).keyRequirement
        self.init(
            owner: header.ownerID, outsideInfo: Data(SHA256.hash(data: header.encoded)),
            requiresPasscode: requirement.alternatives.allSatisfy { $0.contains(.passcode) })
    }
}
