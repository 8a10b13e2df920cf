import CLinuxShims
import Glibc
public import UnixSocket

/// The caller of a served object, as the bus describes it. The caller chooses none of these values.
public struct BusCaller: Sendable {
    /// The unique name of the connection. The bus gives it to no other one.
    public let name: String
    /// The user of the process that connected.
    public let userID: UInt32
    /// The process that connected; nil if the bus does not know. It may have ended, and its number may be another's.
    public let processID: Int32?
    /// The same process (pidfd_open(2)), beyond doubt. Nil if the bus does not give it, as dbus-daemon before 1.15.8.
    public internal(set) var process: SharedDescriptor?

    /// The file that the process executed when this connection called for the first time: nil where that cannot be seen.
    public let program: CallerFile?

    /// Who holds what the service keeps for the caller.
    public var holder: Holder { Holder(peer: name, processID: processID, program: program) }

    /// A caller of the service's own user, or root.
    var isTrustedUser: Bool { userID == geteuid() || userID == 0 }

    /// The connection that has this name now; nil if it ended. Blocks for the answer of the bus.
    static func named(_ name: String, on bus: Bus) throws(BusError) -> BusCaller? {
        do throws(BusError) {
            return try BusCaller(name, in: bus.ask("GetConnectionCredentials", name))
        } catch {
            guard error.isNameWithoutOwner else { throw error }
            return nil
        }
    }

    /// Reads an answer of `GetConnectionCredentials` (D-Bus specification, "Message Bus Messages").
    init(_ name: String, in answer: BusMessage) throws(BusError) {
        var userID: UInt32?
        var processID: UInt32?
        var process: SharedDescriptor?
        try answer.readArray(of: "{sv}") { () throws(BusError) in
            guard try answer.enter(.dictionaryEntry, "sv") else { return }
            switch try answer.readText() {
            case "UnixUserID": userID = try answer.readVariant("u") { () throws(BusError) in try answer.readUInt32() }
            case "ProcessID": processID = try answer.readVariant("u") { () throws(BusError) in try answer.readUInt32() }
            case "ProcessFD":
                let number = try answer.readVariant("h") { () throws(BusError) in try answer.readDescriptor() }
                process = SharedDescriptor(Descriptor(owning: number))
            default: try answer.skip("v")
            }
            try answer.exitContainer()
        }
        guard let userID else { throw BusError("GetConnectionCredentials", code: EBADMSG) }
        self.name = name
        self.userID = userID
        self.processID = processID.flatMap { Int32(exactly: $0) }
        self.process = process
        program = self.processID.flatMap { CallerFile(executedBy: $0) }
    }
}

extension CallerFile {
    /// Nil where it cannot be seen, as that of a process which has ended.
    fileprivate init?(executedBy process: Int32) {
        var file = ostiary_file_identity()
        guard unsafe ostiary_identify(AT_FDCWD, "/proc/\(process)/exe", &file) == 0 else { return nil }
        self.init(device: file.device, inode: file.inode)
    }
}

extension BusMessage {
    fileprivate func readVariant<Value>(
        _ contents: String, _ body: () throws(BusError) -> Value
    ) throws(BusError) -> Value {
        guard try enter(.variant, contents) else { throw Self.endOfMessage }
        let value = try body()
        try exitContainer()
        return value
    }
}
