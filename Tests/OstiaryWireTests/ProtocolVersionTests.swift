import CanonicalEncoding
import Foundation
import Testing

@testable import OstiaryMessages

/// Two sides of different versions agree on one, and neither misreads the other.
@Suite("Versions of the protocol") struct ProtocolVersionTests {
    private static let random = Data(1...16)

    // MARK: agreeing

    @Test func `both sides speak the newest version that both know, or none`() {
        let ranges = (1...5 as ClosedRange<UInt32>).flatMap { oldest in (oldest...5).map { oldest...$0 } }
        for own in ranges {
            for other in ranges {
                let expected = own.filter { other.contains($0) }.max()
                #expect(ProtocolVersions(own).newestCommon(with: ProtocolVersions(other)) == expected)
            }
        }
    }

    @Test func `versions are written for people`() {
        #expect("\(ProtocolVersions(7...7))" == "7")
        #expect("\(ProtocolVersions(7...9))" == "7 to 9")
    }

    @Test func `a greeting tells its versions, and one of a single version is that of former daemons`() throws {
        let greeting = WireGreeting(ProtocolVersions(7...9), random: Self.random)
        let read = try WireGreeting(canonicalBytes: greeting.canonicalBytes)
        #expect(read.versions == ProtocolVersions(7...9))
        let former = WireGreeting.with { ($0.oldestVersion, $0.nonce) = (7, Self.random) }
        #expect(former.versions == ProtocolVersions(7...7))
    }

    @Test func `a newest version below the oldest counts as none, and later bytes of the nonce say nothing`() {
        let backwards = WireGreeting.with { ($0.oldestVersion, $0.nonce) = (7, Self.random + [6]) }
        #expect(backwards.versions == ProtocolVersions(7...7))
        let longer = WireGreeting.with { ($0.oldestVersion, $0.nonce) = (7, Self.random + [9, 200]) }
        #expect(longer.versions == ProtocolVersions(7...9))
    }

    @Test func `the versions of this build fit into a greeting, and the one before the newest is spoken`() throws {
        let own = ProtocolVersions.ofThisBuild
        #expect(own.newest < 128 && own.contains(own.newest - 1))
        let greeting = WireGreeting(own, random: Self.random)
        #expect(try WireGreeting(canonicalBytes: greeting.canonicalBytes).versions == own)
    }

    // MARK: fields

    private static let find = WireRequest.with {
        $0.id = 5
        $0.body = .findItems(.with { ($0.use.expectsQuestion, $0.begin, $0.listsLocked) = (true, 3, true) })
    }

    @Test func `a field that came with a version is neither written nor read in an older one`() throws {
        let (former, present) = (try Self.find.canonicalBytes(in: 7), try Self.find.canonicalBytes(in: 8))
        #expect(former.count == present.count - 2)
        #expect(former.suffix(8) == [0, 0, 0, 0, 0, 0, 0, 3])
        #expect(present.suffix(10) == [1, 0, 0, 0, 0, 0, 0, 0, 3, 1])
        var expected = Self.find
        expected.body = .findItems(.with { $0.begin = 3 })
        #expect(try WireRequest(canonicalBytes: former, in: 7) == expected)
        #expect(try WireRequest(canonicalBytes: present, in: 8) == Self.find)
    }

    @Test func `a message of another version is refused and not misread`() throws {
        #expect(throws: CanonicalEncodingError.truncated) {
            try WireRequest(canonicalBytes: Self.find.canonicalBytes(in: 7), in: 8)
        }
        #expect(throws: CanonicalEncodingError.trailingBytes) {
            try WireRequest(canonicalBytes: Self.find.canonicalBytes(in: 8), in: 7)
        }
    }

    @Test func `a status of version 8 says nothing of the login`() throws {
        let status = WireReply.with {
            ($0.id, $0.body) = (1, .status(.with { ($0.passcode.login, $0.rights.count) = (.follows, 3) }))
        }
        var former = status
        former.body = .status(.with { $0.rights.count = 3 })
        let bytes = try status.canonicalBytes(in: 8)
        #expect(try status.canonicalBytes(in: 9).count == bytes.count + 4)
        #expect(try WireReply(canonicalBytes: bytes, in: 8) == former)
        #expect(try WireReply(canonicalBytes: status.canonicalBytes(in: 9), in: 9) == status)
    }

    @Test(arguments: ProtocolVersions.ofThisBuild.oldest...ProtocolVersions.ofThisBuild.newest)
    func `in each version a message has one encoding`(version: UInt32) throws {
        for request in Samples.requests(seed: 7, ofEach: 16) {
            let oldest = max(request.body?.oldestVersion ?? 0, request.onBehalf == nil ? 0 : WireRequest.clientVersion)
            guard oldest <= version else { continue }
            let bytes = try request.canonicalBytes(in: version)
            #expect(try WireRequest(canonicalBytes: bytes, in: version).canonicalBytes(in: version) == bytes)
        }
        for reply in Samples.replies(seed: 7, ofEach: 16) {
            guard (reply.body?.oldestVersion ?? 0) <= version else { continue }
            let bytes = try reply.canonicalBytes(in: version)
            #expect(try WireReply(canonicalBytes: bytes, in: version).canonicalBytes(in: version) == bytes)
        }
    }

    // MARK: requests

    @Test func `a watch of items is no request of version 7, and its answer no answer`() throws {
        let watch = WireRequest.with { ($0.id, $0.body) = (1, .watchItems(.init())) }
        let news = WireReply.with { ($0.id, $0.body) = (1, .itemNews(.init())) }
        #expect(try WireRequest(canonicalBytes: watch.canonicalBytes(in: 8), in: 8) == watch)
        #expect(try WireReply(canonicalBytes: news.canonicalBytes(in: 8), in: 8) == news)
        #expect(throws: CanonicalEncodingError.unknownChoice) {
            try WireRequest(canonicalBytes: watch.canonicalBytes(in: 8), in: 7)
        }
        #expect(throws: CanonicalEncodingError.unknownChoice) {
            try WireReply(canonicalBytes: news.canonicalBytes(in: 8), in: 7)
        }
    }

    @Test func `a request says in which version it would lose its meaning`() {
        #expect(WireRequest.OneOf_Body.watchItems(.init()).oldestVersion == 8)
        #expect(WireRequest.OneOf_Body.findItems(.with { $0.listsLocked = true }).oldestVersion == 8)
        #expect(WireRequest.OneOf_Body.findItems(.with { $0.also = [Self.random] }).oldestVersion == 9)
        #expect(WireRequest.OneOf_Body.findItems(.with { $0.use.expectsQuestion = true }).oldestVersion == 7)
    }

    @Test func `requests of the administrator, migrations, leases and their answers are none of version 8`() throws {
        let requests: [WireRequest.OneOf_Body] = [
            .adminUsers(.init()), .adminLog(.init()), .forgetUser(.init()), .importStore(.init()),
            .grantLease(.init()), .listLeases(.init()), .revokeLeases(.init()),
        ]
        for body in requests {
            let request = WireRequest.with { ($0.id, $0.body) = (1, body) }
            #expect(body.oldestVersion == 9)
            #expect(try WireRequest(canonicalBytes: request.canonicalBytes(in: 9), in: 9) == request)
            #expect(throws: CanonicalEncodingError.unknownChoice) {
                try WireRequest(canonicalBytes: request.canonicalBytes(in: 9), in: 8)
            }
        }
        let replies: [WireReply.OneOf_Body] = [
            .adminUsers(.init()), .adminLogPage(.init()), .importOutcome(.init()), .lease(.init()), .leases(.init()),
        ]
        for body in replies {
            let reply = WireReply.with { ($0.id, $0.body) = (1, body) }
            #expect(try WireReply(canonicalBytes: reply.canonicalBytes(in: 9), in: 9) == reply)
            #expect(throws: CanonicalEncodingError.unknownChoice) {
                try WireReply(canonicalBytes: reply.canonicalBytes(in: 9), in: 8)
            }
        }
    }

    @Test func `an update of version 9 replaces no free attributes`() throws {
        let update = WireRequest.with {
            ($0.id, $0.body) = (1, .updateItems(.with { ($0.replacesData, $0.replacesFreeAttributes) = (true, true) }))
        }
        var former = update
        former.body = .updateItems(.with { $0.replacesData = true })
        let bytes = try update.canonicalBytes(in: 9)
        #expect(try update.canonicalBytes(in: 10) == bytes + [1])
        #expect(try WireRequest(canonicalBytes: bytes, in: 9) == former)
        #expect(try WireRequest(canonicalBytes: update.canonicalBytes(in: 10), in: 10) == update)
        #expect(throws: CanonicalEncodingError.trailingBytes) { try WireRequest(canonicalBytes: bytes + [1], in: 9) }
    }

    @Test func `a deletion of version 9 brings no question`() throws {
        let deletion = WireRequest.with {
            ($0.id, $0.body) = (1, .deleteItems(.with { ($0.query.itemClass, $0.use.contextID) = ("genp", 7) }))
        }
        var former = deletion
        former.body = .deleteItems(.with { $0.query.itemClass = "genp" })
        let bytes = try deletion.canonicalBytes(in: 9)
        #expect(try former.canonicalBytes(in: 9) == bytes)
        #expect(try WireRequest(canonicalBytes: bytes, in: 9) == former)
        let newer = try deletion.canonicalBytes(in: 10)
        #expect(newer.starts(with: bytes) && newer.count > bytes.count)
        #expect(try WireRequest(canonicalBytes: newer, in: 10) == deletion)
        #expect(throws: CanonicalEncodingError.trailingBytes) { try WireRequest(canonicalBytes: newer, in: 9) }
    }

    @Test func `items with free attributes are for no daemon of version 9, whatever is asked`() {
        let query = WireItemQuery.with { $0.itemClass = "free" }
        let bodies: [WireRequest.OneOf_Body] = [
            .addItem(.with { $0.itemClass = "free" }), .findItems(.with { $0.query = query }),
            .findItems(.with { ($0.query, $0.listsLocked) = (query, true) }),
            .findItems(.with { ($0.query, $0.also) = (query, [Self.random]) }),
            .updateItems(.with { $0.query = query }), .updateItems(.with { $0.replacesFreeAttributes = true }),
            .deleteItems(.with { $0.query = query }), .deleteItems(.with { $0.also = [.init(), query] }),
            .watchItems(.with { $0.queries = [.init(), query] }),
        ]
        for body in bodies { #expect(body.oldestVersion == 10) }
        #expect(WireRequest.OneOf_Body.updateItems(.with { $0.query.itemClass = "genp" }).oldestVersion == 7)
        #expect(WireRequest.OneOf_Body.deleteItems(.with { $0.query.itemClass = "genp" }).oldestVersion == 7)
    }

    /// A choice whose second message came with version 8.
    private enum Choice: WireChoice, Equatable {
        case former(UInt32)
        case later(UInt32)

        func write(to writer: inout FieldWriter) {
            switch self {
            case .former(let message): writer.write(choice: 1, message)
            case .later(let message): writer.write(choice: 2, message)
            }
        }

        init?(number: UInt8, from reader: inout FieldReader) {
            let choice: Self? =
                switch number {
                case 1: reader.choice(Self.former)
                case 2: reader.choice(since: 8, Self.later)
                default: nil
                }
            guard let choice else { return nil }
            self = choice
        }
    }

    private static func read(_ bytes: [UInt8], in version: UInt32) throws -> Choice {
        try bytes.withUnsafeBytes { bytes in
            var reader = FieldReader(bytes, in: version)
            let choice = Choice.read(from: &reader)
            return try reader.finish(with: choice)
        }
    }

    @Test func `a message that is newer than the agreed version is unknown`() throws {
        #expect(try Self.read([2, 0, 0, 0, 5], in: 8) == .later(5))
        #expect(throws: CanonicalEncodingError.unknownChoice) { try Self.read([2, 0, 0, 0, 5], in: 7) }
        #expect(try Self.read([1, 0, 0, 0, 5], in: 7) == .former(5))
        #expect(try Self.read([1, 0, 0, 0, 5], in: 8) == .former(5))
    }
}

extension WireReply.OneOf_Body {
    /// The version with which the answer came.
    fileprivate var oldestVersion: UInt32 {
        switch self {
        case .itemNews: 8
        case .adminUsers, .adminLogPage, .importOutcome, .lease, .leases: 9
        default: 7
        }
    }
}
