import Accounts
import AuthenticationServices
import Foundation
import LocalAuthenticationTesting
import Testing

/// The article's flows against a simulated device: the daemon's own code, a security key in software, and a relying party that
/// did not come from here, python-fido2.
@Suite("Accounts with security keys and passkeys", .serialized, .timeLimit(.minutes(10)))
@MainActor
struct AccountTests {
    private static let challenges = (Data((0..<32).map { UInt8($0) }), Data((100..<132).map { UInt8($0) }))

    private func withDevice(
        domains: [String] = ["example.com"], confirmed: Bool = true,
        _ body: @MainActor @Sendable (SimulatedDevice, AccountManager) async throws -> Void
    ) async throws {
        let device = try await SimulatedDevice()
        do {
            try await device.registerProgram(id: "com.example.accounts", webCredentials: domains)
            if confirmed { try await device.associate("example.com", with: ["com.example.accounts"]) }
            try await body(device, AccountManager(relyingParty: "example.com"))
        } catch {
            try? await device.end()
            throw error
        }
        try await device.end()
    }

    private func register(_ accounts: AccountManager, _ name: String = "anne@example.com") async throws
        -> AccountManager.Outcome
    {
        try await accounts.register(
            challenge: Self.challenges.0, displayName: "Anne Johnson", name: name, userID: Data(name.utf8))
    }

    /// The code and the cause of a refusal; nil without one.
    private func refusal(
        _ body: () async throws -> AccountManager.Outcome
    ) async throws -> (code: ASAuthorizationError.Code, cause: String?)? {
        do {
            _ = try await body()
            return nil
        } catch let error as ASAuthorizationError {
            #expect((error as NSError).domain == "com.apple.AuthenticationServices.AuthorizationError")
            return (error.code, error.cause)
        }
    }

    @Test func `a new account is registered, and a relying party verifies it and the sign-in`() async throws {
        try await withDevice { device, accounts in
            device.person.touchesSecurityKey().touchesSecurityKey()
            try await registerAndSignIn(accounts)
            #expect(device.questions.map(\.kind) == [.touch, .touch])
            #expect(device.questions.first?.objects == ["example.com"])
            #expect(
                device.questions.first?.operation
                    == "register a credential for the account “anne@example.com”, called “Anne Johnson”")
        }
    }

    @Test func `a passkey of this machine takes the passcode each time, and a relying party verifies it`() async throws
    {
        try await withDevice { device, _ in
            let accounts = AccountManager(relyingParty: "example.com", authenticator: .platform)
            let early = try await refusal { try await register(accounts) }
            #expect(early?.code == .deviceNotConfiguredForPasskeyCreation && device.questions.isEmpty)
            try await device.setPasscode()
            let asked = device.questions.count
            device.person.enters(SimulatedDevice.passcode).enters(SimulatedDevice.passcode)
            try await registerAndSignIn(accounts)
            #expect(device.questions.dropFirst(asked).map(\.kind) == [.passcode, .passcode])
            #expect(device.questions.dropFirst(asked).allSatisfy { $0.objects == ["example.com"] })
            device.person.cancels()
            let refused = try await refusal { try await accounts.signIn(challenge: Self.challenges.1) }
            #expect(refused?.code == .canceled)
        }
    }

    /// Registers Anne, signs her in, and lets the relying party check both.
    private func registerAndSignIn(_ accounts: AccountManager) async throws {
        guard case .registered(let id, let clientData, let attestationObject) = try await register(accounts),
            case .signedIn(let usedID, let userID, let signInData, let authenticatorData, let signature) =
                try await accounts.signIn(challenge: Self.challenges.1, with: [id])
        else { throw SimulationError.ended }
        #expect(usedID == id && userID == Data("anne@example.com".utf8))
        try verify([
            "id": id, "registrationChallenge": Self.challenges.0, "registrationClientData": clientData,
            "attestationObject": attestationObject, "signInID": usedID, "signInChallenge": Self.challenges.1,
            "signInClientData": signInData, "authenticatorData": authenticatorData, "signature": signature,
            "userHandle": userID,
        ])
    }

    /// The verdict of python-fido2, which `script/setup test` installs.
    private func verify(_ answers: [String: Data]) throws {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let python = here.appendingPathComponent("../../../RelyingParty/.build/witnesses/bin/python3").path
        try #require(FileManager.default.fileExists(atPath: python), "run script/setup test")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("accounts-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try JSONEncoder().encode(answers).write(to: file)
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = [here.appendingPathComponent("relying-party.py").path, file.path]
        process.standardOutput = output
        try process.run()
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(said == "verified\n" && process.terminationStatus == 0)
    }

    @Test func `an account is signed in after the daemon was started again`() async throws {
        try await withDevice { device, accounts in
            device.person.touchesSecurityKey()
            guard case .registered(let id, _, _) = try await register(accounts) else { throw SimulationError.ended }
            try await device.restart()
            device.person.touchesSecurityKey()
            guard
                case .signedIn(let usedID, let userID, _, _, _) =
                    try await accounts.signIn(challenge: Self.challenges.1, with: [id])
            else { throw SimulationError.ended }
            #expect(usedID == id && userID == Data("anne@example.com".utf8))
        }
    }

    @Test func `a person who cancels is told apart from nothing else`() async throws {
        try await withDevice { device, accounts in
            device.person.cancels()
            let refused = try await refusal { try await register(accounts) }
            #expect(refused?.code == .canceled && refused?.cause == "prompt.cancelled")
        }
    }

    @Test func `a sign-in without a credential ends as if it was cancelled, with a cause`() async throws {
        try await withDevice { device, accounts in
            device.person.touchesSecurityKey()
            let refused = try await refusal { try await accounts.signIn(challenge: Self.challenges.1) }
            #expect(refused?.code == .canceled && refused?.cause == "credential.none")
        }
    }

    @Test func `without a domain's word a request fails, and the error names the domain`() async throws {
        try await withDevice(confirmed: false) { device, accounts in
            do {
                _ = try await register(accounts)
                Issue.record("The domain confirmed nothing.")
            } catch let error as ASAuthorizationError where error.code == .failed {
                let reason = error.userInfo[NSLocalizedFailureReasonErrorKey] as? String
                #expect(reason?.contains("is not associated with domain example.com") == true)
                #expect(error.cause == "association.helper")
            }
            #expect(device.questions.isEmpty)
        }
        try await withDevice(domains: ["example.org"]) { device, accounts in
            let refused = try await refusal { try await register(accounts) }
            #expect(refused?.code == .failed && refused?.cause == "association.not-registered")
        }
    }

    @Test func `two requests at once are both answered, each with its own challenge`() async throws {
        try await withDevice { device, accounts in
            device.person.touchesSecurityKey().touchesSecurityKey()
            async let first = register(accounts)
            async let second = register(AccountManager(relyingParty: "example.com"), "bob@example.com")
            guard case .registered(let firstID, _, _) = try await first,
                case .registered(let secondID, _, _) = try await second
            else { throw SimulationError.ended }
            #expect(firstID != secondID)
            device.person.touchesSecurityKey().enters("2")
            guard case .signedIn(_, let userID, _, _, _) = try await accounts.signIn(challenge: Self.challenges.1)
            else { throw SimulationError.ended }
            let choice = try #require(device.questions.last)
            #expect(choice.kind == .choice)
            #expect(["anne@example.com", "bob@example.com"].contains(String(decoding: userID, as: UTF8.self)))
        }
    }
}
