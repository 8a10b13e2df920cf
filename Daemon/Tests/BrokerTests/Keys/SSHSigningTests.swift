import AccessControl
import Crypto
import ExactNames
import Foundation
import GRDB
import OstiaryMessages
import Owners
import PromptProtocol
import ProtectedObjects
import SSHFormats
import SecretMemory
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport

/// The road of a signature for SSH. `SSHDecisionTests` has the table of permitted signatures.
@Suite("Signatures for SSH", .timeLimit(.minutes(10)))
struct SSHSigningTests {
    private let fixture: BrokerFixture
    private let client: TestClient
    private let home = SSHHost()
    private let hop = SSHHost()

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        client = try fixture.client()
    }

    private static var usual: AccessControl {
        get throws { try AccessControl(availability: .whenUnlocked, using: .passcode) }
    }

    private func prepare(_ answers: ScriptedPrompter.Answer...) { fixture.prompter.prepare(answers) }

    private func agree() { prepare(.text(BrokerFixture.passcode)) }

    private func isValid(_ signature: Data, for data: Data, by right: WireRight) throws -> Bool {
        try P256.Signing.PublicKey(x963Representation: right.publicKey)
            .isValidSignature(P256.Signing.ECDSASignature(rawRepresentation: signature), for: data)
    }

    /// The code and cause that `body` is refused with; nil when it is carried out.
    private func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "?") \(refused.cause)" }
    }

    private func facts(_ question: PromptQuestion?) -> PromptSSHFacts? {
        guard case .ssh(let facts)? = question?.signedData?.form else { return nil }
        return facts
    }

    private func fingerprint(of host: SSHHost) throws -> String { try host.publicKey.fingerprint.description }

    // MARK: questions

    @Test func `a login is signed after a question with user, service, host key and the program's word`() throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints())
        let data = try SSHBytes.login(1, user: "ada", by: right.publicKey, to: home)
        agree()
        let signature = try client.signSSH(
            data, with: right.rightID, [home.binding(1)], hostName: "build\u{202E}.example")
        #expect(try isValid(signature, for: data, by: right))
        let question = try #require(fixture.prompter.asked.first)
        #expect(fixture.prompter.asked.count == 1 && question.isShownInFull)
        #expect(question.operation.string == "sign once with the key of a right")
        #expect(question.objects?.names.map(\.string) == ["deploy"])
        let shown = PromptSSHFacts(
            .login(user: DisplayText(fact: "ada"), service: DisplayText(fact: "ssh-connection")),
            hostKey: DisplayText(fact: try fingerprint(of: home)), hostName: .claimed(DisplayText("build.example")))
        #expect(question.signedData == PromptSignedData(shown, digest: Data(SHA256.hash(data: data))))
        let record = try #require(client.log().last { $0.event == "ssh-sign" })
        #expect(record.result == "granted" && record.object == "deploy" && record.factors == ["passcode"])
        #expect(try record.operation == "login to \(fingerprint(of: home))" && record.reason == "user ada")
    }

    @Test func `a pinned host has the owner's name, and a forwarded login is shown as one`() throws {
        let constraints = try SSHKeyConstraints(hosts: [
            SSHHostPin(fingerprint: home.fingerprint, name: "build"), SSHHostPin(fingerprint: hop.fingerprint),
        ])
        let right = try client.createSSH("deploy", constraints)
        let data = try SSHBytes.login(1, by: right.publicKey, to: home)
        agree()
        let signature = try client.signSSH(
            data, with: right.rightID, [hop.binding(2, forwarding: true), home.binding(1)], hostName: "evil")
        #expect(try isValid(signature, for: data, by: right))
        let shown = try #require(facts(fixture.prompter.asked.first))
        #expect(shown.hostName == .ofOwner(DisplayText(fact: "build")) && shown.isForwarded)
        #expect(try shown.forwarders.map(\.string) == [fingerprint(of: hop)])
        #expect(
            try client.log().last { $0.event == "ssh-sign" }?.reason
                == "forwarded by \(fingerprint(of: hop)), user root")
    }

    @Test func `an unbound login names no host key`() throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints())
        let data = try SSHBytes.login(1, by: right.publicKey)
        agree()
        _ = try client.signSSH(data, with: right.rightID)
        let shown = try #require(facts(fixture.prompter.asked.first))
        #expect(shown.hostKey == nil && shown.hostName == nil && !shown.isForwarded)
        #expect(try client.log().last { $0.event == "ssh-sign" }?.operation == "login to an unknown host")
    }

    @Test func `a signature of a namespace and unknown data are shown as such`() throws {
        let right = try client.createSSH("any", SSHKeyConstraints(permitsUnknown: true))
        let git = PromptSSHFacts.Purpose.signature(namespace: DisplayText(fact: "git"))
        for (data, purpose, operation, reason) in [
            (SSHBytes.signature("git"), git, "SSH signature", "namespace git"),
            (Data("anything".utf8), .unknown, "unknown data", ""),
        ] as [(Data, PromptSSHFacts.Purpose, String, String)] {
            agree()
            // A host's name means nothing where no host is.
            let signature = try client.signSSH(data, with: right.rightID, hostName: "host")
            #expect(try isValid(signature, for: data, by: right))
            let shown = PromptSSHFacts(purpose, hostKey: nil, hostName: nil)
            #expect(facts(fixture.prompter.asked.first) == shown)
            let record = try #require(client.log().last { $0.event == "ssh-sign" })
            #expect(record.operation == operation && record.reason == reason)
        }
    }

    @Test func `question and log say that unknown data and a signature come from another machine`() throws {
        let right = try client.createSSH("any", SSHKeyConstraints(permitsUnknown: true))
        let bindings = [try hop.binding(2, forwarding: true)]
        let way = "forwarded by \(try fingerprint(of: hop))"
        for (data, reason) in [
            (Data("anything".utf8), way), (SSHBytes.signature("git"), "\(way), namespace git"),
        ] {
            agree()
            _ = try client.signSSH(data, with: right.rightID, bindings)
            #expect(facts(fixture.prompter.asked.first)?.isForwarded == true)
            #expect(try client.log().last { $0.event == "ssh-sign" }?.reason == reason)
        }
    }

    @Test func `names that do not fit into the question are not asked for`() throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints())
        prepare()
        let data = try SSHBytes.login(1, user: String(repeating: "\u{200B}", count: 100), by: right.publicKey)
        #expect(
            try refusal { _ = try client.signSSH(data, with: right.rightID) } == "operationNotPermitted ssh.unshowable")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a no, a wrong passcode and nobody to ask give no signature`() throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints())
        let data = SSHBytes.signature("git")
        prepare(.cancel)
        #expect(try refusal { _ = try client.signSSH(data, with: right.rightID) } == "userCancel prompt.cancelled")
        prepare(.text("wrong one 1"), .text("wrong one 2"), .text("wrong one 3"))
        #expect(
            try refusal { _ = try client.signSSH(data, with: right.rightID) }?.hasPrefix("authenticationFailed") == true
        )
        #expect(fixture.prompter.asked.allSatisfy { facts($0) != nil }, "each try shows it again")
        prepare()
        #expect(
            try refusal { _ = try client.signSSH(data, with: right.rightID, asking: false) }?
                .hasPrefix("notInteractive") == true)
        #expect(try client.log().allSatisfy { $0.event != "ssh-sign" || $0.result != "granted" })
    }

    // MARK: refused unasked

    @Test func `what contradicts itself or the key's limits is refused, logged, and nobody is asked`() throws {
        let stranger = SSHHost()
        let pinned = try client.createSSH(
            "pinned",
            SSHKeyConstraints(
                hosts: [SSHHostPin(fingerprint: home.fingerprint)], namespaces: ["git"], neverForwarded: true))
        let other = try client.createSSH("other", SSHKeyConstraints())
        let login = try SSHBytes.login(1, by: pinned.publicKey, to: home)
        let stolen = try WireSSHBinding.with {
            let genuine = try stranger.binding(1)
            ($0.hostKey, $0.sessionID, $0.signature) = (home.blob, genuine.sessionID, genuine.signature)
        }
        let cases: [(String, Data, [WireSSHBinding])] = [
            ("forged-binding", login, [try home.binding(1, signing: 2)]), ("forged-binding", login, [stolen]),
            ("malformed", login, [.init()]), ("malformed", login.dropLast(), [try home.binding(1)]),
            ("malformed", login + [0], [try home.binding(1)]),
            ("malformed", SSHBytes.signature("git").dropLast(), []),
            ("binding-order", login, [try home.binding(1), try home.binding(2)]),
            ("binding-order", login, [try home.binding(1), try home.binding(1, forwarding: true)]),
            ("other-session", login, [try home.binding(2)]),
            ("other-session", login, [try home.binding(1, forwarding: true)]),
            ("other-host-key", login, [try stranger.binding(1)]),
            ("key", try SSHBytes.login(1, by: other.publicKey, to: home), [try home.binding(1)]),
            ("host", try SSHBytes.login(1, by: pinned.publicKey, to: stranger), [try stranger.binding(1)]),
            ("forwarded", login, [try home.binding(2, forwarding: true), try home.binding(1)]),
            ("unbound", login, []), ("namespace", SSHBytes.signature("file"), []),
            ("forwarded", SSHBytes.signature("git"), [try home.binding(2, forwarding: true)]),
            ("unknown-data", Data("anything".utf8), []), ("unknown-data", Data(), []),
        ]
        prepare()
        for (cause, data, bindings) in cases {
            #expect(
                try refusal { _ = try client.signSSH(Data(data), with: pinned.rightID, bindings) }
                    == "operationNotPermitted ssh.\(cause)")
        }
        #expect(fixture.prompter.asked.isEmpty)
        let records = try client.log().filter { $0.event == "ssh-sign" }
        #expect(records.allSatisfy { $0.result == "refused" && $0.object == "pinned" })
        #expect(Set(records.map(\.reason)) == Set(cases.map { "ssh.\($0.0)" }))
        let host = try #require(records.first { $0.reason == "ssh.host" })
        #expect(try host.operation == "login to \(fingerprint(of: stranger))")
    }

    @Test func `a request that is too large is refused`() throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints(permitsUnknown: true))
        let bindings = try (1...17).map { try home.binding(UInt8($0), forwarding: true) }
        prepare()
        #expect(
            try refusal { _ = try client.signSSH(Data([1]), with: right.rightID, bindings) } == "tooLarge ssh.too-large"
        )
        #expect(
            try refusal {
                _ = try client.signSSH(Data([1]), with: right.rightID, hostName: String(repeating: "h", count: 256))
            } == "tooLarge ssh.too-large")
        #expect(
            try refusal { _ = try client.signSSH(Data(count: 256 * 1024 + 1), with: right.rightID) }?
                .hasPrefix("tooLarge") == true)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a removed key and no key are not found`() throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints())
        try client.remove("deploy")
        prepare()
        for id in [right.rightID, Data(count: 16), Data()] {
            #expect(
                try refusal { _ = try client.signSSH(SSHBytes.signature("git"), with: id) }
                    == "notFound right.not-found")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: other keys

    @Test func `a right that is not for SSH logs in, and signs nothing unknown`() throws {
        let right = try client.createSSH("plain", nil)
        let data = try SSHBytes.login(1, by: right.publicKey)
        agree()
        #expect(try isValid(client.signSSH(data, with: right.rightID), for: data, by: right))
        prepare()
        #expect(
            try refusal { _ = try client.signSSH(Data("anything".utf8), with: right.rightID) }
                == "operationNotPermitted ssh.unknown-data")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a right for SSH has no other use`() throws {
        let confirming = try client.createSSH("confirming", SSHKeyConstraints(permitsUnknown: true))
        prepare()
        #expect(
            try refusal { _ = try client.confirmAndSign(Data("text".utf8), with: confirming) }
                == "operationNotPermitted ssh.only")
        #expect(fixture.prompter.asked.isEmpty)
        let usual = try client.createSSH("usual", SSHKeyConstraints(permitsUnknown: true), Self.usual)
        agree()
        let context = try client.authorize("usual")
        let uses: [() throws -> Void] = [
            { _ = try client.sign(usual, in: context) }, { _ = try client.exchange(usual, in: context) },
            { _ = try client.decrypt(Data(count: 100), with: usual, in: context) },
            { _ = try client.secret(of: usual, in: context) },
        ]
        for use in uses { #expect(try refusal(use) == "operationNotPermitted ssh.only") }
        // The question for the authorization named neither host nor namespace.
        prepare()
        let data = SSHBytes.signature("git")
        #expect(
            try refusal { _ = try client.signSSH(data, with: usual.rightID, in: context, asking: false) }?
                .hasPrefix("notInteractive") == true)
        agree()
        #expect(try isValid(client.signSSH(data, with: usual.rightID, in: context), for: data, by: usual))
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `a key of a group signs for SSH as a right does`() throws {
        let request = try WireCreateKeyRequest.with {
            $0.kind = .p256
            $0.accessControl = Data(
                try AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: .passcode).canonicalBytes)
            $0.sshConstraints = Data(try SSHKeyConstraints(namespaces: ["git"]).canonicalBytes)
            $0.use.question = TestClient.question
        }
        guard case .key(let key) = try client.call(.createKey(request)).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(key.sshConstraints == request.sshConstraints)
        #expect(try client.findKey(key.keyID) == key)
        #expect(try client.listKeys().map(\.key.sshConstraints) == [request.sshConstraints])
        let named = WireRight.with { ($0.rightID, $0.publicKey) = (key.keyID, key.publicKey) }
        agree()
        let data = SSHBytes.signature("git")
        #expect(try isValid(client.signSSH(data, with: key.keyID), for: data, by: named))
        #expect(fixture.prompter.asked.first?.operation.string == "sign once with a key")
        prepare()
        #expect(
            try refusal { _ = try client.signSSH(SSHBytes.signature("file"), with: key.keyID) }
                == "operationNotPermitted ssh.namespace")
    }

    @Test(arguments: [WireKeyKind.mlKem768, .mlDsa65]) func `a lattice key is none for SSH`(kind: WireKeyKind) throws {
        let request = try WireCreateKeyRequest.with {
            ($0.kind, $0.accessControl) = (kind, Data(try Self.usual.canonicalBytes))
            $0.sshConstraints = Data(try SSHKeyConstraints().canonicalBytes)
            $0.use.question = TestClient.question
        }
        #expect(try refusal { _ = try client.call(.createKey(request)) } == "invalidRule rule.ssh-without-key")
        let key = try client.createKey(kind, AccessControl(availability: .whenUnlocked, using: .unrestricted))
        let context = try client.openContext()
        prepare()
        #expect(
            try refusal { _ = try client.signSSH(SSHBytes.signature("git"), with: key.keyID, in: context) }
                == "unsupportedAlgorithm key.algorithm")
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: a context's authorization

    @Test func `the first signature of a context asks with its facts, and later ones are checked but not asked for`()
        throws
    {
        let constraints = try SSHKeyConstraints(hosts: [SSHHostPin(fingerprint: home.fingerprint, name: "build")])
        let right = try client.createSSH("deploy", constraints, Self.usual)
        let context = try client.openContext()
        let data = try SSHBytes.login(1, by: right.publicKey, to: home)
        agree()
        for _ in 0..<3 {
            let signature = try client.signSSH(data, with: right.rightID, in: context, [home.binding(1)])
            #expect(try isValid(signature, for: data, by: right))
        }
        let question = try #require(fixture.prompter.asked.first)
        #expect(fixture.prompter.asked.count == 1)
        #expect(question.operation.string == "use the key of a right for SSH")
        #expect(facts(question)?.hostName == .ofOwner(DisplayText(fact: "build")))
        let other = try SSHBytes.login(1, by: right.publicKey, to: hop)
        #expect(
            try refusal { _ = try client.signSSH(other, with: right.rightID, in: context, [hop.binding(1)]) }
                == "operationNotPermitted ssh.host")
        let records = try client.log().filter { ["authorize", "ssh-sign"].contains($0.event) }
        #expect(records.map(\.event) == ["authorize", "ssh-sign", "ssh-sign", "ssh-sign", "ssh-sign"])
        #expect(records.map(\.result) == ["granted", "granted", "granted", "granted", "refused"])
        #expect(try records.prefix(4).allSatisfy { try $0.operation == "login to \(fingerprint(of: home))" })
        try client.lock()
        let silent = try refusal {
            _ = try client.signSSH(data, with: right.rightID, in: context, [home.binding(1)], asking: false)
        }
        #expect(silent != nil)
    }

    /// The number of questions for one signature in the context.
    private func questions(
        _ data: Data, _ right: WireRight, _ context: UInt64, _ bindings: [WireSSHBinding] = []
    ) throws -> Int {
        agree()
        let signature = try client.signSSH(data, with: right.rightID, in: context, bindings)
        #expect(try isValid(signature, for: data, by: right))
        return fixture.prompter.asked.count
    }

    @Test(arguments: [false, true]) func `an answer is for one host, not forwarded or forwarded, and for no other one`(
        keepsFactors: Bool
    ) throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints(), Self.usual)
        let context = try client.openContext(keepingFactors: keepsFactors)
        let (there, elsewhere) = try (
            SSHBytes.login(1, by: right.publicKey, to: home), SSHBytes.login(2, by: right.publicKey, to: hop)
        )
        let forwarded = try [hop.binding(3, forwarding: true), home.binding(1)]
        #expect(try questions(there, right, context, [home.binding(1)]) == 1)
        #expect(try questions(there, right, context, [home.binding(1)]) == 0)
        #expect(try questions(there, right, context, forwarded) == 1)
        #expect(facts(fixture.prompter.asked.first)?.isForwarded == true)
        #expect(try questions(elsewhere, right, context, [hop.binding(2)]) == 1)
        #expect(try facts(fixture.prompter.asked.first)?.hostKey?.string == fingerprint(of: hop))
        #expect(try questions(there, right, context, [home.binding(1)]) == 1, "the newest answer counts")
    }

    @Test func `an answer is for one namespace, and for no login`() throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints(), Self.usual)
        let context = try client.openContext()
        let forwarded = [try hop.binding(3, forwarding: true)]
        #expect(try questions(SSHBytes.signature("git"), right, context) == 1)
        #expect(try questions(SSHBytes.signature("git"), right, context) == 0)
        #expect(try questions(SSHBytes.signature("file"), right, context) == 1)
        #expect(try questions(SSHBytes.signature("file"), right, context, forwarded) == 1)
        let login = try SSHBytes.login(1, by: right.publicKey, to: home)
        #expect(try questions(login, right, context, [home.binding(1)]) == 1)
    }

    @Test func `an answer for what goes nobody knows where is for these bytes alone`() throws {
        let right = try client.createSSH("deploy", SSHKeyConstraints(permitsUnknown: true), Self.usual)
        let context = try client.openContext()
        let (first, second) = try (SSHBytes.login(1, by: right.publicKey), SSHBytes.login(2, by: right.publicKey))
        #expect(try questions(first, right, context) == 1)
        #expect(try questions(first, right, context) == 0)
        #expect(try questions(second, right, context) == 1)
        #expect(try questions(Data("anything".utf8), right, context) == 1)
        #expect(try questions(Data("anything".utf8), right, context, [hop.binding(3, forwarding: true)]) == 1)
    }

    @Test
    func `what another host may have asked for, over an ssh that binds nothing, is shown so and has no known place`()
        throws
    {
        let key = P256.Signing.PrivateKey().publicKey.x963Representation
        let login = try SSHBytes.login(1, by: key, to: home)
        for (data, place) in [(login, try fingerprint(of: home)), (SSHBytes.signature("git"), "namespace:git")] {
            let input = SecretBytes(data)
            for mayForward in [false, true] {
                let signing = try SSHSigning(
                    UnconfirmedSSHSigning(WireSSHSignRequest(), input: input, clientMayForward: mayForward),
                    by: SSHKey(x963: key, constraints: nil))
                let destination = ExactName(mayForward ? "perhaps forwarded to \(place)" : place)
                // A lease for the host or the namespace is for another destination, and none is offered.
                #expect(signing.destination == LeaseDestination(destination, mustBeNamed: mayForward))
                #expect(signing.isPlaceKnown == !mayForward)
                let digest = Data(SHA256.hash(data: data))
                #expect(
                    signing.purpose
                        == (mayForward
                            ? .sshOnce(digest: digest, destination: destination) : .ssh(destination: destination)))
                guard case .ssh(let facts) = signing.shown.form else { throw TestClient.UnexpectedAnswer() }
                #expect(facts.mayBeForwarded == mayForward && !facts.isForwarded)
                #expect(signing.details.contains("perhaps forwarded") == mayForward)
            }
        }
    }

    @Test func `an answer for SSH permits no other use of a right that is not for SSH alone`() throws {
        let right = try client.createSSH("plain", nil, Self.usual)
        let context = try client.openContext()
        #expect(try questions(SSHBytes.signature("git"), right, context) == 1)
        let uses: [() throws -> Void] = [
            { _ = try client.sign(right, in: context) }, { _ = try client.exchange(right, in: context) },
        ]
        for use in uses { #expect(try refusal(use) == "notAuthorized right.other-purpose") }
        prepare()
        #expect(
            try refusal { try client.authorize(rightID: right.rightID, in: context, interactive: false) }?
                .hasPrefix("notInteractive") == true, "it is not authorized as a whole")
        // One that is serves SSH, too: it could sign these bytes as any others.
        agree()
        _ = try client.authorize(right, in: context)
        #expect(try questions(SSHBytes.signature("file"), right, context) == 0)
    }

    @Test func `a right that confirms nothing needs a context, and one that confirms asks in a context too`() throws {
        let usual = try client.createSSH("usual", SSHKeyConstraints(), Self.usual)
        prepare()
        #expect(
            try refusal { _ = try client.signSSH(SSHBytes.signature("git"), with: usual.rightID) }
                == "invalidParameter right.confirms-nothing")
        #expect(fixture.prompter.asked.isEmpty)
        let confirming = try client.createSSH("confirming", SSHKeyConstraints())
        let context = try client.openContext(keepingFactors: true)
        for _ in 0..<2 {
            agree()
            _ = try client.signSSH(SSHBytes.signature("git"), with: confirming.rightID, in: context)
            #expect(fixture.prompter.asked.count == 1)
        }
    }

    // MARK: what is stored

    @Test func `the limits are listed, stay after a restart, and belong to the right`() throws {
        let constraints = try SSHKeyConstraints(
            hosts: [SSHHostPin(fingerprint: home.fingerprint, name: "build")], neverForwarded: true)
        let made = try client.createSSH("deploy", constraints)
        try client.create("plain", Self.usual)
        #expect(made.sshConstraints == Data(constraints.canonicalBytes))
        try fixture.restart()
        let client = try fixture.client()
        #expect(try client.find("deploy") == made)
        #expect(
            try client.list().map { ($0.identifier, $0.sshConstraints) }.sorted { $0.0 < $1.0 }.map(\.1)
                == [made.sshConstraints, Data()])
        prepare()
        #expect(
            try refusal { _ = try client.signSSH(SSHBytes.login(1, by: made.publicKey), with: made.rightID) }
                == "operationNotPermitted ssh.unbound")
    }

    @Test func `limits that are none, and a right that cannot have them, are refused`() throws {
        for bytes in [Data([1]), Data([2, 0]), Data([1, 16]), Data([1, 0, 0])] {
            let request = try WireCreateRightRequest.with {
                ($0.identifier, $0.accessControl) = ("x", Data(try Self.usual.canonicalBytes))
                $0.sshConstraints = bytes
            }
            #expect(try refusal { _ = try client.call(.createRight(request)) } == "invalidRule rule.invalid")
        }
        var request = try WireCreateRightRequest.with {
            ($0.identifier, $0.accessControl) = ("x", Data(try Self.usual.canonicalBytes))
            $0.sshConstraints = Data(try SSHKeyConstraints().canonicalBytes)
            $0.hasSecret_p = true
        }
        #expect(
            try refusal { _ = try client.call(.createRight(request), tail: SecretBytes(text: "s")) }
                == "invalidParameter right.confirmed-secret")
        request.hasSecret_p = false
        request.accessControl = Data(
            try AccessControl(availability: .whenUnlocked, requirements: [.decrypt: .unrestricted]).canonicalBytes)
        #expect(
            try refusal { _ = try client.call(.createRight(request)) } == "invalidRule rule.ssh-without-signature")
    }

    @Test func `a row with another's limits is refused, unasked`() throws {
        let pinned = try client.createSSH(
            "pinned", SSHKeyConstraints(hosts: [SSHHostPin(fingerprint: home.fingerprint)]))
        let free = try client.createSSH("free", SSHKeyConstraints())
        fixture.close()
        let queue = try DatabaseQueue(path: fixture.stateDirectory + "/vault.sqlite")
        try queue.write { database in
            try database.execute(
                sql: """
                    UPDATE objects SET attribute_record = (SELECT attribute_record FROM objects WHERE row_key = ?)
                    WHERE row_key = ?
                    """, arguments: [free.rightID, pinned.rightID])
        }
        try queue.close()
        try fixture.restart()
        prepare()
        let client = try fixture.client()
        #expect(
            try refusal { _ = try client.signSSH(SSHBytes.signature("git"), with: pinned.rightID) }?
                .hasPrefix("itemUnreadable ") == true)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `limits that were changed under a valid code open no slot`() throws {
        let pinned = try client.createSSH(
            "pinned", SSHKeyConstraints(hosts: [SSHHostPin(fingerprint: home.fingerprint)]))
        let id = try #require(VaultID(bytes: pinned.rightID))
        let owner = fixture.account.id
        let old = try #require(try fixture.broker.vault.read { try $0.object(id, owner: owner) })
        let attributes = ObjectAttributes(
            group: old.attributes.group, identifier: old.attributes.identifier,
            applicationLabel: old.attributes.applicationLabel, created: old.attributes.created,
            flags: old.attributes.flags, sshConstraints: Data(try SSHKeyConstraints().canonicalBytes))
        try fixture.broker.vault.write("test") { writer in
            try writer.removeObject(id, owner: owner)
            try writer.insertObject(
                ObjectRecord(
                    id: id, owner: owner, kind: old.kind, suite: old.suite, attributes: attributes,
                    accessControl: old.accessControl, enclaveKind: old.enclaveKind, publicKey: old.publicKey,
                    keyBlob: old.keyBlob, payload: old.payload, slots: old.slots))
        }
        let data = try SSHBytes.login(1, by: pinned.publicKey)
        agree()
        let refused = try refusal { _ = try client.signSSH(data, with: pinned.rightID) }
        #expect(refused?.hasPrefix("itemUnreadable ") == true)
    }
}
