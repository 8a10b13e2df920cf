import AttestationVerification
import Foundation
import RelyingParty
import RelyingPartyHummingbird
import RelyingPartySQLite

let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 10)
let server = WebAuthnServer(
    verifier: WebAuthnVerifier(relyingPartyIdentifier: "example.org", origins: ["https://example.org"]),
    name: "Example", challenges: store, credentials: store)
let options = try await server.beginRegistration(of: WebAuthnUser(handle: Data([1]), name: "ann"))
let sessions = SignInSessionsInMemory()
let token = BrowserCookie.newValue()
await sessions.begin(token, account: Data([1]), at: Date())
let account = await sessions.account(token, at: Date())
let works = options.challenge.count == 32 && account == Data([1]) && refusesBytesThatAreNoKey()
print(works ? "the package works" : "the package does not work")

func refusesBytesThatAreNoKey() -> Bool {
    do {
        _ = try PendingAttestationKey(stored: Data())
        return false
    } catch {
        return error == .unreadable(.pendingKey)
    }
}
