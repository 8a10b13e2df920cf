import Glibc
import MessageBus

/// Every limit on what programs can make the service hold or do, with its reason. The daemon has limits of its own behind them.
///
/// A program has a part of each, whatever number of processes it starts, so that the others are served. A user's program that copies itself
/// is many.
enum ServiceLimits {
    // MARK: calls

    /// Unanswered calls. A program that loads all of its items asks for the properties of each at once. Each unanswered call is some
    /// hundred bytes and what was read of it. Secrets among that lie in locked memory, of which a process has 8 MiB as a rule.
    static func bus(_ descriptors: DescriptorShare) -> ServingLimits {
        ServingLimits(
            calls: HolderLimits(ofPeer: 2048, ofProcess: 2048, ofProgram: 4096, total: 16_384),
            bytes: HolderLimits(ofProcess: 2 << 20, ofProgram: 4 << 20, total: 16 << 20), peers: descriptors.peers,
            argumentByteCount: 1 << 20)
    }
    /// Calls of the portal, which alone bring a descriptor each. It asks for one secret of an application at a time.
    static let portal = ServingLimits(
        calls: HolderLimits(ofPeer: 32, ofProcess: 32, ofProgram: 32, total: 128),
        bytes: HolderLimits(ofProgram: 256 << 10, total: 1 << 20),
        peers: HolderLimits(ofProcess: 4, ofProgram: 16, total: 64), argumentByteCount: 64 << 10, descriptorsOfCall: 1)
    /// Calls that are carried out at the same time. The daemon answers one at a time; more threads only wait for it.
    static let threadCount = 4
    /// Requests to the daemon that a call makes in one turn, where it names many objects. Then other programs have theirs.
    static let requestsOfTurn = 32
    /// Objects that one call names.
    static let objectCount = 4096
    /// Questions of one process that wait for the person, one after the other.
    static let questionCount = 16

    // MARK: programs

    /// Descriptors that the service wants to have. A process has 1,024 as a rule, and may often have more.
    static let descriptorCount = 4096
    /// Programs that the daemon keeps between their calls, beside those that proved something. It keeps 64 of a door, and 32 of the same
    /// program.
    static let presentClientCount = 24

    // MARK: what they hold

    /// Sessions. Programs open one, and some forget to close it.
    static let sessions = HolderLimits(ofPeer: 64, ofProcess: 128, ofProgram: 2048, total: 8192)
    /// Prompts that are not over.
    static let prompts = HolderLimits(ofPeer: 16, ofProcess: 32, ofProgram: 128, total: 512)
    /// What prompts keep of the objects that they are about, in bytes. 4,096 items are about 800 KiB.
    static let promptBytes = HolderLimits(ofProcess: 1 << 20, ofProgram: 2 << 20, total: 8 << 20)
    /// Collections that the store holds, and those that one program makes while the service runs.
    static let collectionCount = 64
    static let collectionsMade = HolderLimits(ofProgram: 16)
    /// Further names of a collection. They stand among the attributes of its row, of which the daemon takes 64.
    static let aliasCount = 16
    /// Items of the collection `session`, and their secrets together, which lie in locked memory.
    static let memoryItems = HolderLimits(ofProgram: 256, total: 1024)
    static let memoryBytes = HolderLimits(ofProgram: 512 << 10, total: 2 << 20)
    /// Items that were locked one by one.
    static let lockedItems = HolderLimits(ofProgram: 1024, total: 4096)

    // MARK: sizes

    /// Attributes of one item or search. A request to the daemon has 64, and eight of these are the service's own.
    static let attributeCount = 56
    /// Attributes of one item together, with the label: the daemon takes 64 KiB with what the service adds.
    static let attributeByteCount = 60 * 1024
    /// A name for a type of data, in UTF-8.
    static let contentTypeByteCount = 256
    /// All secrets of one answer. They lie in locked memory until it is sent.
    static let answerByteCount = 4 << 20
    /// All secrets of answers that are not sent yet.
    static let answerBytes = HolderLimits(ofProcess: 4 << 20, ofProgram: 4 << 20, total: 16 << 20)
    /// Items of a collection that a signal names. With more it says only that there are others.
    static let announcedItemCount = 1024
    /// Changes of this service's own that were not heard of from the daemon yet.
    static let ownChangeCount = 1024
}

/// How many clients and connections the descriptors of this process bear. A client costs two, of its process and its terminal, and a
/// connection one, where the bus tells its process.
struct DescriptorShare: Equatable, Sendable {
    /// Processes that use the service at once.
    let clients: HolderLimits
    /// Their connections.
    let peers: HolderLimits

    /// The rest is for connections to the bus and the daemon, and for those that come with a message, at most 253: sd-bus ends a connection
    /// if there is no number for one.
    private static let reserve = 384
    private static let clientsAtMost = 1024
    /// A desktop has some dozens of programs, but a script may start very many processes of one.
    private static let clientsOfProgram = 256

    init(descriptorCount: Int) {
        let count = min(Self.clientsAtMost, max(1, (descriptorCount - Self.reserve) / 2))
        clients = HolderLimits(ofProgram: min(Self.clientsOfProgram, count), total: count)
        let ofProgram = clients.ofProgram * 5 / 4
        peers = HolderLimits(ofProcess: 64, ofProgram: ofProgram, total: count * 5 / 4)
    }

    /// What this process may have now.
    static func ofThisProcess() -> DescriptorShare {
        var limit = rlimit()
        let isKnown = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        return DescriptorShare(descriptorCount: isKnown ? Int(clamping: limit.rlim_cur) : 0)
    }

    /// Asks the system for as many descriptors as the service wants. Where it gives fewer, the service bears fewer programs.
    static func raise() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, rlim_t(ServiceLimits.descriptorCount))
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        _ = unsafe setrlimit(resource, &limit)
    }
}
