import Foundation
import LocalAuthentication
import Security
import SeededRandomness

/// Dictionaries that no careful program writes: right and wrong keys with right and wrong values. One seed gives one
/// sequence.
struct RandomQueries {
    private var generator: SeededGenerator
    private let key = SecKeyCreateRandomKey(
        [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256] as CFDictionary, nil)
    /// Ten megabytes, made once: of all that is here they alone take time.
    static let largeValues: [any Sendable] = [Data(count: 10 << 20), String(repeating: "x", count: 10 << 20)]
    /// How many of them one sequence has yet to give; more of them say nothing that these do not.
    private var largeValueCount = 2

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func next() -> CFDictionary {
        let query = NSMutableDictionary()
        // Half of them name a class, or they would all end at the first check.
        if Bool.random(using: &generator) { query["class"] = pick(["genp", "genp", "inet", "keys", "cert", "idnt"]) }
        if Bool.random(using: &generator) { query["v_Data"] = Data("secret".utf8) }
        if chance(of: 6) { query[pick(["u_AuthCtx", "u_AuthCtx", randomText()])] = context() }
        let count = pick([0, 1, 1, 2, 2, 3, 5, 12, 129])
        for number in 0..<count { add(number, of: count, to: query) }
        return query
    }

    private mutating func add(_ number: Int, of count: Int, to query: NSMutableDictionary) {
        guard count < 129 else {
            query["fspi.\(number)"] = number
            return
        }
        if chance(of: 12) {
            query[
                pick([number as NSNumber, NSNull(), Data([1]) as NSData, NSArray(), Date() as NSDate] as [NSObject])] =
                value()
        } else {
            query[chance(of: 3) ? randomText() : pick(Self.keys)] = value()
        }
    }

    private mutating func value(depth: Int = 0) -> Any {
        if depth < 5, chance(of: 8) {
            let values = (0..<Int.random(in: 0...3, using: &generator)).map { _ in value(depth: depth + 1) }
            return chance(of: 2) ? values : [randomText(): values, "class": value(depth: depth + 1)] as [String: Any]
        }
        if chance(of: 60), largeValueCount > 0 {
            largeValueCount -= 1
            return pick(Self.largeValues)
        }
        let fitting: [Any] = [true, false, 0, 1, 2, "a", "b", Data("a".utf8), Date(timeIntervalSince1970: 1)]
        guard chance(of: 2) else { return pick(fitting) }
        let number = Int64.random(in: .min ... .max, using: &generator)
        let unfitting: [Any] = [
            NSNull(), number, UInt64.max, Int64.min, -1, Double.nan, Double.infinity, 1e300, 0.5, randomText(), "",
            Data(),
            Data([0xff, 0xfe]), Date(timeIntervalSinceReferenceDate: .nan), Date.distantPast, UUID(), NSObject(),
            URL(fileURLWithPath: "/"), Set([1]), key as Any, "m_LimitAll", "m_LimitOne", "syna", "u_AuthUIF",
            "u_AuthUIS", "dk",
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAlways, [], nil) as Any,
        ]
        return pick(unfitting)
    }

    private mutating func context() -> LAContext {
        let context = LAContext()
        context.interactionNotAllowed = chance(of: 2)
        context.localizedReason = randomText()
        if chance(of: 3) { context.invalidate() }
        return context
    }

    private mutating func randomText() -> String {
        let scalars = (0..<Int.random(in: 0...6, using: &generator)).compactMap { _ in
            Unicode.Scalar(UInt32.random(in: 0...0x2_0000, using: &generator))
        }
        return String(String.UnicodeScalarView(scalars))
    }

    private mutating func chance(of one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &generator)! }

    /// Keys of every kind, and some that are close to one.
    private static let keys = [
        "class", "acct", "svce", "gena", "srvr", "ptcl", "atyp", "port", "path", "sdmn", "labl", "desc", "icmt", "crtr",
        "type",
        "invi", "nega", "cdat", "mdat", "agrp", "pdmn", "accc", "sync", "tkid", "toid", "kcls", "klbl", "atag", "bsiz",
        "esiz",
        "perm", "encr", "sign", "ctyp", "cenc", "subj", "issr", "slnr", "skid", "pkhh", "clip", "tomb", "musr", "UUID",
        "nleg",
        "m_Limit", "m_Policy", "m_Issuers", "m_TrustedOnly", "m_ValidOnDate", "m_HostOrSubdomainOfHost", "m_ItemList",
        "r_Data", "r_Attributes", "r_Ref", "r_PersistentRef", "v_Data", "v_Ref", "v_PersistentRef", "u_OpPrompt",
        "u_NoAuthUI", "u_AuthUI", "u_AuthCtx", "u_CredRef", "u_ItemList", "u_Keychain", "persistref", "m_", "r_",
        "Acct", "acct ",
    ]
}
