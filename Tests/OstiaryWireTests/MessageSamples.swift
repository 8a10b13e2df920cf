import Foundation
import SeededRandomness
import Testing

@testable import OstiaryMessages

/// Sets the fields of messages to the values of a sample.
struct SampleFields: FieldCoder {
    let version = WireLimits.protocolVersion
    var generator: SeededGenerator
    /// Which message of each choice a full sample has; nil in a random one.
    let variant: Int?
    /// The number of the field in its message, from 1 on.
    private(set) var place = 0

    /// Random values. About half of the fields are left unset.
    init(seed: UInt64) { (generator, variant) = (SeededGenerator(seed: seed), nil) }

    /// Values of which all are set, and which are the same each time. A value follows from its type and from the place of its field in
    /// its message. So a field that comes behind the others leaves them as they are.
    init(variant: Int) { (generator, self.variant) = (SeededGenerator(seed: 0), variant) }

    mutating func field<Value: WireValue>(_ value: inout Value) {
        place += 1
        value = self.value()
        guard variant != nil else { return }
        let isUnset = isAllZeros(value)
        #expect(!isUnset, "a full sample leaves no field out")
    }

    mutating func value<Value: WireValue>(_ type: Value.Type = Value.self) -> Value {
        if let list = type as? any FieldList.Type { return filled(list) as! Value }
        let sample = type as! any SampleValue.Type
        return (variant == nil ? sample.random(from: &self) : sample.full(from: &self)) as! Value
    }

    private mutating func filled(_ type: any FieldList.Type) -> any FieldList {
        var message = type.init()
        let outer = place
        place = 0
        message.fields(&self)
        place = outer
        return message
    }

    /// Whether a value is written as nothing but zeros, as one that nobody sets.
    private func isAllZeros(_ value: some WireValue) -> Bool {
        var writer = FieldWriter(version: version, room: 0, capacity: FieldWriter.usualByteCount)
        value.write(to: &writer)
        let bytes = try? writer.finish()
        return bytes?.allSatisfy { $0 == 0 } ?? true
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

protocol SampleValue {
    static func random(from fields: inout SampleFields) -> Self
    /// The value of a full sample. It uses no algorithm of the standard library that another version may change, because digests of
    /// it are recorded.
    static func full(from fields: inout SampleFields) -> Self
}

extension SampleValue where Self: FixedWidthInteger {
    static func random(from fields: inout SampleFields) -> Self {
        fields.isSet() ? .random(in: .min ... .max, using: &fields.generator) : 0
    }

    static func full(from fields: inout SampleFields) -> Self {
        Self(truncatingIfNeeded: 0x0102_0304_0506_0708 + fields.place)
    }
}

extension UInt32: SampleValue {}
extension UInt64: SampleValue {}
extension Int32: SampleValue {}
extension Int64: SampleValue {}
extension Bool: SampleValue {
    static func random(from fields: inout SampleFields) -> Bool { fields.isSet() }
    static func full(from fields: inout SampleFields) -> Bool { true }
}
extension Double: SampleValue {
    static func random(from fields: inout SampleFields) -> Double {
        fields.isSet()
            ? [-0.0, .infinity, .leastNonzeroMagnitude, 1.5e300, .pi].randomElement(using: &fields.generator)! : 0
    }
    static func full(from fields: inout SampleFields) -> Double { Double(fields.place) + 0.5 }
}
extension String: SampleValue {
    static func random(from fields: inout SampleFields) -> String { fields.isSet() ? fields.text() : "" }
    static func full(from fields: inout SampleFields) -> String { "é\(fields.place)" }
}
extension Data: SampleValue {
    static func random(from fields: inout SampleFields) -> Data { fields.isSet() ? Data(fields.bytes()) : Data() }
    static func full(from fields: inout SampleFields) -> Data {
        Data([0xFF, UInt8(truncatingIfNeeded: fields.place)])
    }
}
extension Optional: SampleValue where Wrapped: WireValue {
    static func random(from fields: inout SampleFields) -> Wrapped? {
        fields.isSet() ? fields.value(Wrapped.self) : nil
    }
    static func full(from fields: inout SampleFields) -> Wrapped? { fields.value(Wrapped.self) }
}
extension Array: SampleValue where Element: WireValue {
    static func random(from fields: inout SampleFields) -> [Element] {
        (0..<Int.random(in: 0...3, using: &fields.generator)).map { _ in fields.value(Element.self) }
    }
    static func full(from fields: inout SampleFields) -> [Element] {
        [fields.value(Element.self), fields.value(Element.self)]
    }
}

extension SampleValue where Self: WireNumber {
    static func random(from fields: inout SampleFields) -> Self {
        Self(rawValue: fields.isSet() ? Int.random(in: 0...9, using: &fields.generator) : Int(UInt32.max))
    }

    static func full(from fields: inout SampleFields) -> Self { Self(rawValue: fields.place) }
}
extension WireMode: SampleValue {}
extension WirePasscodeAction: SampleValue {}
extension WireLoginUse: SampleValue {}
extension WireFinding.Verdict: SampleValue {}
extension WireSynchronizable: SampleValue {}
extension WireItemLock: SampleValue {}
extension WireItemChange.Kind: SampleValue {}
extension WireKeyKind: SampleValue {}
extension WirePassedKind: SampleValue {}
extension WireAttachment: SampleValue {}
extension WirePreference: SampleValue {}
extension WireAttestation: SampleValue {}

// MARK: - Choices

protocol SampleChoice: SampleValue {
    /// Makes each of the messages that can be chosen.
    static var makers: [(inout SampleFields) -> Self] { get }
}

extension SampleChoice {
    static func random(from fields: inout SampleFields) -> Self {
        makers.randomElement(using: &fields.generator)!(&fields)
    }

    /// The last message for each variant behind it.
    static func full(from fields: inout SampleFields) -> Self {
        makers[min(fields.variant ?? 0, makers.count - 1)](&fields)
    }
}

extension WireAuthorizeRequest.OneOf_Subject: SampleChoice {
    static var makers: [(inout SampleFields) -> Self] {
        [{ .rightID($0.value()) }, { .requirement($0.value()) }, { .store($0.value()) }]
    }
}

extension WireRevokeGrantsRequest.OneOf_Which: SampleChoice {
    static var makers: [(inout SampleFields) -> Self] {
        [{ .all($0.value()) }, { .grantID($0.value()) }, { .program($0.value()) }]
    }
}

extension WireRemoveRightRequest.OneOf_Which: SampleChoice {
    static var makers: [(inout SampleFields) -> Self] { [{ .rightID($0.value()) }, { .identifier($0.value()) }] }
}

extension WireAttribute.OneOf_Value: SampleChoice {
    static var makers: [(inout SampleFields) -> Self] {
        [{ .data($0.value()) }, { .text($0.value()) }, { .number($0.value()) }, { .date($0.value()) }]
    }
}

extension WireRequest.OneOf_Body: SampleChoice {
    static var makers: [(inout SampleFields) -> Self] {
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

extension WireReply.OneOf_Body: SampleChoice {
    static var makers: [(inout SampleFields) -> Self] {
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

    private static func messages<Body: SampleChoice, Message>(
        _ seed: UInt64, _ count: Int, _ type: Body.Type, _ message: (UInt64, Body) -> Message
    ) -> [Message] {
        var fields = SampleFields(seed: seed)
        return (0..<count).flatMap { _ in Body.makers.map { message(fields.value(), $0(&fields)) } }
    }

    // MARK: full ones

    /// Every request with all of its fields set, under its name. One that holds a choice comes once for each message that can be chosen,
    /// and the second is named `NAME-2`.
    static var fullRequests: [(name: String, message: WireRequest)] {
        var fields = SampleFields(variant: 0)
        let client = WireRequest.with {
            ($0.id, $0.body, $0.onBehalf) = (fullID, .lock(.init()), fields.value(WireOnBehalf.self))
        }
        let own: [(name: String, message: WireRequest)] = full("request", WireRequest.OneOf_Body.self) { body in
            .with { ($0.id, $0.body) = (fullID, body) }
        }
        return own + [(name: "request.onBehalf", message: client)]
    }

    /// The same of every reply.
    static var fullReplies: [(name: String, message: WireReply)] {
        full("reply", WireReply.OneOf_Body.self) { body in .with { ($0.id, $0.body) = (fullID, body) } }
    }

    private static let fullID: UInt64 = 0x0102_0304_0506_0708

    private static func full<Body: SampleChoice, Message: FrameMessage>(
        _ kind: String, _ type: Body.Type, _ message: (Body) -> Message
    ) -> [(name: String, message: Message)] {
        Body.makers.flatMap { maker -> [(name: String, message: Message)] in
            var samples: [(name: String, message: Message)] = []
            while true {
                var fields = SampleFields(variant: samples.count)
                let body = maker(&fields)
                let sample = message(body)
                if samples.last?.message == sample { return samples }
                let name = "\(kind).\(Mirror(reflecting: body).children.first?.label ?? "")"
                samples.append((samples.isEmpty ? name : "\(name)-\(samples.count + 1)", sample))
            }
        }
    }
}
