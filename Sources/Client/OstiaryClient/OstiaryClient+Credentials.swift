public import Cancellations
public import OstiaryMessages
public import SecretMemory

extension OstiaryClient {
    /// Makes a credential of a relying party. Blocks while the person is asked, on the program's terminal if there is one.
    ///
    /// - Parameter outputs: reads the outputs of the PRF extension, which are wiped afterwards.
    public func registerCredential<Outputs>(
        _ request: WireRegisterCredentialRequest, cancellation: Cancellation? = nil,
        outputs: (borrowing SecretBytes) -> Outputs
    ) throws -> (WireRegisteredCredential, Outputs) {
        let answer = try call(
            .registerCredential(request), terminal: TerminalOffer(), cancellation: cancellation)
        guard case .registeredCredential(let credential) = answer.body else { throw Self.unexpected() }
        return (credential, outputs(answer.tail))
    }

    /// As ``registerCredential(_:cancellation:outputs:)``, for a signature.
    public func assertCredential<Outputs>(
        _ request: WireAssertCredentialRequest, cancellation: Cancellation? = nil,
        outputs: (borrowing SecretBytes) -> Outputs
    ) throws -> (WireAssertedCredential, Outputs) {
        let answer = try call(.assertCredential(request), terminal: TerminalOffer(), cancellation: cancellation)
        guard case .assertedCredential(let credential) = answer.body else { throw Self.unexpected() }
        return (credential, outputs(answer.tail))
    }
}
