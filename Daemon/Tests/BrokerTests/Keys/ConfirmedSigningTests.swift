import AccessControl
import Crypto
import Enclave
import Foundation
import OstiaryMessages
import PromptProtocol
import SecretMemory
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport

/// Rights that confirm each signature, as the daemon treats them.
@Suite("A right that confirms each signature", .timeLimit(.minutes(10)))
struct ConfirmedSigningTests {
    private static var control: AccessControl {
        get throws { try AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: .passcode) }
    }
    private static let text = Data("Pay 100 EUR to Alice".utf8)
    private static let ofDigest = "algid:sign:ECDSA:digest-X962:SHA256"

    private let fixture: BrokerFixture
    private let client: TestClient
    private let right: WireRight

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
        right = try client.create("transfers", Self.control)
    }

    private func prepare(_ answers: ScriptedPrompter.Answer...) { fixture.prompter.prepare(answers) }

    private func agree() { prepare(.text(BrokerFixture.passcode)) }

    private func isValid(_ signature: Data, for data: Data, by right: WireRight? = nil) throws -> Bool {
        try P256.Signing.PublicKey(x963Representation: (right ?? self.right).publicKey)
            .isValidSignature(P256.Signing.ECDSASignature(derRepresentation: signature), for: data)
    }

    /// The code and cause that `body` is refused with; nil when it is carried out.
    private func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "?") \(refused.cause)" }
    }

    // MARK: signing

    @Test func `asks for each signature, and shows what is signed`() throws {
        for data in [Self.text, Data("Pay 900 EUR to Mallory".utf8), Data(count: 4096)] {
            agree()
            #expect(try isValid(client.confirmAndSign(data, with: right), for: data))
            let question = try #require(fixture.prompter.asked.first)
            #expect(fixture.prompter.asked.count == 1)
            #expect(question.signedData == PromptSignedData(data, digest: Data(SHA256.hash(data: data))))
            #expect(question.kind == .enterPasscode && question.isShownInFull)
            #expect(question.objects?.names.map(\.string) == ["transfers"])
        }
    }

    @Test func `shows a digest as a digest only, and signs it`() throws {
        agree()
        let digest = Data(SHA256.hash(data: Self.text))
        #expect(try isValid(client.confirmAndSign(digest, with: right, Self.ofDigest), for: Self.text))
        #expect(fixture.prompter.asked.first?.signedData == PromptSignedData(digestOnly: digest))
    }

    @Test func `signs nothing after a wrong passcode, a no, or without anybody to ask`() throws {
        prepare(.text("wrong one 1"), .text("wrong one 2"), .text("wrong one 3"))
        #expect(
            try refusal { _ = try client.confirmAndSign(Self.text, with: right) }?
                .hasPrefix("authenticationFailed ") == true)
        #expect(fixture.prompter.asked.allSatisfy { $0.signedData != nil }, "each try shows the data again")
        prepare(.cancel)
        #expect(
            try refusal { _ = try client.confirmAndSign(Self.text, with: right) } == "userCancel prompt.cancelled")
        prepare(.nobody)
        #expect(
            try refusal { _ = try client.confirmAndSign(Self.text, with: right) }?.hasPrefix("notInteractive ") == true)
    }

    @Test func `signs nothing when the store is locked or the right removed while the person is asked`() throws {
        let path = fixture.socketPath
        agree()
        fixture.prompter.duringNextQuestion {
            do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
        }
        #expect(try refusal { _ = try client.confirmAndSign(Self.text, with: right) }?.contains("ock") == true)
        agree()
        fixture.prompter.duringNextQuestion {
            do { try TestClient(socketPath: path).remove("transfers") } catch { Issue.record(error) }
        }
        #expect(
            try refusal { _ = try client.confirmAndSign(Self.text, with: right) } == "notFound right.not-found")
        #expect(try client.log().allSatisfy { $0.event != "sign" || $0.result != "granted" })
    }

    @Test func `takes no other algorithm, and asks nobody for one`() throws {
        prepare()
        for algorithm in [
            "algid:sign:ECDSA:message-X962:SHA512", "algid:sign:ECDSA:message-X962:SHA1",
            "algid:sign:ECDSA:digest-X962:SHA384", "algid:sign:ECDSA:digest-X962", "algid:keyexchange:ECDH",
            "algid:sign:RSA:message-PSS:SHA256", "", "nonsense",
        ] {
            #expect(
                try refusal { _ = try client.confirmAndSign(Data(count: 32), with: right, algorithm) }
                    == "unsupportedAlgorithm key.algorithm", "\(algorithm)")
        }
        for count in [0, 31, 33] {
            #expect(
                try refusal { _ = try client.confirmAndSign(Data(count: count), with: right, Self.ofDigest) }
                    == "invalidParameter key.parameter")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `is recorded with each signature, and not without one`() throws {
        agree()
        _ = try client.confirmAndSign(Self.text, with: right)
        prepare(.cancel)
        _ = try refusal { _ = try client.confirmAndSign(Self.text, with: right) }
        let entries = try client.log().filter { $0.event == "sign" }
        #expect(entries.map(\.result) == ["granted", "refused"])
        #expect(entries.allSatisfy { $0.object == "transfers" })
    }

    @Test func `stays one after a restart`() throws {
        try fixture.restart()
        let client = try fixture.client()
        let found = try client.find("transfers")
        #expect(try found.accessControl == Data(Self.control.canonicalBytes))
        agree()
        #expect(try isValid(client.confirmAndSign(Self.text, with: found), for: Self.text))
        #expect(fixture.prompter.asked.count == 1)
    }

    // MARK: no grant

    @Test func `is never authorized`() throws {
        prepare()
        let context = try client.openContext()
        for preflight in [true, false] {
            #expect(
                try refusal { try client.authorize(rightID: right.rightID, in: context, preflight: preflight) }
                    == "operationNotPermitted right.confirms-each-signature")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `has no use in a context, before and after a signature`() throws {
        let context = try client.openContext(keepingFactors: true)
        for isAsked in [false, true] {
            if isAsked {
                agree()
                _ = try client.confirmAndSign(Self.text, with: right)
            }
            let uses: [() throws -> Void] = [
                { _ = try client.sign(right, in: context) }, { _ = try client.exchange(right, in: context) },
                { _ = try client.decrypt(Data(count: 100), with: right, in: context) },
                { _ = try client.secret(of: right, in: context) },
            ]
            for use in uses { #expect(try refusal(use) == "notAuthorized right.not-authorized") }
        }
    }

    @Test func `a passcode that a context keeps spares no question`() throws {
        let context = try client.openContext(keepingFactors: true)
        agree()
        try client.evaluate(Self.control, .sign, in: context)
        prepare(.cancel)
        #expect(
            try refusal { _ = try client.confirmAndSign(Self.text, with: right) } == "userCancel prompt.cancelled")
    }

    @Test func `another right is not signed with this way`() throws {
        let other = try client.create("other", AccessControl(availability: .whenUnlocked, using: .passcode))
        prepare()
        #expect(
            try refusal { _ = try client.confirmAndSign(Self.text, with: other) }
                == "invalidParameter right.confirms-nothing")
        var unknown = right
        unknown.rightID = Data(count: 16)
        #expect(try refusal { _ = try client.confirmAndSign(Self.text, with: unknown) } == "notFound right.not-found")
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: making

    @Test func `has a rule that asks, no secret, and a name that a question has room for`() throws {
        #expect(
            try refusal {
                try client.create(
                    "open", AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: .unrestricted))
            } == "invalidRule rule.confirmed-without-factor")
        #expect(
            try refusal { try client.create("secret", Self.control, secret: "s") }
                == "invalidParameter right.confirmed-secret")
        #expect(
            try refusal { try client.create(String(repeating: "n", count: 301), Self.control) }
                == "invalidParameter right.name")
        try client.create(String(repeating: "n", count: 300), Self.control)
    }

    @Test func `a key confirms as a right does, and cannot be authorized`() throws {
        let key = try client.createKey(.p256, Self.control)
        let named = WireRight.with { ($0.rightID, $0.publicKey) = (key.keyID, key.publicKey) }
        agree()
        #expect(try isValid(client.confirmAndSign(Self.text, with: named), for: Self.text, by: named))
        let question = try #require(fixture.prompter.asked.first)
        #expect(fixture.prompter.asked.count == 1 && question.isShownInFull)
        #expect(question.signedData == PromptSignedData(Self.text, digest: Data(SHA256.hash(data: Self.text))))
        #expect(question.operation.string == "sign once with a key")
        prepare(.cancel)
        #expect(
            try refusal { _ = try client.confirmAndSign(Self.text, with: named) } == "userCancel prompt.cancelled")
        prepare()
        let context = try client.openContext()
        #expect(
            try refusal { _ = try client.authorize(named, in: context) }
                == "operationNotPermitted right.confirms-each-signature")
    }

    @Test func `a key is named by its whole id, and its label is shown whole or not at all`() throws {
        let key = try client.createKey(.p256, Self.control)
        let named = WireRight.with { ($0.rightID, $0.publicKey) = (key.keyID, key.publicKey) }
        let id = "key \(try #require(VaultID(bytes: key.keyID)))"
        func shown() throws -> [String]? {
            agree()
            _ = try client.confirmAndSign(Self.text, with: named)
            return fixture.prompter.asked.first?.objects?.names.map(\.string)
        }
        #expect(try shown() == [id])
        let label = String(repeating: "a", count: 150)
        try client.addItem(
            "keys", ["kcls": .number(1), "pdmn": .text("dk"), "labl": .text(label)], data: nil, keyID: key.keyID)
        #expect(try shown() == ["\(id), which a program named “\(label)”"])
        try client.updateItems(TestClient.query("keys"), ["labl": .text(String(repeating: "b", count: 400))])
        #expect(try shown() == [id])
    }

    @Test(arguments: [WireKeyKind.mlKem768, .mlDsa65]) func `a lattice key does not confirm`(kind: WireKeyKind) throws {
        #expect(
            try refusal { _ = try client.createKey(kind, Self.control) } == "invalidRule rule.confirmed-without-key")
    }

    @Test func `an item does not confirm`() throws {
        #expect(
            try refusal { try client.addItem(["acct": .text("a")], data: Data(), accessControl: Self.control) }
                == "invalidRule rule.confirmed-without-key")
    }

    // MARK: a mistake between question and signature

    /// An enclave whose caller asks for a signature over another digest than the one it approved.
    private struct MistakenEnclave: ForwardingEnclave {
        let enclave: any Enclave

        func openKey(
            _ key: WrappedKey, authorization: borrowing SecretBytes, binding: KeyBinding,
            session: (any PasscodeSession)?
        ) throws(EnclaveError) -> any OpenEnclaveKey {
            Key(key: try enclave.openKey(key, authorization: authorization, binding: binding, session: session))
        }

        private struct Key: OpenEnclaveKey {
            let key: any OpenEnclaveKey

            var publicKey: Data { key.publicKey }

            func signature(
                forDigest digest: Data, approvedBy approval: SignatureApproval
            ) throws(EnclaveError) -> Data {
                try key.signature(forDigest: Data(SHA256.hash(data: digest)), approvedBy: approval)
            }
        }
    }

    @Test func `a signature over something else than the shown data is refused`() throws {
        let mistaken = try BrokerFixture(around: { MistakenEnclave(enclave: $0) })
        try mistaken.setPasscode()
        let client = try mistaken.client()
        let right = try client.create("transfers", Self.control)
        mistaken.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(
            try refusal { _ = try client.confirmAndSign(Self.text, with: right) }
                == "operationNotPermitted key.not-approved")
        #expect(try client.log().filter { $0.event == "sign" }.map(\.result) == ["refused"])
    }
}
