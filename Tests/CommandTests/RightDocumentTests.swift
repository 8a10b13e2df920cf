import AccessControl
import Foundation
import Testing

@testable import OstiaryClient
@testable import ostiary

@Suite("Rights as JSON and text")
struct RightDocumentTests {
    private static func right(
        named name: String = "2fa", _ access: AccessControl? = nil, ssh constraints: SSHKeyConstraints? = nil
    ) throws -> StoredRight {
        StoredRight(
            id: Data(0..<16), identifier: name,
            accessControl: try access
                ?? AccessControl(availability: .whenUnlocked, using: Requirement(anyOf: [.passcode, .biometry])),
            publicKey: Data([4, 1, 2]), hasSecret: true, createdAt: Date(timeIntervalSince1970: 1_769_860_800),
            enclaveKind: "software", application: "/usr/bin/ostiary", sshConstraints: constraints)
    }

    private static func confirming(_ leases: GrantLimits?) throws -> AccessControl {
        AccessControl(
            availability: .whenUnlocked, confirmingEachSignatureWith: try Requirement(anyOf: [.passcode]),
            leases: leases)
    }

    static let json = """
        {"application":"/usr/bin/ostiary","availability":"when-unlocked","confirmsEachSignature":false,"createdAt":"2026-01-31T12:00:00.000Z",\
        "enclave":"software","hasSecret":true,"id":"AAECAwQFBgcICQoLDA0ODw==","name":"2fa","permitsLeases":true,"publicKey":"BAEC",\
        "rules":{"create":"unrestricted","decrypt":"passcode or biometry","delete":"unrestricted",\
        "key-exchange":"passcode or biometry","read":"passcode or biometry","sign":"passcode or biometry"}}
        """

    @Test func `a right has the documented keys`() throws {
        #expect(try JSONOutput.text(RightDocument(Self.right()), on: .oneLine) == Self.json)
    }

    @Test func `a right for people says whether a lease may stand in for a confirmation`() throws {
        let without = RightDocument(try Self.right(Self.confirming(nil)))
        #expect(without.text().contains("\nLeases            none\n") && !without.permitsLeases)
        let with = RightDocument(try Self.right(Self.confirming(GrantLimits(hardSeconds: 3600, uses: 20))))
        #expect(with.text().contains("\nLeases            permitted, 3600 s in any case, 20 uses\n"))
        #expect(try JSONOutput.text(with, on: .oneLine).contains(#""leaseLimits":{"hardSeconds":3600,"uses":20}"#))
    }

    @Test func `a key for SSH says its hosts, namespaces and whether it is forwarded`() throws {
        let pin = SSHHostPin(fingerprint: Array(repeating: 0, count: 32), name: "git.example.org")
        let limits = try SSHKeyConstraints(hosts: [pin], namespaces: ["git"], neverForwarded: true)
        let document = RightDocument(try Self.right(Self.confirming(nil), ssh: limits))
        let fingerprint = "SHA256:" + String(repeating: "A", count: 43)
        #expect(
            document.text().contains(
                "\nFor SSH           git.example.org; signatures for git; never forwarded"
                    + "\nPinned to         \(fingerprint) (git.example.org)\n"), "\(document.text())")
        #expect(
            try JSONOutput.text(document, on: .oneLine).contains(
                #""ssh":{"hosts":[{"fingerprint":"\#(fingerprint)","name":"git.example.org"}],"namespaces":["git"],"#
                    + #""neverForwarded":true,"permitsUnknown":false}"#))
        #expect(!RightDocument(try Self.right()).text().contains("SSH"))
    }

    @Test func `a list has rights and rows that are refused`() throws {
        let list = RightListDocument([.intact(try Self.right()), .unreadable(id: Data([1]), reason: "its MAC differs")])
        #expect(
            try JSONOutput.text(list, on: .oneLine)
                == #"{"rights":[\#(Self.json)],"unreadable":[{"id":"AQ==","unreadableBecause":"its MAC differs"}]}"#)
    }

    @Test func `a list is sorted by name, with refused rows last`() throws {
        let list = RightListDocument([
            .unreadable(id: Data([2]), reason: "r"), .intact(try Self.right(named: "b")),
            .unreadable(id: Data([1]), reason: "r"), .intact(try Self.right(named: "a")),
        ])
        #expect(list.rights.map(\.name) == ["a", "b"])
        #expect(list.unreadable.map(\.id) == [Data([1]), Data([2])])
        let rows = list.text(showsApplications: false).split(separator: "\n").map { $0.prefix { $0 != " " } }
        #expect(rows == ["NAME", "a", "b", "unreadable", "unreadable", "`ostiary"])
    }

    @Test func `what was proved has the documented keys`() throws {
        let granted = AuthorizationDocument(Grant(factors: ["passcode"], strength: "key-bound"))
        #expect(try JSONOutput.text(granted, on: .oneLine) == #"{"factors":["passcode"],"strength":"key-bound"}"#)
        #expect(granted.text == "Authorized: passcode (key-bound)")
        #expect(AuthorizationDocument(Grant(factors: [], strength: "")).text == "Authorized: nothing had to be proved")
    }

    @Test(arguments: [(true, #"{"valid":true}"#), (false, #"{"valid":false}"#)])
    func `a verdict on a signature has the documented key`(valid: Bool, json: String) throws {
        #expect(try JSONOutput.text(SignatureVerdictDocument(valid: valid), on: .oneLine) == json)
    }

    @Test func `a right for people says what each operation requires`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 0))
        #expect(
            RightDocument(try Self.right()).text(in: zone) == """
                Name              2fa
                Id                000102030405060708090a0b0c0d0e0f
                Available         when-unlocked
                To create         unrestricted
                To read           passcode or biometry
                To sign           passcode or biometry
                To decrypt        passcode or biometry
                To exchange keys  passcode or biometry
                To delete         unrestricted
                To change         not permitted
                Leases            permitted
                Secret            yes
                Enclave           software
                Created           2026-01-31 12:00:00Z
                By                /usr/bin/ostiary
                """)
    }

    @Test func `a list for people shows a hostile name harmless and a refused row`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 0))
        let list = RightListDocument([
            .intact(try Self.right(named: "a\u{1b}[2J")),
            .unreadable(id: Data([0x0a, 0xff]), reason: "its MAC differs"),
        ])
        #expect(
            list.text(showsApplications: false, in: zone) == """
                NAME        REQUIRES              AVAILABLE      SECRET  ENCLAVE   CREATED
                a\\u{1b}[2J  passcode or biometry  when-unlocked  yes     software  2026-01-31 12:00:00Z
                unreadable  0aff  its MAC differs
                `ostiary right remove --id ID` removes an unreadable row.
                """)
        #expect(list.text(showsApplications: true, in: zone).contains("PROGRAM\n"))
        #expect(RightListDocument([]).text(showsApplications: true) == "")
    }
}
