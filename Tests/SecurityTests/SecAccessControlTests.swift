import AccessControl
import Foundation
@testable import Security
import Testing

@Suite struct SecAccessControlTests {
    private func make(
        _ flags: SecAccessControlCreateFlags, _ protection: CFTypeRef = kSecAttrAccessibleWhenUnlocked
    ) throws -> SecAccessControl {
        var error: Unmanaged<CFError>?
        return try #require(SecAccessControlCreateWithFlags(nil, protection, flags, &error), "\(flags)")
    }

    private func refusal(
        _ flags: SecAccessControlCreateFlags, _ protection: CFTypeRef = kSecAttrAccessibleWhenUnlocked
    ) -> NSError? {
        var error: Unmanaged<CFError>?
        guard SecAccessControlCreateWithFlags(nil, protection, flags, &error) == nil else { return nil }
        return error?.takeRetainedValue()
    }

    static let protections = ["ak", "ck", "dk", "aku", "cku", "dku", "akpu", "f"]

    @Test(arguments: protections) func `case 61: flags 0 give an access control`(protection: String) throws {
        let control = try make([], protection as CFString)
        #expect(control.protection == protection)
        #expect(control.operations?.entries == ["dacl": .boolean(true)])
    }

    @Test func `case 62: a protection that is none is refused`() {
        for protection in ["", "AK", "akx", "pdmn"] as [CFString] {
            #expect(refusal(.userPresence, protection)?.code == -50)
        }
        #expect(refusal(.userPresence, kCFNull)?.domain == "NSOSStatusErrorDomain")
        #expect(refusal([], 1 as CFNumber)?.code == -50)
    }

    static let accepted: [SecAccessControlCreateFlags] = [
        .biometryCurrentSet, [.biometryAny, .devicePasscode, .or], [.biometryAny, .devicePasscode, .and],
        [.biometryAny, .devicePasscode, .or, .applicationPassword], .applicationPassword, [.devicePasscode, .or],
        [.companion, .biometryAny, .or], [.userPresence, .applicationPassword],
        SecAccessControlCreateFlags(rawValue: 1 << 2),
    ]

    @Test(arguments: accepted) func `case 63: constraints can be combined`(flags: SecAccessControlCreateFlags) throws {
        _ = try make(flags)
    }

    @Test func `case 64: user presence goes with an application password and key usage`() throws {
        let control = try make([.userPresence, .applicationPassword, .privateKeyUsage])
        #expect(control.operations?.needsApplicationPassword == true)
    }

    static let refused: [SecAccessControlCreateFlags] = [
        [.userPresence, .biometryAny], [.userPresence, .biometryCurrentSet], [.userPresence, .devicePasscode],
        [.userPresence, .companion], [.userPresence, .or], [.userPresence, .and], [.or, .and],
        [.biometryAny, .biometryCurrentSet], [.biometryAny, .biometryCurrentSet, .or],
    ]

    @Test(arguments: refused) func `cases 65 and 66: flags that do not go together are refused`(
        flags: SecAccessControlCreateFlags
    ) {
        #expect(refusal(flags)?.code == -50)
        #expect(refusal(flags)?.domain == "NSOSStatusErrorDomain")
    }

    @Test func `case 67: user presence asks for the owner's authentication to decrypt`() throws {
        let control = try make(.userPresence, kSecAttrAccessibleAfterFirstUnlock)
        #expect(control.protection == "ck")
        #expect(
            control.operations?.entries == [
                "od": .dictionary(["cpo": .string("DeviceOwnerAuthentication")]), "oe": .boolean(true),
                "odel": .boolean(true),
            ])
    }

    @Test func `case 68: key usage with a constraint puts it on every private operation`() throws {
        let constraint = PropertyList.dictionary(["cup": .boolean(true)])
        let entries = try #require(try make([.privateKeyUsage, .devicePasscode]).operations?.entries)
        #expect(entries["oe"] == nil && entries["od"] == nil && entries["dacl"] == nil)
        #expect(entries["odel"] == .boolean(true) && entries["oa"] == .boolean(true))
        for operation in ["osgn", "ock", "okd"] { #expect(entries[operation] == constraint) }
    }

    @Test func `case 69: key usage alone permits every private operation`() throws {
        let entries = try #require(try make(.privateKeyUsage).operations?.entries)
        #expect(
            entries == [
                "osgn": .boolean(true), "ock": .boolean(true), "okd": .boolean(true), "oa": .boolean(true),
                "odel": .boolean(true),
            ])
    }

    @Test func `several constraints count how many must hold`() throws {
        let members: [String: PropertyList] = ["cup": .boolean(true), "cwtch": .boolean(true)]
        for (flags, count) in [([.or], 1), ([.and], 2), ([], 2)] as [(SecAccessControlCreateFlags, Int)] {
            let control = try make(flags.union([.devicePasscode, .companion]))
            let expected = members.merging(["pkofn": .integer(count)]) { first, _ in first }
            #expect(control.operations?.entries["od"] == .dictionary(expected))
        }
    }

    @Test(arguments: accepted + [[], .userPresence, .privateKeyUsage, [.privateKeyUsage, .biometryCurrentSet]])
    func `case 70: a serialised access control is read back equal`(flags: SecAccessControlCreateFlags) throws {
        let control = try make(flags)
        let copy = try SecAccessControl(derRepresentation: control.derRepresentation)
        #expect(copy == control)
        #expect(copy.hash == control.hash)
        #expect(copy.derRepresentation == control.derRepresentation)
    }

    @Test func `what was cut, extended or changed in type does not decode`() throws {
        let bytes = try make([.biometryAny, .devicePasscode, .or]).derRepresentation
        let decode = StatusError(errSecDecode, "The access control could not be decoded.")
        for count in 0..<bytes.count {
            #expect(throws: decode) { try SecAccessControl(derRepresentation: bytes.prefix(count)) }
        }
        #expect(throws: decode) { try SecAccessControl(derRepresentation: bytes + Data([0])) }
        let malformed: [PropertyList] = [
            .string("ak"), .dictionary([:]), .dictionary(["prot": .integer(1)]), .dictionary(["prot": .string("zz")]),
            .dictionary(["prot": .string("ak"), "acl": .boolean(true)]),
            .dictionary(["prot": .string("ak"), "bound": .boolean(true)]),
            .dictionary(["prot": .string("ak"), "other": .boolean(true)]),
        ]
        for list in malformed {
            #expect(throws: decode) { try SecAccessControl(derRepresentation: list.derRepresentation) }
        }
    }

    @Test func `a key that stands twice and a set out of order do not decode`() {
        let pair = Data([0x30, 0x06, 0x0c, 0x01, 0x61, 0x01, 0x01, 0xff])
        let later = Data([0x30, 0x06, 0x0c, 0x01, 0x62, 0x01, 0x01, 0xff])
        #expect(
            PropertyList(derRepresentation: Data([0x31, 0x10]) + pair + later)
                == .dictionary(["a": .boolean(true), "b": .boolean(true)]))
        #expect(PropertyList(derRepresentation: Data([0x31, 0x10]) + later + pair) == nil)
        #expect(PropertyList(derRepresentation: Data([0x31, 0x10]) + pair + pair) == nil)
    }

    @Test func `case 73: a description tells protection and operations`() throws {
        func description(_ entries: [String: PropertyList]?) -> String {
            SecAccessControl(protection: "ak", operations: entries.map(AccessControlOperations.init)).description
        }
        #expect(description(nil) == "<SecAccessControlRef: ak>")
        #expect(
            description(["od": .boolean(true), "oe": .boolean(false)])
                == "<SecAccessControlRef: ak;od(true);oe(false)>")
        let long = String(repeating: "AB", count: 64)
        #expect(
            description(["od": .data(Array(repeating: 0xab, count: 128))])
                == "<SecAccessControlRef: ak;od(\(long)...(128b))>")
        #expect(
            description(["od": .data(Array(repeating: 0xab, count: 64))]) == "<SecAccessControlRef: ak;od(\(long))>")
        #expect(try make([], "aku" as CFString).description == "<SecAccessControlRef: aku;dacl(true)>")
        #expect(
            try make(.userPresence, "cku" as CFString).description
                == "<SecAccessControlRef: cku;od(cpo(DeviceOwnerAuthentication));odel(true);oe(true)>")
    }

    @Test func `access controls are equal when their content is`() throws {
        #expect(try make(.userPresence) == make(.userPresence))
        #expect(try make(.userPresence) != make(.devicePasscode))
        #expect(try make([]) != make([], "aku" as CFString))
        #expect(try make([]) != SecAccessControl(protection: "ak", operations: nil))
        #expect(try CFGetTypeID(make([])) == SecAccessControlGetTypeID())
    }

    @Test func `only an object made without operations has none`() throws {
        #expect(SecAccessControl(protection: "ak", operations: nil).operations == nil)
        #expect(try make([]).operations != nil)
    }

    // MARK: limits of grants, an extension

    private func limited(
        _ flags: SecAccessControlCreateFlags, _ idle: UInt32, _ hard: UInt32, _ uses: UInt32
    ) throws -> (control: SecAccessControl?, error: NSError?) {
        var error: Unmanaged<CFError>?
        let control = SecAccessControlCreateWithGrantLimits(nil, try make(flags), idle, hard, uses, &error)
        return (control, error?.takeRetainedValue())
    }

    @Test func `limits are part of the object, of its bytes and of what the daemon enforces`() throws {
        let control = try #require(try limited([.userPresence], 30, 300, 2).control)
        let free = try make([.userPresence])
        #expect(control != free && control.hash != free.hash)
        #expect(control.description.hasSuffix(";hard(300);idle(30);uses(2)>"))
        let read = try SecAccessControl(derRepresentation: control.derRepresentation)
        #expect(read == control && read.limits == control.limits)
        let canonical = try control.canonical()
        #expect(canonical.limits == (try GrantLimits(idleSeconds: 30, hardSeconds: 300, uses: 2)))
        #expect(SecAccessControl(canonical, protection: control.protection) == control)
        #expect(try free.canonical().limits == nil)
    }

    @Test(
        arguments: [(0, 0, 0), (86_401, 0, 0), (0, 2_592_001, 0), (0, 0, 1_000_001), (9, 9, 0)]
            as [(UInt32, UInt32, UInt32)])
    func `limits that limit nothing are refused`(idle: UInt32, hard: UInt32, uses: UInt32) throws {
        let (control, error) = try limited([.userPresence], idle, hard, uses)
        #expect(control == nil && error?.code == -50)
    }

    @Test func `serialised limits that nobody writes are refused`() throws {
        let entries: [String: PropertyList] = ["prot": .string("aku")]
        for limits in [
            [:], ["uses": .integer(0)], ["uses": .string("1")], ["uses": .integer(1), "other": .integer(1)],
            ["uses": .integer(1), "idle": .boolean(true)], ["uses": .integer(-1)], ["uses": .integer(1 << 33)],
        ] as [[String: PropertyList]] {
            let bytes = PropertyList.dictionary(entries.merging(["limits": .dictionary(limits)]) { $1 })
                .derRepresentation
            #expect(throws: StatusError.self) { try SecAccessControl(derRepresentation: bytes) }
        }
        let list = PropertyList.dictionary(entries.merging(["limits": .integer(1)]) { $1 })
        #expect(throws: StatusError.self) { try SecAccessControl(derRepresentation: list.derRepresentation) }
    }
}

@Suite struct CanonicalAccessControlTests {
    static let rules: [(SecAccessControlCreateFlags, Rule)] = [
        (.userPresence, .anyOf([.factor(.biometry), .factor(.passcode)])),
        (.devicePasscode, .factor(.passcode)), (.biometryAny, .factor(.biometry)),
        (.biometryCurrentSet, .factor(.biometryCurrentSet)), (.companion, .factor(.securityKey)),
        (.applicationPassword, .factor(.applicationPassword)),
        ([.biometryAny, .devicePasscode, .or], .anyOf([.factor(.biometry), .factor(.passcode)])),
        ([.biometryAny, .devicePasscode], .allOf([.factor(.biometry), .factor(.passcode)])),
        ([.companion, .devicePasscode, .and], .allOf([.factor(.securityKey), .factor(.passcode)])),
        (
            [.userPresence, .applicationPassword],
            .allOf([.anyOf([.factor(.biometry), .factor(.passcode)]), .factor(.applicationPassword)])
        ),
        ([], .unrestricted),
    ]

    private func canonical(
        _ flags: SecAccessControlCreateFlags, _ protection: CFString = kSecAttrAccessibleWhenUnlocked
    ) throws -> AccessControl {
        try #require(SecAccessControlCreateWithFlags(nil, protection, flags, nil)).canonical()
    }

    @Test(arguments: rules) func `an item is read under its constraints`(
        flags: SecAccessControlCreateFlags, rule: Rule
    ) throws {
        let control = try canonical(flags)
        #expect(try control[.read] == Requirement(rule))
        for operation in [.create, .delete, .change] as [AccessControl.Operation] {
            #expect(control[operation] == .unrestricted)
        }
    }

    @Test(arguments: rules) func `a key signs, decrypts and exchanges under its constraints`(
        flags: SecAccessControlCreateFlags, rule: Rule
    ) throws {
        let control = try canonical(flags.union(.privateKeyUsage))
        for operation in [.sign, .decrypt, .keyExchange] as [AccessControl.Operation] {
            #expect(try control[operation] == Requirement(rule))
        }
        #expect(control[.create] == .unrestricted && control[.delete] == .unrestricted)
        #expect(control[.read] == nil && control[.change] == nil)
    }

    @Test func `constraints without key usage permit no private operation`() throws {
        let control = try canonical(.devicePasscode)
        #expect(control[.sign] == nil && control[.decrypt] == nil && control[.keyExchange] == nil)
    }

    @Test(arguments: [
        ("dk", AvailabilityClass.always), ("dku", .always), ("ck", .afterFirstUnlock), ("cku", .afterFirstUnlock),
        ("ak", .whenUnlocked), ("aku", .whenUnlocked), ("akpu", .whenPasscodeSet),
    ])
    func `a protection has its availability class`(protection: String, availability: AvailabilityClass) throws {
        #expect(try canonical(.userPresence, protection as CFString).availability == availability)
    }

    @Test func `what cannot be enforced is refused`() throws {
        let unknown: [[String: PropertyList]] = [
            ["od": .dictionary(["cnew": .boolean(true)])], ["od": .dictionary([:])], ["od": .integer(1)],
            ["od": .dictionary(["cup": .boolean(true), "cnew": .boolean(true), "pkofn": .integer(1)])],
            ["od": .dictionary(["cup": .boolean(true), "cwtch": .boolean(true)])],
            ["od": .dictionary(["cup": .boolean(true), "cwtch": .boolean(true), "pkofn": .integer(3)])],
            ["od": .dictionary(["cup": .boolean(true), "cwtch": .boolean(true), "pkofn": .integer(0)])],
            ["od": .dictionary(["cup": .boolean(false)])], ["od": .boolean(false)], [:], ["odel": .boolean(true)],
        ]
        for entries in unknown {
            let control = SecAccessControl(protection: "ak", operations: AccessControlOperations(entries))
            #expect("\(entries)") { _ = try control.canonical() } throws: {
                ($0 as? StatusError)?.status == errSecParam
            }
        }
        #expect { _ = try canonical([], "f") } throws: { ($0 as? StatusError)?.status == errSecParam }
    }

    @Test(arguments: rules) func `an access control comes back out of the canonical form`(
        flags: SecAccessControlCreateFlags, rule: Rule
    ) throws {
        for flags in [flags, flags.union(.privateKeyUsage)] {
            let canonical = try canonical(flags)
            let control = try #require(SecAccessControl(canonical))
            #expect(try control.canonical() == canonical)
            #expect(control.protection == "aku")
            #expect(SecAccessControl(canonical, protection: "ak")?.protection == "ak")
        }
    }

    @Test func `a rule that flat dictionaries cannot say has no access control`() throws {
        let rule = Rule.anyOf([.factor(.passcode), .allOf([.factor(.biometry), .factor(.securityKey)])])
        let canonical = AccessControl(availability: .always, using: try Requirement(rule))
        #expect(SecAccessControl(canonical) == nil)
    }
}
