package import ProcessFacts
package import UnixSocket

/// What the helper saw of a process, in one look.
package struct ProcessLook: Sendable {
    package let file: ExecutedFile
    /// Inodes of the namespaces.
    package let processNamespace, userNamespace: UInt64
    /// Effective.
    package let userID: UInt32
    /// Nil where the helper did not read them.
    package let realUserID, realGroupID: UInt32?
    /// Nil where the helper did not read it, and where the kernel keeps none.
    package let login: Login?
    /// The number of the mount on which the executed file lies; nil if the kernel does not tell it.
    package let mount: UInt64?
    /// As the kernel tells it; nil if it is no UTF-8. Its mount, and not the process, says where it begins.
    package let path: String?
    /// Of `/proc/PID/maps`, `stat` and `cgroup`; nil for what did not come along.
    package let maps, status, controlGroups: SharedDescriptor?
}

/// The login that began a process.
package struct Login: Sendable {
    /// Nil for no login.
    package let userID: UInt32?
}

/// One question to the helper.
struct IdentityQuestion {
    private enum Kind {
        case look, namesake
    }

    private let kind: Kind
    private let flags: UInt8
    private let rest: [UInt8]
    private let folder: SharedDescriptor?

    static func look(at folder: SharedDescriptor, passing: Bool) -> IdentityQuestion {
        IdentityQuestion(kind: .look, flags: passing ? 1 : 0, rest: [], folder: folder)
    }

    static func namesake(
        ofTerminal number: UInt32, besidesSession session: Int32, of userID: UInt32
    ) -> IdentityQuestion {
        let rest = bigEndian(userID) + bigEndian(number) + bigEndian(session)
        return IdentityQuestion(kind: .namesake, flags: 0, rest: rest, folder: nil)
    }

    var isLook: Bool { kind == .look }
    /// Whose time it takes, see ``HoldUps``.
    var work: HoldUps.Work { isLook ? .look : .search }
    /// Whether descriptors may come back.
    var takesDescriptors: Bool { flags != 0 }
    var descriptors: [CInt] { folder.map { [$0.number] } ?? [] }

    func bytes(serial: UInt32) -> [UInt8] {
        [isLook ? 0x49 : 0x4E, flags, 0, 0] + Self.bigEndian(serial) + rest
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        (1...number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (number.bitWidth - 8 * $0)) }
    }
}

/// One answer of the helper, in exactly the form of `Documentation/formats/identity.md`.
enum IdentityAnswer: Sendable {
    case look(ProcessLook)
    case namesake(Int32?)
    case failure(FactFailure)

    /// Bytes of an answer about a process, before the path.
    private static let headByteCount = 100
    private static let pathByteCount = 4095
    private static let namesakeByteCount = 12
    /// The most bytes of an answer.
    static let byteCount = headByteCount + pathByteCount

    /// Nil for everything else than an answer to `question`.
    init?(_ bytes: [UInt8], _ descriptors: [SharedDescriptor], to question: IdentityQuestion, serial: UInt32) {
        guard bytes.count >= 8, Self.number(bytes, 4, 4) == UInt64(serial) else { return nil }
        let answer =
            question.isLook
            ? Self.answeredLook(bytes, descriptors, takesDescriptors: question.takesDescriptors)
            : Self.answeredNamesake(bytes, descriptors)
        guard let answer else { return nil }
        self = answer
    }

    private static func answeredLook(
        _ bytes: [UInt8], _ descriptors: [SharedDescriptor], takesDescriptors: Bool
    ) -> IdentityAnswer? {
        guard bytes.count >= headByteCount, bytes[0] == 0x69 else { return nil }
        guard bytes[1] == 0 else {
            guard let failure = FactFailure(rawValue: bytes[1]), bytes.count == headByteCount, descriptors.isEmpty,
                bytes[2...3] == [0, 0], bytes[8...].allSatisfy({ $0 == 0 })
            else { return nil }
            return .failure(failure)
        }
        let path = bytes[headByteCount...]
        guard !path.isEmpty, UInt64(path.count) == number(bytes, 76, 2), !path.contains(0), number(bytes, 78, 2) == 0,
            let passed = passed(bytes[2], descriptors), takesDescriptors || descriptors.isEmpty && bytes[3] == 0,
            let realGroup = known(1, 88, bytes), let realUser = known(1, 96, bytes),
            let login = known(2, 92, bytes), bytes[3] < 4
        else { return nil }
        let mount = number(bytes, 80, 8)
        return .look(
            ProcessLook(
                file: ExecutedFile(
                    device: number(bytes, 8, 8), inode: number(bytes, 16, 8), isDeleted: number(bytes, 24, 4) == 0),
                processNamespace: number(bytes, 56, 8), userNamespace: number(bytes, 64, 8),
                userID: UInt32(number(bytes, 72, 4)), realUserID: realUser, realGroupID: realGroup,
                login: login.map { Login(userID: $0 == .max ? nil : $0) }, mount: mount == 0 ? nil : mount,
                path: String(validating: path, as: UTF8.self),
                maps: passed[0], status: passed[1], controlGroups: passed[2]))
    }

    /// A number that stands at `offset` only if the answer says so with `bit`; nil for other bytes.
    private static func known(_ bit: UInt8, _ offset: Int, _ bytes: [UInt8]) -> UInt32?? {
        let value = UInt32(number(bytes, offset, 4))
        guard bytes[3] & bit == 0 else { return .some(value) }
        return value == 0 ? .some(nil) : nil
    }

    /// The descriptors in their places; nil when they are not as many as the bits.
    private static func passed(_ bits: UInt8, _ descriptors: [SharedDescriptor]) -> [SharedDescriptor?]? {
        guard bits < 8, bits.nonzeroBitCount == descriptors.count else { return nil }
        var rest = descriptors[...]
        let order: [UInt8] = [1, 2, 4]
        return order.map { bit -> SharedDescriptor? in bits & bit == 0 ? nil : rest.removeFirst() }
    }

    private static func answeredNamesake(_ bytes: [UInt8], _ descriptors: [SharedDescriptor]) -> IdentityAnswer? {
        guard bytes.count == namesakeByteCount, descriptors.isEmpty, bytes[0] == 0x6E, bytes[2] == 0, bytes[3] == 0
        else { return nil }
        let process = number(bytes, 8, 4)
        switch bytes[1] {
        case 0 where process == 0: return .namesake(nil)
        case 1:
            guard let processID = Int32(exactly: process), processID > 0 else { return nil }
            return .namesake(processID)
        case 2 where process == 0: return .failure(.refused)
        default: return nil
        }
    }

    private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
        bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
