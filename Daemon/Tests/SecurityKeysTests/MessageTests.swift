import CTAPHID
import Glibc
import KeyDevices
import SecretMemory
import SecurityKeyProtocol
import Testing
import UnixSocket

@testable import SecurityKeys

/// The bytes between daemon and helper, and the daemon's own reading of keys.
@Suite struct MessageTests {
    private static let creation: KeyCreation = {
        var creation = KeyCreation(
            clientDataHash: [UInt8](repeating: 1, count: 32), relyingParty: "example.com", relyingPartyName: "Example",
            userHandle: [1, 2], userName: "ada", userDisplayName: "Ada", algorithm: -7)
        creation.excluded = [[1], [2, 3]]
        creation.protection = 3
        creation.wantsHMACSecret = true
        return creation
    }()

    private static let assertion: KeyAssertion = {
        var assertion = KeyAssertion(clientDataHash: [UInt8](repeating: 2, count: 32), relyingParty: "example.com")
        assertion.appID = "https://example.com"
        assertion.allowed = [.init([1]), .init([2], salts: [UInt8](repeating: 3, count: 32))]
        assertion.salts = [UInt8](repeating: 4, count: 64)
        assertion.largeBlob = .write([1, 2, 3])
        return assertion
    }()

    static let requests: [KeyRequest] = [
        .describe, .select, .create(creation), .assert(assertion), .setPIN, .changePIN(currentByteCount: 4), .cancel,
    ]

    @Test(arguments: requests) func `a request comes back, and nothing shorter or longer does`(_ request: KeyRequest) {
        let bytes = request.bytes
        #expect(KeyRequest(decoding: bytes) == request)
        for count in 0..<bytes.count { #expect(KeyRequest(decoding: Array(bytes[..<count])) == nil) }
        #expect(KeyRequest(decoding: bytes + [0]) == nil)
        #expect(KeyRequest(decoding: [2] + bytes.dropFirst()) == nil)
    }

    private static let description: KeyDescription = {
        var description = KeyDescription()
        description.isFIDO2 = true
        description.algorithms = [-7, -8]
        description.transports = ["usb", "nfc"]
        description.features = [.hasPIN, .hmacSecret]
        description.pinTries = 8
        return description
    }()

    private static func result(_ blob: KeyAssertionResult.LargeBlob) -> KeyAssertionResult {
        KeyAssertionResult(
            credentialIdentifier: [1], authenticatorData: [2], signature: [3], userHandle: [4], userName: "ada",
            userDisplayName: "Ada", usedAppID: true, outputByteCount: 32, largeBlob: blob)
    }

    static let reports: [KeyReport] = [
        .description(description), .touched, .done, .failed(KeyFailure(code: -2, isGone: true)),
        .created(
            CreatedKeyCredential(
                identifier: [1], format: "packed", statement: [0xA0], authenticatorData: [2], hasLargeBlobKey: true)),
        .asserted([result(.none), result(.absent), result(.written), result(.notWritten), result(.blob([9]))]),
    ]

    @Test(arguments: reports) func `a report comes back, and nothing shorter or longer does`(_ report: KeyReport) {
        let bytes = report.bytes
        #expect(KeyReport(decoding: bytes) == report)
        for count in 0..<bytes.count { #expect(KeyReport(decoding: Array(bytes[..<count])) == nil) }
        #expect(KeyReport(decoding: bytes + [0]) == nil)
        #expect(KeyReport(decoding: [0] + bytes.dropFirst()) == nil)
    }

    @Test func `no change of one byte makes the helper's report trap`() {
        for report in Self.reports {
            let bytes = report.bytes
            for index in bytes.indices {
                for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                    var changed = bytes
                    changed[index] = value
                    guard let decoded = KeyReport(decoding: changed) else { continue }
                    #expect(decoded.bytes == changed)
                }
            }
        }
    }

    @Test func `a frame carries its secret, and what is too long is not sent`() throws {
        let ends = try ChannelPair()
        let isSent = SecurityKeyFrame([1, 2], secret: SecretBytes(random: 64)).send(on: ends.left.number)
        #expect(isSent)
        guard let frame = SecurityKeyFrame.receive(on: ends.right.number) else { throw NoFrame() }
        let (message, count) = (frame.message, frame.secret.count)
        #expect(message == [1, 2])
        #expect(count == 64)
        let long = SecurityKeyFrame([UInt8](repeating: 0, count: SecurityKeyLimits.messageByteCount + 1))
        let isLongSent = long.send(on: ends.left.number)
        #expect(!isLongSent)
    }

    @Test(
        arguments: [
            [0], [0, 0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 1],
            [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
        ] as [[UInt8]])
    func `what is no frame is not taken`(_ bytes: [UInt8]) throws {
        let ends = try ChannelPair()
        ends.left.send(bytes)
        let isTaken = SecurityKeyFrame.receive(on: ends.right.number) != nil
        #expect(!isTaken)
    }

    struct NoFrame: Error {}

    // MARK: names

    private static let opening: [UInt8] = [0x4F, 0, 0, 0x03, 0xE8, 7] + Array("hidraw3".utf8)

    @Test func `a name and a user are told in these bytes`() throws {
        let name = try #require(HIDRawName("hidraw3".utf8))
        #expect(KeyOpening(name, for: 1000).bytes == Self.opening)
        #expect(KeyOpening(decoding: Self.opening) == KeyOpening(name, for: 1000))
        for count in 0..<Self.opening.count { #expect(KeyOpening(decoding: Array(Self.opening[..<count])) == nil) }
        #expect(KeyOpening(decoding: Self.opening + [0]) == nil)
        #expect(KeyOpening(decoding: [0x4E] + Self.opening.dropFirst()) == nil)
    }

    @Test(arguments: ["hidraw0", "hidraw9", "hidraw10", "hidraw999"]) func `the kernel has such devices`(_ name: String)
    {
        #expect(HIDRawName(name.utf8)?.text == name)
    }

    @Test(
        arguments: [
            "", "hidraw", "hidraw03", "hidraw1234", "hidraw-1", "hidraw+1", "hidraw3 ", "hidraw3/", "hidraw3\0",
            "hidrawa",
            "Hidraw3", "uhid", "../hidraw3", "hidraw/../null", "/dev/hidraw3", "hidraw\u{663}",
        ])
    func `another name is none`(_ name: String) {
        #expect(HIDRawName(name.utf8) == nil)
        let bytes = [0x4F, 0, 0, 0, 0, UInt8(name.utf8.count)] + Array(name.utf8)
        #expect(KeyOpening(decoding: bytes) == nil)
    }

    @Test(arguments: [(0, [0x6F, 0, 0]), (13, [0x6F, 0, 13]), (4095, [0x6F, 0x0F, 0xFF])] as [(Int32, [UInt8])])
    func `the answer has a number`(_ code: Int32, _ bytes: [UInt8]) {
        #expect(KeyOpeningAnswer(code: code).bytes == bytes)
        #expect(KeyOpeningAnswer(decoding: bytes) == KeyOpeningAnswer(code: code))
    }

    @Test func `other bytes are no answer, and no error looks like none`() {
        for bytes in [[], [0x6F], [0x6F, 0], [0x6F, 0, 0, 0], [0x4F, 0, 0]] as [[UInt8]] {
            #expect(KeyOpeningAnswer(decoding: bytes) == nil)
        }
        #expect(KeyOpeningAnswer(code: -1).bytes == [0x6F, 0xFF, 0xFF])
        #expect(KeyOpeningAnswer(code: 65536).bytes == [0x6F, 0xFF, 0xFF])
    }

    // MARK: HID

    /// Of a real key: usage page F1D0, usage 1.
    private static let fido: [UInt8] = [
        0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40,
        0x81,
        0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xC0,
    ]

    @Test func `a report descriptor of a key is known`() { #expect(HIDReportDescriptor(Self.fido).isFIDO) }

    @Test func `this machine's own device has the descriptor of a key`() {
        #expect(HIDReportDescriptor(HIDDevice.reportDescriptor).isFIDO)
    }

    @Test(
        arguments: [
            [], [0x06], [0x06, 0xD0], [0x06, 0xD0, 0xF1], [0x06, 0xD0, 0xF1, 0x09],
            [0x05, 0x01, 0x09, 0x06, 0xA1, 0x01],
            [0x06, 0xD0, 0xF1, 0x09, 0x02], [0x06, 0xD1, 0xF1, 0x09, 0x01], [0xFE, 0x06, 0xD0, 0xF1], [0x09, 0x01],
            [0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0xC0] + fido,
        ] as [[UInt8]])
    func `another device is none`(_ bytes: [UInt8]) { #expect(!HIDReportDescriptor(bytes).isFIDO) }
}

/// A pair of sockets that keep messages apart.
private struct ChannelPair: ~Copyable {
    let left: Descriptor
    let right: Descriptor

    init() throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        left = Descriptor(owning: ends[0])
        right = Descriptor(owning: ends[1])
    }
}

extension Descriptor {
    fileprivate borrowing func send(_ bytes: [UInt8]) { _ = Glibc.send(number, bytes, bytes.count, CInt(MSG_NOSIGNAL)) }
}
