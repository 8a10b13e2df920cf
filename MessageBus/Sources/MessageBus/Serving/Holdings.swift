/// A file that a process executes, told apart from every other one. It only says whose share something counts to: a process can execute
/// another file meanwhile, and a user can copy a program.
public struct CallerFile: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    public init(device: UInt64, inode: UInt64) { (self.device, self.inode) = (device, inode) }
}

/// Who holds something of a service: a connection, the process that made it, and the program that the process executes.
public struct Holder: Hashable, Sendable {
    public let peer: String
    /// Processes that the bus does not know count as one.
    public let processID: Int32?
    /// Programs that may not be looked at count as one.
    public let program: CallerFile?

    public init(peer: String, processID: Int32?, program: CallerFile?) {
        (self.peer, self.processID, self.program) = (peer, processID, program)
    }

    /// A holder of what stays when connections and processes end.
    public init(ofProgram program: CallerFile?) { self.init(peer: "", processID: nil, program: program) }
}

/// How much of something one holder may have, and all together: so that nobody keeps the others out.
public struct HolderLimits: Equatable, Sendable {
    public var ofPeer: Int
    public var ofProcess: Int
    public var ofProgram: Int
    public var total: Int

    public init(ofPeer: Int = .max, ofProcess: Int = .max, ofProgram: Int = .max, total: Int = .max) {
        (self.ofPeer, self.ofProcess, self.ofProgram, self.total) = (ofPeer, ofProcess, ofProgram, total)
    }
}

/// Whose limit is reached.
public enum ReachedLimit: Error, Equatable, Sendable {
    case ofPeer(Int)
    case ofProcess(Int)
    case ofProgram(Int)
    case total(Int)

    /// For example “This connection has 64 sessions already.”
    public func words(_ things: String) -> String {
        switch self {
        case .ofPeer(let count): "This connection has \(count) \(things) already."
        case .ofProcess(let count): "This process has \(count) \(things) already."
        case .ofProgram(let count): "The processes of this program have \(count) \(things) already."
        case .total(let count): "All programs together have \(count) \(things) already."
        }
    }
}

/// How much of something each holder has.
public struct Holdings: Equatable, Sendable {
    public let limits: HolderLimits
    private var ofPeer: [String: Int] = [:]
    private var ofProcess: [Int32?: Int] = [:]
    private var ofProgram: [CallerFile?: Int] = [:]
    public private(set) var total = 0

    public init(_ limits: HolderLimits) { self.limits = limits }

    /// What the holder may still take.
    public func left(for holder: Holder) -> Int {
        min(
            limits.ofPeer - ofPeer[holder.peer, default: 0],
            limits.ofProcess - ofProcess[holder.processID, default: 0],
            limits.ofProgram - ofProgram[holder.program, default: 0], limits.total - total)
    }

    /// Takes `count` of it, or nothing if that is more than the holder may.
    public mutating func take(_ count: Int = 1, for holder: Holder) throws(ReachedLimit) {
        if let reached = limit(thatKeeps: count, from: holder) { throw reached }
        add(count, to: holder)
    }

    /// Gives back what was taken.
    public mutating func giveBack(_ count: Int = 1, of holder: Holder) { add(-count, to: holder) }

    private func limit(thatKeeps count: Int, from holder: Holder) -> ReachedLimit? {
        guard count > left(for: holder) else { return nil }
        if count > limits.ofPeer - ofPeer[holder.peer, default: 0] { return .ofPeer(limits.ofPeer) }
        if count > limits.ofProcess - ofProcess[holder.processID, default: 0] { return .ofProcess(limits.ofProcess) }
        if count > limits.ofProgram - ofProgram[holder.program, default: 0] { return .ofProgram(limits.ofProgram) }
        return .total(limits.total)
    }

    /// Takes `count` of it whatever the limits say: for what was there before.
    public mutating func add(_ count: Int, to holder: Holder) {
        // Where there is no limit nobody needs to know the count.
        if limits.ofPeer != .max { Self.add(count, to: &ofPeer, holder.peer) }
        if limits.ofProcess != .max { Self.add(count, to: &ofProcess, holder.processID) }
        if limits.ofProgram != .max { Self.add(count, to: &ofProgram, holder.program) }
        total += count
    }

    /// A holder that has nothing is forgotten.
    private static func add<Key: Hashable>(_ count: Int, to counts: inout [Key: Int], _ key: Key) {
        let sum = counts[key, default: 0] + count
        counts[key] = sum == 0 ? nil : sum
    }
}
