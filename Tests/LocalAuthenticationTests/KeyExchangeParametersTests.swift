import KeyAlgorithms
import LocalAuthentication
import Security
import Testing

@Suite struct KeyExchangeParametersTests {
    private static let info = Data([1, 2, 3])

    private func expectParsed(_ dictionary: [AnyHashable: Any]) throws {
        let parameters = try KeyExchangeParameters(dictionary)
        #expect(parameters.requestedSize == 32)
        #expect(parameters.sharedInfo == Self.info)
    }

    @Test func `keys may be parameters, strings or Foundation strings`() throws {
        let typed: [SecKeyKeyExchangeParameter: Any] = [.requestedSize: 32, .sharedInfo: Self.info]
        try expectParsed(typed)
        try expectParsed([SecKeyKeyExchangeParameter.requestedSize.rawValue: 32, "sharedInfo": Self.info])
        try expectParsed(["requestedSize": 32, "sharedInfo" as NSString: Self.info])
    }

    @Test func `numbers and data may be Foundation's`() throws {
        try expectParsed(["requestedSize": NSNumber(value: 32), "sharedInfo": Self.info as NSData])
        try expectParsed(["requestedSize": UInt8(32), "sharedInfo": Self.info])
        try expectParsed(["requestedSize": Int64(32), "sharedInfo": Self.info])
    }

    @Test func `absent entries stay absent and unknown ones are ignored`() throws {
        let parameters = try KeyExchangeParameters(["other": 1, 7: "seven"])
        #expect(parameters.requestedSize == nil)
        #expect(parameters.sharedInfo.isEmpty)
    }

    @Test func `a size that is no whole number is refused`() {
        for value in ["32", 1.5, NSNumber(value: 1.5), UInt64.max, Self.info, NSNull()] as [Any] {
            #expect(throws: KeyAlgorithmError.invalidParameter(.requestedSize)) {
                try KeyExchangeParameters(["requestedSize": value])
            }
        }
    }

    @Test func `shared info that is no data is refused`() {
        for value in ["info", 1, [UInt8(1)], NSNull()] as [Any] {
            #expect(throws: KeyAlgorithmError.invalidParameter(.sharedInfo)) {
                try KeyExchangeParameters(["sharedInfo": value])
            }
        }
    }

    @Test func `an entry that two spellings name is refused`() {
        #expect(throws: KeyAlgorithmError.invalidParameter(.requestedSize)) {
            try KeyExchangeParameters(["requestedSize": 16, SecKeyKeyExchangeParameter.requestedSize: 32])
        }
    }
}
