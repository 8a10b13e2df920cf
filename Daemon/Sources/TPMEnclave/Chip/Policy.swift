import CTSS2
import Crypto
import Foundation

/// The digest of a policy, computed as the chip computes it (TPM 2.0 part 1, "Enhanced Authorization"; part 3, 23).
struct Policy: Equatable, Sendable {
    let digest: Data

    /// Before any command.
    static let empty = Policy(digest: Data(count: 32))

    /// Requires the authorization value of the object or index with this name (TPM2_PolicySecret).
    func secret(of name: Data) -> Policy {
        let named = extended(by: TPM2_CC_PolicySecret, name)
        return Policy(digest: Data(SHA256.hash(data: named.digest)))  // With an empty reference.
    }

    /// Requires a signature by the key with this name (TPM2_PolicySigned).
    func signed(by name: Data, reference: Data) -> Policy {
        let named = extended(by: TPM2_CC_PolicySigned, name)
        return Policy(digest: Data(SHA256.hash(data: named.digest + reference)))
    }

    /// Permits only this command (TPM2_PolicyCommandCode).
    func command(_ code: TPM2_CC) -> Policy { extended(by: TPM2_CC_PolicyCommandCode, Self.bytes(code)) }

    /// Requires the authorization value of the object that the session is used for (TPM2_PolicyAuthValue).
    func ownValue() -> Policy { extended(by: TPM2_CC_PolicyAuthValue, Data()) }

    /// Requires one of these (TPM2_PolicyOR).
    static func any(of policies: [Policy]) -> Policy {
        empty.extended(by: TPM2_CC_PolicyOR, Data(policies.flatMap(\.digest)))
    }

    private func extended(by command: TPM2_CC, _ argument: Data) -> Policy {
        Policy(digest: Data(SHA256.hash(data: digest + Self.bytes(command) + argument)))
    }

    private static func bytes(_ code: TPM2_CC) -> Data { withUnsafeBytes(of: code.bigEndian) { Data($0) } }
}
