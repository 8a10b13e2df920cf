import Foundation
@testable import Security
import Testing

@Suite struct StatusCodeTests {
    static let listed: [(code: OSStatus, name: String)] = StatusCodeList.names.split(separator: ", ").map { entry in
        let parts = entry.split(separator: " ")
        return (OSStatus(parts[0])!, String(parts[1]))
    }

    @Test func `there are 381 codes, and no two with one name or number`() {
        #expect(Self.listed.count == 381)
        #expect(Set(Self.listed.map(\.code)).count == 381)
        #expect(Set(Self.listed.map(\.name)).count == 381)
    }

    @Test func `every constant has Apple's value`() {
        let own = Dictionary(uniqueKeysWithValues: StatusNames.table.map { ($0.name, $0.code) })
        #expect(own.count == 381)
        for (code, name) in Self.listed { #expect(own[name] == code, "\(name)") }
    }

    @Test func `every code has a message of its own`() {
        let messages = Self.listed.map { SecCopyErrorMessageString($0.code, nil)! as String }
        #expect(Set(messages).count == messages.count)
        #expect(messages.allSatisfy { $0.hasSuffix(".") && !$0.contains("OSStatus") })
    }

    @Test(arguments: [
        (errSecItemNotFound, "The keychain holds no such item."),
        (
            errSecMissingEntitlement,
            "The program is not entitled to this, or was replaced since it was registered (`ostiary app adopt`)."
        ),
        (errSecOCSPResponderUnauthorized, "OCSP responder unauthorized."),
        (errSecInvalidCRLGroup, "Invalid CRL group."),
        (-25330, "OSStatus -25330"), (1, "OSStatus 1"), (OSStatus.min, "OSStatus -2147483648"),
    ])
    func `a message says what the code means`(code: OSStatus, message: String) {
        #expect(SecCopyErrorMessageString(code, nil)! as String == message)
    }
}
