public import AccessControl
public import Foundation
public import OstiaryMessages
import SecretMemory
import StoreTestSupport

extension TestClient {
    /// Makes a right for SSH.
    ///
    /// - Parameter control: confirms each signature by the passcode if nil.
    public func createSSH(
        _ name: String, _ constraints: SSHKeyConstraints?, _ control: AccessControl? = nil
    ) throws -> WireRight {
        let rule =
            try control ?? AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: .passcode)
        let request = WireCreateRightRequest.with {
            ($0.identifier, $0.accessControl) = (name, Data(rule.canonicalBytes))
            ($0.sshConstraints, $0.question) = (Data(constraints?.canonicalBytes ?? []), Self.question)
        }
        guard case .right(let right) = try call(.createRight(request)).body else { throw UnexpectedAnswer() }
        return right
    }

    /// Signs for SSH; `r ‖ s`.
    public func signSSH(
        _ data: Data, with right: Data, in context: UInt64 = 0, _ bindings: [WireSSHBinding] = [],
        hostName: String = "", asking: Bool = true
    ) throws -> Data {
        let request = WireSSHSignRequest.with {
            ($0.rightID, $0.contextID, $0.bindings, $0.hostName) = (right, context, bindings, hostName)
            $0.question = Self.question
            $0.question.interactionNotAllowed = !asking
        }
        return try call(.sshSign(request), tail: SecretBytes(bytes: data)).tail
    }
}
