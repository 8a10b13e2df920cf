import PAMProtocol
import PromptProtocol
import Testing

/// The bytes between daemon and helper.
@Suite struct MessageTests {
    static let request = PAMRequest(service: "face", folder: "/etc/pam.d", user: nil, trustedUserID: 0)

    @Test func `a request has fixed bytes`() throws {
        let head = [2, 0, 4] + Array("face".utf8) + [0, 10] + Array("/etc/pam.d".utf8)
        #expect(Self.request.bytes == head + [0, 0, 0, 0, 0, 0])
        #expect(PAMRequest(decoding: head + [0, 0, 0, 0, 0, 0]) == Self.request)
        let named = PAMRequest(service: "face", folder: "/etc/pam.d", user: "ada", trustedUserID: 0)
        #expect(named.bytes == head + [0, 3] + Array("ada".utf8) + [0, 0, 0, 0])
        #expect(PAMRequest(decoding: head + [0, 3] + Array("ada".utf8) + [0, 0, 0, 0]) == named)
    }

    @Test func `other bytes are no request`() throws {
        let bytes = try #require(Self.request.bytes)
        for count in 0..<bytes.count { #expect(PAMRequest(decoding: Array(bytes[..<count])) == nil) }
        #expect(PAMRequest(decoding: bytes + [0]) == nil)
        #expect(PAMRequest(decoding: [1] + bytes.dropFirst()) == nil)
        #expect(PAMRequest(decoding: [2, 0, 1, 0xFF] + bytes.dropFirst(7)) == nil)
    }

    /// The folder's modules run with the helper's rights.
    @Test func `a sender chooses files for a helper of its own account, and for no other`() {
        let chosen = PAMRequest(service: "face", folder: "/home/ada/pam.d", user: "ada", trustedUserID: 1000)
        #expect(chosen.mayCome(from: 1000, to: 1000))
        #expect(chosen.mayCome(from: 0, to: 1000))
        #expect(!chosen.mayCome(from: 1000, to: 0))
        #expect(!chosen.mayCome(from: 1000, to: 1001))
        let other: [(folder: String, userID: UInt32)] = [
            ("/etc/pam.d", 1000), ("/home/ada/pam.d", 0), ("/etc/pam.d/", 0),
        ]
        for (folder, trusted) in other {
            let request = PAMRequest(service: "face", folder: folder, user: "ada", trustedUserID: trusted)
            #expect(!request.mayCome(from: 1000, to: 0))
        }
        #expect(Self.request.mayCome(from: 1000, to: 0))
    }

    @Test func `only root's helper and that of the machine's daemon take another user's name`() {
        let named = PAMRequest(service: "face", folder: "/etc/pam.d", user: "ada", trustedUserID: 0)
        for isActivated in [false, true] {
            for (account, isRoot, may) in [
                ("ada", false, true), ("bob", false, false), ("root", true, true), ("ostiary-pam", false, isActivated),
                ("Ostiary-pam", false, false), ("ostiary", false, false), ("", false, false),
            ] {
                #expect(named.mayName(to: account, isRoot: isRoot, isActivated: isActivated) == may)
                #expect(Self.request.mayName(to: account, isRoot: isRoot, isActivated: isActivated))
            }
        }
        // Two spellings of one name for people, and two users.
        let composed = PAMRequest(service: "face", folder: "/etc/pam.d", user: "ad\u{E1}", trustedUserID: 0)
        #expect(!composed.mayName(to: "ada\u{301}", isRoot: false, isActivated: true))
    }

    @Test func `a request that is too long is none`() {
        let name = String(repeating: "a", count: PAMRequest.maximumByteCount)
        #expect(PAMRequest(service: name, folder: "/", user: nil, trustedUserID: 0).bytes == nil)
        #expect(PAMRequest(service: "face", folder: "/", user: name, trustedUserID: 0).bytes == nil)
        #expect(PAMRequest(service: "face", folder: "/", user: "", trustedUserID: 0).bytes == nil)
    }

    static let longest = DisplayText(String(repeating: "😀", count: 300))
    static let reports: [PAMReport] =
        [.info(DisplayText("Look")), .error(DisplayText("")), .info(longest)] + PAMResult.allCases.map { .result($0) }

    @Test(arguments: reports) func `a report comes back`(_ report: PAMReport) {
        #expect(report.bytes.count <= PAMReport.maximumByteCount)
        #expect(PAMReport(decoding: report.bytes) == report)
    }

    @Test(
        arguments: [
            [], [0], [4], [3], [3, 0], [3, 10], [3, 1, 1], [1, 0xFF], [1, 0x1B, 0x5B], [2, 0x0A],
            [1] + Array("a\u{202E}b".utf8), [1] + Array(" a".utf8), [1] + [UInt8](repeating: 0x61, count: 301),
            [1] + [UInt8](repeating: 0x61, count: PAMReport.maximumByteCount),
        ] as [[UInt8]])
    func `other bytes are no report`(_ bytes: [UInt8]) {
        #expect(PAMReport(decoding: bytes) == nil)
    }
}
