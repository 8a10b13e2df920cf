// Registers an account, or signs in, and prints the answer for the server as JSON.
//
//   account register AUTHENTICATOR DOMAIN CHALLENGE USER-ID NAME DISPLAY-NAME
//   account sign-in AUTHENTICATOR DOMAIN CHALLENGE [CREDENTIAL-ID...]
//
// AUTHENTICATOR is security-key or passkey. CHALLENGE, USER-ID and CREDENTIAL-ID are base64.
import Accounts
import AuthenticationServices

@main
struct Account {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            guard arguments.count >= 4, let authenticator = authenticators[arguments[1]],
                let challenge = Data(base64Encoded: arguments[3])
            else { throw Usage() }
            let accounts = await AccountManager(relyingParty: arguments[2], authenticator: authenticator)
            switch arguments[0] {
            case "register":
                guard arguments.count == 7, let userID = Data(base64Encoded: arguments[4]) else { throw Usage() }
                show(
                    try await accounts.register(
                        challenge: challenge, displayName: arguments[6], name: arguments[5], userID: userID))
            case "sign-in":
                let credentials = arguments.dropFirst(4).compactMap { Data(base64Encoded: $0) }
                show(try await accounts.signIn(challenge: challenge, with: credentials))
            default: throw Usage()
            }
        } catch is Usage {
            print("usage: account register AUTHENTICATOR DOMAIN CHALLENGE USER-ID NAME DISPLAY-NAME")
            print("       account sign-in AUTHENTICATOR DOMAIN CHALLENGE [CREDENTIAL-ID...]")
            exit(2)
        } catch ASAuthorizationError.canceled {
            print("Cancelled.")
            exit(3)
        } catch {
            print("Refused: \((error as NSError).domain) \((error as NSError).code): \(error.localizedDescription)")
            exit(3)
        }
    }

    private static let authenticators: [String: AccountManager.Authenticator] = [
        "security-key": .securityKey, "passkey": .platform,
    ]

    private struct Usage: Error {}

    private static func show(_ outcome: AccountManager.Outcome) {
        let fields: [String: Data]
        switch outcome {
        case .registered(let id, let clientData, let attestationObject):
            fields = ["id": id, "clientDataJSON": clientData, "attestationObject": attestationObject]
        case .signedIn(let id, let userID, let clientData, let authenticatorData, let signature):
            fields = [
                "id": id, "userHandle": userID, "clientDataJSON": clientData, "authenticatorData": authenticatorData,
                "signature": signature,
            ]
        }
        let text = fields.sorted { $0.key < $1.key }.map { "  \"\($0.key)\": \"\($0.value.base64EncodedString())\"" }
        print("{\n\(text.joined(separator: ",\n"))\n}")
    }
}
