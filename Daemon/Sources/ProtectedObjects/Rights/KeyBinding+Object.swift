import AccessControl
import Crypto
import Enclave
import Foundation
import KeySlots
import SecretMemory

extension KeyBinding {
    /// The permanent binding of an object's enclave key: store, owner, object and rules, whether every alternative contains the
    /// passcode, and the key that approves each signature if the rules want that.
    init(of header: SlotHeader, accessSecret: borrowing SecretBytes) throws {
        let accessControl = try AccessControl(canonicalBytes: Array(header.accessControl))
        self.init(
            owner: header.ownerID, outsideInfo: Data(SHA256.hash(data: header.encoded)),
            requiresPasscode: accessControl.keyRequirement.alternatives.allSatisfy { $0.contains(.passcode) },
            approver: accessControl.confirmsEachSignature
                ? try ApprovalKey(derivedFrom: accessSecret).publicKey : nil)
    }
}
