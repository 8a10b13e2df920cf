import Foundation
import OstiaryMessages
import Testing

@testable import Broker
@testable import Sessions

/// One place says of each request what it may bring, which thread answers it and what the log calls it.
@Suite("The table of requests")
struct RequestTableTests {
    /// Each request once, empty, by the name that the wire's document gives it.
    private static let all: [(name: String, body: WireRequest.OneOf_Body)] = [
        ("hello", .hello(.init())), ("status", .status(.init())), ("cancel", .cancel(.init())),
        ("environment", .environment(.init())),
        ("open_context", .openContext(.init())), ("close_context", .closeContext(.init())),
        ("deauthorize", .deauthorize(.init())), ("set_credential", .setCredential(.init())),
        ("credential_state", .credentialState(.init())), ("evaluate_policy", .evaluatePolicy(.init())),
        ("evaluate_access_control", .evaluateAccessControl(.init())), ("authorize", .authorize(.init())),
        ("create_right", .createRight(.init())), ("find_right", .findRight(.init())),
        ("list_rights", .listRights(.init())), ("remove_right", .removeRight(.init())),
        ("remove_all_rights", .removeAllRights(.init())), ("sign", .sign(.init())), ("decrypt", .decrypt(.init())),
        ("exchange", .exchange(.init())), ("read_secret", .readSecret(.init())), ("create_key", .createKey(.init())),
        ("find_key", .findKey(.init())), ("remove_key", .removeKey(.init())), ("list_keys", .listKeys(.init())),
        ("prune_keys", .pruneKeys(.init())),
        ("decapsulate", .decapsulate(.init())), ("register_application", .registerApplication(.init())),
        ("list_applications", .listApplications(.init())), ("remove_application", .removeApplication(.init())),
        ("passcode", .passcode(.init())), ("lock", .lock(.init())), ("read_log", .readLog(.init())),
        ("verify_log", .verifyLog(.init())), ("diagnose", .diagnose(.init())), ("repair", .repair(.init())),
        ("add_item", .addItem(.init())), ("find_items", .findItems(.init())), ("update_items", .updateItems(.init())),
        ("delete_items", .deleteItems(.init())), ("watch_items", .watchItems(.init())),
        ("list_security_keys", .listSecurityKeys(.init())), ("enroll_security_key", .enrollSecurityKey(.init())),
        ("remove_security_key", .removeSecurityKey(.init())), ("security_key_pin", .securityKeyPIN(.init())),
        ("list_passkeys", .listPasskeys(.init())), ("remove_passkey", .removePasskey(.init())),
        ("list_grants", .listGrants(.init())), ("revoke_grants", .revokeGrants(.init())),
        ("await_grant_end", .awaitGrantEnd(.init())), ("held_grants", .heldGrants(.init())),
        ("enroll_attestation", .enrollAttestation(.init())), ("activate_attestation", .activateAttestation(.init())),
        ("attest", .attest(.init())), ("confirmed_sign", .confirmedSign(.init())),
        ("confirmed_attest", .confirmedAttest(.init())), ("ssh_sign", .sshSign(.with { $0.contextID = 1 })),
        ("ssh_assert", .sshAssert(.init())),
        ("register_credential", .registerCredential(.init())), ("assert_credential", .assertCredential(.init())),
        ("authenticator_command", .authenticatorCommand(.init())),
        ("admin_users", .adminUsers(.init())), ("admin_log", .adminLog(.init())),
        ("forget_user", .forgetUser(.init())), ("import_store", .importStore(.init())),
        ("grant_lease", .grantLease(.init())), ("list_leases", .listLeases(.init())),
        ("revoke_leases", .revokeLeases(.init())),
    ]

    /// A line of the document's table.
    private struct Line: Equatable, CustomStringConvertible {
        let thread: String
        let tailByteCount: Int
        let terminal: String

        var description: String { "\(thread) | \(tailByteCount) | \(terminal)" }

        init(_ row: RequestRow) {
            thread =
                switch row.thread {
                case .connection: "fast"
                case .own: "slow"
                case .ownForReading: "slow reading"
                case .waiting: "waiting"
                case .connectionUnlessAsking: "fast, slow when it asks"
                case .ownUntilWaiting: "slow, then no thread"
                case .connectionUntilWaiting: "fast, then no thread"
                case .connectionUnlessEnclaveIsSlow: "fast, slow in a slow enclave"
                }
            tailByteCount = row.tailByteCount
            terminal = row.acceptsTerminal ? "yes" : "no"
        }

        init(thread: String, tail: String, terminal: String) {
            self.thread = thread
            self.terminal = terminal
            let numbers = tail.split { !$0.isNumber && $0 != "," }.compactMap { Int($0.filter(\.isNumber)) }
            // Where a cell names several sizes, the table has the largest; the handler looks at the rest.
            tailByteCount = numbers.max() ?? 0
        }
    }

    private static var document: [String: Line] {
        get throws {
            let page = URL(fileURLWithPath: #filePath).appendingPathComponent(
                "../../../../Documentation/formats/wire.md")
            let lines = try String(contentsOf: page.standardizedFileURL, encoding: .utf8).split(separator: "\n")
            let rows = lines.map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            // Name, number, thread, tail, terminal, answer.
            return Dictionary(
                uniqueKeysWithValues: rows.filter { $0.count == 6 && $0[0].hasPrefix("`") }.map {
                    ($0[0].trimmingCharacters(in: ["`"]), Line(thread: $0[2], tail: $0[3], terminal: $0[4]))
                })
        }
    }

    @Test func `says what the document says`() throws {
        let document = try Self.document
        #expect(Set(document.keys) == Set(Self.all.map(\.name)))
        for (name, body) in Self.all { #expect(document[name] == Line(body.row), "\(name)") }
    }

    @Test func `lets a changed program do what names no object and what ends something, and no more`() {
        let open = Self.all.filter { $0.body.row.isOpenToChangedPrograms }.map(\.name)
        #expect(
            Set(open) == [
                "hello", "status", "cancel", "close_context", "deauthorize", "lock", "read_log", "verify_log",
                "diagnose", "repair", "list_grants", "revoke_grants", "list_leases", "revoke_leases",
                "passcode", "register_application", "list_applications", "remove_application",
            ])
    }

    @Test func `lets a door make for a client what opens, uses and keeps objects, and no more`() {
        #expect(
            Set(Self.all.filter { $0.body.row.isForClients }.map(\.name)) == [
                "status", "open_context", "close_context", "deauthorize", "set_credential", "credential_state",
                "evaluate_policy", "evaluate_access_control", "authorize", "held_grants", "create_right", "find_right",
                "list_rights", "remove_right", "sign", "decrypt", "exchange", "decapsulate", "read_secret",
                "confirmed_sign", "confirmed_attest", "ssh_sign", "ssh_assert", "list_passkeys",
                "create_key", "find_key", "remove_key", "add_item",
                "find_items",
                "update_items", "delete_items",
            ])
        #expect(!WireRequest.OneOf_Body.listRights(.with { $0.ofAllApplications = true }).row.isForClients)
        #expect(!WireRequest.OneOf_Body.removeKey(.with { $0.ofAnyGroup = true }).row.isForClients)
    }

    @Test func `keeps the requests about all users for the administrator, and no door makes them`() {
        let rows = Self.all.filter { $0.body.row.isForAdministrators }
        #expect(rows.map(\.name) == ["admin_users", "admin_log", "forget_user"])
        #expect(rows.allSatisfy { !$0.body.row.isForClients && !$0.body.row.isOpenToChangedPrograms })
    }

    @Test func `lets a hello alone come before the greeting`() {
        #expect(Self.all.filter { $0.body.row.state == .connected }.map(\.name) == ["hello"])
    }

    @Test func `calls a request what the log calls it, whatever it asks for in detail`() {
        let names: [(WireRequest.OneOf_Body, String)] = [
            (.authorize(.with { $0.subject = .rightID(Data(count: 16)) }), "authorize"),
            (.authorize(.with { $0.subject = .requirement(Data([1])) }), "authorize-requirement"),
            (.authorize(.with { $0.subject = .store(.init()) }), "unlock"),
            (.passcode(.with { $0.action = .set }), "passcode-set"),
            (.passcode(.with { $0.action = .change }), "passcode-change"),
            (.passcode(.with { $0.action = .remove }), "passcode-remove"), (.passcode(.init()), "passcode"),
            (.passcode(.with { $0.action = .followLogin }), "passcode-follow-login"),
            (.passcode(.with { $0.action = .ignoreLogin }), "passcode-ignore-login"),
            (.registerApplication(.init()), "application-register"),
            (.registerApplication(.with { $0.adopts = true }), "application-adopt"),
            (.exchange(.init()), "key-exchange"), (.decapsulate(.init()), "key-exchange"),
            (.readSecret(.init()), "read"),
            (.findRight(.init()), "findRight"), (.createRight(.init()), "create"),
            (.removeAllRights(.init()), "remove-all"), (.registerCredential(.init()), "credential-register"),
            (.assertCredential(.init()), "credential-assert"),
        ]
        for (body, name) in names { #expect(body.row.eventName == name) }
    }

    @Test func `says what a request is about`() {
        let id = Data(repeating: 7, count: 16)
        #expect(WireRequest.OneOf_Body.createRight(.with { $0.identifier = "2fa" }).row.subject == .name("2fa"))
        #expect(WireRequest.OneOf_Body.decapsulate(.with { $0.keyID = id }).row.subject == .object(id))
        #expect(WireRequest.OneOf_Body.sign(.with { $0.rightID = id }).row.subject == .object(id))
        #expect(
            WireRequest.OneOf_Body.removeApplication(.with { $0.applicationID = "a.b" }).row.subject
                == .application("a.b"))
        let assertion = WireCredentialAssertion.with { $0.relyingPartyID = "example.com" }
        #expect(
            WireRequest.OneOf_Body.assertCredential(.with { $0.assertions = [assertion] }).row.subject
                == .relyingParty("example.com"))
        #expect(WireRequest.OneOf_Body.addItem(.init()).row.subject == .nothing)
    }

    @Test func `knows which requests show what the store holds`() {
        #expect(
            Set(Self.all.filter { $0.body.row.showsStore }.map(\.name))
                == [
                    "find_right", "list_rights", "find_key", "list_keys", "prune_keys", "list_applications",
                    "list_security_keys", "list_passkeys", "find_items", "watch_items", "authenticator_command",
                    "admin_users",
                ])
    }

    @Test func `knows which requests withhold their question`() {
        for isWithheld in [false, true] {
            let use = WireItemUse.with { $0.withholdsQuestion = isWithheld }
            let bodies: [WireRequest.OneOf_Body] = [
                .addItem(.with { $0.use = use }), .findItems(.with { $0.use = use }),
                .updateItems(.with { $0.use = use }),
            ]
            for body in bodies { #expect(body.row.withholdsQuestion == isWithheld) }
        }
    }

    @Test func `begins a request that needs its question where it may wait, and no other`() {
        for (isWithheld, isExpected) in [(false, false), (true, false), (false, true), (true, true)] {
            let use = WireItemUse.with { ($0.withholdsQuestion, $0.expectsQuestion) = (isWithheld, isExpected) }
            let bodies: [WireRequest.OneOf_Body] = [
                .addItem(.with { $0.use = use }), .findItems(.with { $0.use = use }),
                .updateItems(.with { $0.use = use }),
            ]
            let thread: RequestThread = isExpected && !isWithheld ? .own : .connectionUnlessAsking
            for body in bodies { #expect(body.row.thread == thread) }
        }
    }
}
