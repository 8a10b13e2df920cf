import Foundation
import Testing

@testable import RelyingParty

@Suite struct ClientDataTests {
    private func error(_ json: String) -> ClientDataError? { error(Data(json.utf8)) }

    private func error(_ json: Data) -> ClientDataError? {
        do {
            _ = try ClientData(json)
            return nil
        } catch {
            return error
        }
    }

    private static let sample =
        #"{"type":"webauthn.get","challenge":"AQ","origin":"https://example.org","crossOrigin":true,"topOrigin":"https://example.com"}"#

    @Test func `the members are read`() throws {
        let data = try ClientData(Data(Self.sample.utf8))
        #expect(data.type == "webauthn.get" && data.challenge == "AQ" && data.origin == "https://example.org")
        #expect(data.isCrossOrigin && data.topOrigin == "https://example.com")
    }

    /// Apple's own client sends three members.
    @Test func `a missing crossOrigin means no`() throws {
        let data = try ClientData(Data(#"{"type":"t","challenge":"c","origin":"o"}"#.utf8))
        #expect(!data.isCrossOrigin && data.topOrigin == nil)
    }

    @Test func `members without meaning, spaces and a byte order mark are taken`() throws {
        let json = """
            \u{FEFF} { "extra" : [ 1 , -0.5e+3 , {"type":null,"type":[ ]} , "\\u00e9\\n" ] ,
            "type" : "t" , "challenge" : "c" , "origin":"o" , "x":{ } }\n
            """
        #expect(error(json) == nil)
    }

    @Test func `escapes in strings are read`() throws {
        let json = #"{"type":"\u0074\"\\\/\b\f\n\r\t","challenge":"\uD83D\uDE00","origin":"é\u00e9"}"#
        let data = try ClientData(Data(json.utf8))
        #expect(data.type == "t\"\\/\u{8}\u{C}\n\r\t" && data.challenge == "😀" && data.origin == "éé")
    }

    @Test func `each truncation is refused`() {
        for count in 0..<Self.sample.utf8.count {
            #expect(error(Data(Self.sample.utf8.prefix(count))) == .notJSON(offset: count))
        }
    }

    @Test func `each member that must be there is missed`() {
        let members = [("type", #""type":"t""#), ("challenge", #""challenge":"c""#), ("origin", #""origin":"o""#)]
        for (name, _) in members {
            let rest = members.filter { $0.0 != name }.map(\.1).joined(separator: ",")
            #expect(error("{\(rest)}") == .missing(ClientDataMember(rawValue: name)!))
        }
        #expect(error("{}") == .missing(.type))
    }

    @Test func `a member of another type is refused`() {
        let valid = [
            "type": #""t""#, "challenge": #""c""#, "origin": #""o""#, "crossOrigin": "false", "topOrigin": #""p""#,
        ]
        for member in ClientDataMember.allCases {
            for other in ["1", "null", "[]", "{}", member == .crossOrigin ? #""true""# : "true"] {
                let members = valid.merging([member.rawValue: other]) { $1 }
                let json = members.map { "\"\($0)\":\($1)" }.joined(separator: ",")
                #expect(error("{\(json)}") == .mistyped(member))
            }
        }
    }

    @Test func `a member that stands twice is refused`() {
        let three = #""type":"t","challenge":"c","origin":"o""#
        for member in ClientDataMember.allCases {
            let twice = "\"\(member.rawValue)\":\"x\",\"\(member.rawValue)\":\"x\""
            #expect(error("{\(twice),\(three)}") == .repeated(member))
        }
        #expect(error(#"{"a":1,\#(three),"a":1}"#) == .repeated(nil))
        // The same name, written in another way.
        #expect(error(#"{\#(three),"\u006frigin":"p"}"#) == .repeated(.origin))
    }

    @Test(arguments: [
        ("", 0), ("[]", 0), ("null", 0), (#"{"a":1,}"#, 7), (#"{"a" 1}"#, 5), (#"{a:1}"#, 1), (#"{"a":01}"#, 6),
        (#"{"a":+1}"#, 5), (#"{"a":.5}"#, 5), (#"{"a":1.}"#, 7), (#"{"a":1e}"#, 7), (#"{"a":-}"#, 6),
        (#"{"a":tru}"#, 8),
        (#"{"a":True}"#, 5), (#"{"a":[1,]}"#, 8), (#"{"a":[1 2]}"#, 8), (#"{"a":{"b"}}"#, 9), (#"{} {}"#, 3),
        (#"{"a":"\x"}"#, 7), (#"{"a":"\u12"}"#, 10), (#"{"a":"\uD800"}"#, 12), (#"{"a":"\uD800\u0041"}"#, 18),
        (#"{"a":"\uDC00"}"#, 12), ("{\"a\":\"\n\"}", 6), ("{\"a\":\"\\n\u{1}\"}", 8), (#"{'a':1}"#, 1),
        (#"{"a":NaN}"#, 5), ("{}\u{0}", 2), ("{\u{FEFF}}", 1),
    ])
    func `text that is no JSON object is refused`(_ json: String, _ offset: Int) {
        #expect(error(json) == .notJSON(offset: offset))
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] as [[UInt8]] {
            var json = Data(#"{"type":""#.utf8)
            json.append(contentsOf: bytes)
            json.append(contentsOf: #""}"#.utf8)
            #expect(error(json) == .notUTF8)
        }
        #expect(error(Data(Self.sample.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })) == .notJSON(offset: 1))
    }

    @Test func `eight levels are read, nine are not`() {
        let three = #""type":"t","challenge":"c","origin":"o""#
        func nested(_ depth: Int) -> String {
            let lists = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return #"{\#(three),"a":\#(lists)}"#
        }
        #expect(error(nested(7)) == nil)
        #expect(error(nested(8)) == .nestedTooDeeply)
        #expect(error(#"{"a":"# + String(repeating: #"{"b":"#, count: 1000)) == .nestedTooDeeply)
    }

    @Test func `8,192 bytes are read, one more is not`() {
        let three = #""type":"t","challenge":"c","origin":"o""#
        let frame = #"{\#(three),"a":""}"#.utf8.count
        func filled(_ count: Int) -> String { #"{\#(three),"a":"\#(String(repeating: "x", count: count - frame))"}"# }
        #expect(error(filled(8192)) == nil)
        #expect(error(filled(8193)) == .tooLong(8193))
    }
}
