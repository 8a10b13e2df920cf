// Registers an account with a security key, or signs in with one, and prints what the server needs as JSON.
//
//   security-key-account register DOMAIN CHALLENGE USER-ID NAME DISPLAY-NAME
//   security-key-account sign-in DOMAIN CHALLENGE [CREDENTIAL-ID...]
//
// CHALLENGE, USER-ID and CREDENTIAL-ID are base64.
import Accounts
import AuthenticationServices

@main
struct SecurityKeyAccount {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            guard arguments.count >= 3, let challenge = Data(base64Encoded: arguments[2]) else { throw Usage() }
            let accounts = await AccountManager(relyingParty: arguments[1])
            switch arguments[0] {
            case "register":
                guard arguments.count == 6, let userID = Data(base64Encoded: arguments[3]) else { throw Usage() }
                show(
                    try await accounts.register(
                        challenge: challenge, displayName: arguments[5], name: arguments[4], userID: userID))
            case "sign-in":
                let credentials = arguments.dropFirst(3).compactMap { Data(base64Encoded: $0) }
                show(try await accounts.signIn(challenge: challenge, with: credentials))
            default: throw Usage()
            }
        } catch is Usage {
            print("usage: security-key-account register DOMAIN CHALLENGE USER-ID NAME DISPLAY-NAME")
            print("       security-key-account sign-in DOMAIN CHALLENGE [CREDENTIAL-ID...]")
            exit(2)
        } catch ASAuthorizationError.canceled {
            print("Cancelled.")
            exit(1)
        } catch {
            print("Refused: \((error as NSError).domain) \((error as NSError).code): \(error.localizedDescription)")
            exit(1)
        }
    }

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
