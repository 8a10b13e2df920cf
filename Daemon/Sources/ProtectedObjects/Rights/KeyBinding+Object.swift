import AccessControl
import Crypto
import Enclave
import Foundation
import KeySlots

extension KeyBinding {
    /// The permanent binding of an object's enclave key: store, owner, object and rules, and whether every alternative
    /// contains the passcode.
    init(of header: SlotHeader) throws {
        let requirement = try AccessControl(canonicalBytes: Array(header.accessControl)).keyRequirement
        self.init(
            owner: header.ownerID, outsideInfo: Data(SHA256.hash(data: header.encoded)),
            requiresPasscode: requirement.alternatives.allSatisfy { $0.contains(.passcode) })
    }
}
