import Foundation
import SeededRandomness

@testable import OstiaryMessages

/// Sets the fields of messages to random values, about half of them to what they are when nobody sets them.
struct RandomFields: FieldCoder {
    let version = WireLimits.protocolVersion
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func field<Value: WireValue>(_ value: inout Value) { value = self.value() }

    mutating func value<Value: WireValue>(_ type: Value.Type = Value.self) -> Value {
        if let list = type as? any FieldList.Type { return filled(list) as! Value }
        return (type as! any RandomValue.Type).random(from: &self) as! Value
    }

    private mutating func filled(_ type: any FieldList.Type) -> any FieldList {
        var message = type.init()
        message.fields(&self)
        return message
    }

    mutating func isSet() -> Bool { Bool.random(using: &generator) }

    mutating func bytes(upTo count: Int = 40) -> [UInt8] {
        (0..<Int.random(in: 0...count, using: &generator)).map { _ in .random(in: 0...255, using: &generator) }
    }

    mutating func text() -> String {
        String(
            (0..<Int.random(in: 0...20, using: &generator)).map { _ in
                "aé…🔑\u{0}\u{301}z".randomElement(using: &generator)!
            })
    }
}

protocol RandomValue { static func random(from fields: inout RandomFields) -> Self }

extension RandomValue where Self: FixedWidthInteger {
    static func random(from fields: inout RandomFields) -> Self {
        fields.isSet() ? .random(in: .min ... .max, using: &fields.generator) : 0
    }
}

extension UInt32: RandomValue {}
extension UInt64: RandomValue {}
extension Int32: RandomValue {}
extension Int64: RandomValue {}
extension Bool: RandomValue { static func random(from fields: inout RandomFields) -> Bool { fields.isSet() } }
extension Double: RandomValue {
    static func random(from fields: inout RandomFields) -> Double {
        fields.isSet()
            ? [-0.0, .infinity, .leastNonzeroMagnitude, 1.5e300, .pi].randomElement(using: &fields.generator)! : 0
    }
}
extension String: RandomValue {
    static func random(from fields: inout RandomFields) -> String { fields.isSet() ? fields.text() : "" }
}
extension Data: RandomValue {
    static func random(from fields: inout RandomFields) -> Data { fields.isSet() ? Data(fields.bytes()) : Data() }
}
extension Optional: RandomValue where Wrapped: WireValue {
    static func random(from fields: inout RandomFields) -> Wrapped? {
        fields.isSet() ? fields.value(Wrapped.self) : nil
    }
}
extension Array: RandomValue where Element: WireValue {
    static func random(from fields: inout RandomFields) -> [Element] {
        (0..<Int.random(in: 0...3, using: &fields.generator)).map { _ in fields.value(Element.self) }
    }
}

extension RandomValue where Self: WireNumber {
    static func random(from fields: inout RandomFields) -> Self {
        Self(rawValue: fields.isSet() ? Int.random(in: 0...9, using: &fields.generator) : Int(UInt32.max))
    }
}
extension WireMode: RandomValue {}
extension WirePasscodeAction: RandomValue {}
extension WireLoginUse: RandomValue {}
extension WireFinding.Verdict: RandomValue {}
extension WireSynchronizable: RandomValue {}
extension WireItemLock: RandomValue {}
extension WireItemChange.Kind: RandomValue {}
extension WireKeyKind: RandomValue {}
extension WireAttachment: RandomValue {}
extension WirePreference: RandomValue {}
extension WireAttestation: RandomValue {}

// MARK: - Choices

protocol RandomChoice: RandomValue {
    /// Makes each of the messages that can be chosen.
    static var makers: [(inout RandomFields) -> Self] { get }
}

extension RandomChoice {
    static func random(from fields: inout RandomFields) -> Self {
        makers.randomElement(using: &fields.generator)!(&fields)
    }
}

extension WireAuthorizeRequest.OneOf_Subject: RandomChoice {
    static var makers: [(inout RandomFields) -> Self] {
        [{ .rightID($0.value()) }, { .requirement($0.value()) }, { .store($0.value()) }]
    }
}

extension WireRevokeGrantsRequest.OneOf_Which: RandomChoice {
    static var makers: [(inout RandomFields) -> Self] {
        [{ .all($0.value()) }, { .grantID($0.value()) }, { .program($0.value()) }]
    }
}

extension WireRemoveRightRequest.OneOf_Which: RandomChoice {
    static var makers: [(inout RandomFields) -> Self] { [{ .rightID($0.value()) }, { .identifier($0.value()) }] }
}

extension WireAttribute.OneOf_Value: RandomChoice {
    static var makers: [(inout RandomFields) -> Self] {
        [{ .data($0.value()) }, { .text($0.value()) }, { .number($0.value()) }, { .date($0.value()) }]
    }
}

extension WireRequest.OneOf_Body: RandomChoice {
    static var makers: [(inout RandomFields) -> Self] {
        [
            { .hello($0.value()) }, { .status($0.value()) }, { .cancel($0.value()) },
            { .environment($0.value()) }, { .openContext($0.value()) },
            { .closeContext($0.value()) }, { .deauthorize($0.value()) }, { .setCredential($0.value()) },
            { .credentialState($0.value()) }, { .evaluatePolicy($0.value()) }, { .authorize($0.value()) },
            { .createRight($0.value()) }, { .findRight($0.value()) }, { .listRights($0.value()) },
            { .removeRight($0.value()) }, { .removeAllRights($0.value()) }, { .sign($0.value()) },
            { .decrypt($0.value()) }, { .exchange($0.value()) }, { .readSecret($0.value()) }, { .passcode($0.value()) },
            { .lock($0.value()) }, { .readLog($0.value()) }, { .verifyLog($0.value()) }, { .diagnose($0.value()) },
            { .repair($0.value()) }, { .addItem($0.value()) }, { .findItems($0.value()) }, { .updateItems($0.value()) },
            { .deleteItems($0.value()) }, { .watchItems($0.value()) }, { .createKey($0.value()) },
            { .findKey($0.value()) },
            { .removeKey($0.value()) },
            { .decapsulate($0.value()) }, { .evaluateAccessControl($0.value()) }, { .listKeys($0.value()) },
            { .pruneKeys($0.value()) },
            { .registerApplication($0.value()) }, { .listApplications($0.value()) }, { .removeApplication($0.value()) },
            { .listSecurityKeys($0.value()) }, { .enrollSecurityKey($0.value()) }, { .removeSecurityKey($0.value()) },
            { .securityKeyPIN($0.value()) },
            { .listPasskeys($0.value()) }, { .removePasskey($0.value()) },
            { .listGrants($0.value()) }, { .revokeGrants($0.value()) }, { .awaitGrantEnd($0.value()) },
            { .heldGrants($0.value()) }, { .registerCredential($0.value()) }, { .assertCredential($0.value()) },
            { .authenticatorCommand($0.value()) },
            { .adminUsers($0.value()) }, { .adminLog($0.value()) }, { .forgetUser($0.value()) },
            { .importStore($0.value()) },
            { .grantLease($0.value()) }, { .listLeases($0.value()) }, { .revokeLeases($0.value()) },
            { .enrollAttestation($0.value()) }, { .activateAttestation($0.value()) }, { .attest($0.value()) },
            { .confirmedSign($0.value()) }, { .confirmedAttest($0.value()) },
            { .sshSign($0.value()) }, { .sshAssert($0.value()) },
        ]
    }
}

extension WireReply.OneOf_Body: RandomChoice {
    static var makers: [(inout RandomFields) -> Self] {
        [
            { .failure($0.value()) }, { .done($0.value()) }, { .status($0.value()) }, { .context($0.value()) },
            { .granted($0.value()) }, { .right($0.value()) }, { .rights($0.value()) }, { .logPage($0.value()) },
            { .logVerdict($0.value()) }, { .diagnosis($0.value()) }, { .items($0.value()) }, { .itemNews($0.value()) },
            { .key($0.value()) },
            { .applications($0.value()) }, { .keys($0.value()) }, { .unusedKeys($0.value()) },
            { .passkeys($0.value()) }, { .securityKeys($0.value()) }, { .repair($0.value()) },
            { .environment($0.value()) },
            { .grants($0.value()) }, { .grantEnds($0.value()) }, { .heldGrants($0.value()) },
            { .registeredCredential($0.value()) }, { .assertedCredential($0.value()) },
            { .adminUsers($0.value()) }, { .adminLogPage($0.value()) }, { .importOutcome($0.value()) },
            { .lease($0.value()) }, { .leases($0.value()) },
        ]
    }
}

// MARK: - Frames

/// Requests and replies of every kind, as many of each as asked for.
enum Samples {
    static func requests(seed: UInt64, ofEach count: Int = 1) -> [WireRequest] {
        messages(seed, count, WireRequest.OneOf_Body.self) { id, body in .with { ($0.id, $0.body) = (id, body) } }
    }

    static func replies(seed: UInt64, ofEach count: Int = 1) -> [WireReply] {
        messages(seed, count, WireReply.OneOf_Body.self) { id, body in .with { ($0.id, $0.body) = (id, body) } }
    }

    private static func messages<Body: RandomChoice, Message>(
        _ seed: UInt64, _ count: Int, _ type: Body.Type, _ message: (UInt64, Body) -> Message
    ) -> [Message] {
        var fields = RandomFields(seed: seed)
        return (0..<count).flatMap { _ in Body.makers.map { message(fields.value(), $0(&fields)) } }
    }
}
