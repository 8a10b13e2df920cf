@_implementationOnly import CLinuxShims
import Synchronization

/// Memory for one secret. Small ones are cells of a shared slab, because a plain user may lock only 8 MiB and a mapping of
/// its own costs a page and 10 µs; large ones have a mapping of their own.
struct SecretCell: @unchecked Sendable {
    // SAFETY: (@unchecked) a cell is handed to one SecretBytes at a time.
    let address: UnsafeMutableRawPointer
    let capacity: Int
    let isMapping: Bool
    /// One of those that are kept aside for passcodes.
    var isKeptAside = false
}

/// Hands out wiped cells and takes them back.
enum SecretCells {
    /// Sizes of the cells that slabs are cut into; most secrets are 32-byte keys.
    private static let classes = [64, 256, 1024, 4096]
    private static let slabSize = 64 * 1024

    private struct FreeLists: @unchecked Sendable {
        // SAFETY: (@unchecked) only touched under the lock below.
        var cells: [[UnsafeMutableRawPointer]] = [[], [], [], []]
        var areLocked = true
        /// Kept aside for passcodes, likewise.
        var kept: [[UnsafeMutableRawPointer]] = [[], [], [], []]
        var areKeptLocked: Bool?
    }

    private static let free = Mutex(FreeLists())

    /// The cell of every secret without bytes; its address is never read or written.
    private static let empty = SecretCell(
        address: UnsafeMutableRawPointer(bitPattern: classes[0])!, capacity: 0, isMapping: false)

    /// False after the system refused to lock a page. Such a page stays in ordinary memory, and is still wiped.
    static var areLocked: Bool { free.withLock { $0.areLocked } }

    /// Whether the cells that are kept aside are locked; nil while none are.
    static var areKeptLocked: Bool? { free.withLock { $0.areKeptLocked } }

    /// How many cells of each class are kept aside: a typed passcode has at most 1,024 bytes, is read into a cell of 4,096
    /// and copied a few times while it is checked. Together they are as large as a slab.
    private static let keptCounts = [128, 64, 24, 4]

    /// Maps the cells that are kept aside, unless that was done.
    static func keepAside() {
        free.withLock { free in
            guard free.areKeptLocked == nil else { return }
            var areLocked = true
            var address = mapPages(slabSize, noting: &areLocked)
            for index in classes.indices.reversed() {
                for _ in 0..<keptCounts[index] {
                    free.kept[index].append(address)
                    address += classes[index]
                }
            }
            free.areKeptLocked = areLocked
            if !areLocked { free.areLocked = false }
        }
    }

    /// - Parameter isPasscode: whether it may take a cell that is kept aside; without a free one it takes another one.
    static func allocate(atLeast count: Int, isPasscode: Bool = false) -> SecretCell {
        guard count > 0 else { return empty }
        guard let index = classes.firstIndex(where: { $0 >= count }) else { return map(count) }
        return free.withLock { free in
            if isPasscode, let address = free.kept[index].popLast() {
                return SecretCell(address: address, capacity: classes[index], isMapping: false, isKeptAside: true)
            }
            if free.cells[index].isEmpty { addSlab(of: index, to: &free) }
            return SecretCell(address: free.cells[index].removeLast(), capacity: classes[index], isMapping: false)
        }
    }

    static func release(_ cell: SecretCell) {
        if cell.isMapping {
            ostiary_unmap_secret_pages(cell.address, cell.capacity)
            return
        }
        guard cell.capacity > 0 else { return }
        ostiary_wipe(cell.address, cell.capacity)
        let index = classes.firstIndex(of: cell.capacity)!
        free.withLock { free in
            if cell.isKeptAside {
                free.kept[index].append(cell.address)
            } else {
                free.cells[index].append(cell.address)
            }
        }
    }

    private static func addSlab(of index: Int, to free: inout FreeLists) {
        let slab = mapPages(slabSize, noting: &free.areLocked)
        for offset in stride(from: 0, to: slabSize, by: classes[index]) {
            free.cells[index].append(slab + offset)
        }
    }

    private static func map(_ count: Int) -> SecretCell {
        let page = 4096
        let size = (count + page - 1) / page * page
        let address = free.withLock { mapPages(size, noting: &$0.areLocked) }
        return SecretCell(address: address, capacity: size, isMapping: true)
    }

    private static func mapPages(_ size: Int, noting areLocked: inout Bool) -> UnsafeMutableRawPointer {
        var locked: Int32 = 0
        guard let address = ostiary_map_secret_pages(size, &locked) else {
            // Ends the process, as every failed allocation of Swift does: there is no memory for the secret, and
            // ordinary memory has run out too. Nobody outside chooses the size. Bytes from a frame were checked against
            // the frame's limits before. A plaintext is no longer than the ciphertext that the program itself holds in
            // memory.
            fatalError("out of memory for secrets")
        }
        if locked == 0 { areLocked = false }
        return address
    }
}

/// The state of the memory protection of this process's secrets.
public enum SecretMemoryStatus {
    /// Whether every page of secrets so far could be locked in memory (RLIMIT_MEMLOCK).
    public static var isLocked: Bool { SecretCells.areLocked }

    /// Keeps some locked memory aside that only passcodes may take (``SecretBytes/init(zeroedForPasscode:)``), so that other
    /// secrets cannot use up what the system lets this process lock. Call it before there are others.
    public static func keepAsideForPasscodes() { SecretCells.keepAside() }

    /// Whether the memory that is kept aside for passcodes could be locked; false while none is.
    public static var arePasscodesLocked: Bool { SecretCells.areKeptLocked ?? false }
}
