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
do {
    _ = try PendingAttestationKey(stored: Data())
    // This is the test's verdict: the program ends with a failure.
    fatalError("bytes that are no key were read")
} catch {
    print(options.challenge.count == 32 && account == Data([1]) ? "the package works" : "the package does not work")
}
