@_implementationOnly import CLinuxShims
import Synchronization

/// Memory for one secret. Small ones are cells of a shared slab, because a plain user may lock only 8 MiB and a mapping of
/// its own costs a page and 10 µs; large ones have a mapping of their own.
struct SecretCell: @unchecked Sendable {
    // SAFETY: (@unchecked) a cell is handed to one SecretBytes at a time.
    let address: UnsafeMutableRawPointer
    let capacity: Int
    let isMapping: Bool
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
    }

    private static let free = Mutex(FreeLists())

    /// The cell of every secret without bytes; its address is never read or written.
    private static let empty = SecretCell(
        address: UnsafeMutableRawPointer(bitPattern: classes[0])!, capacity: 0, isMapping: false)

    /// False after the system refused to lock a page. Such a page stays in ordinary memory, and is still wiped.
    static var areLocked: Bool { free.withLock { $0.areLocked } }

    static func allocate(atLeast count: Int) -> SecretCell {
        guard count > 0 else { return empty }
        guard let index = classes.firstIndex(where: { $0 >= count }) else { return map(count) }
        return free.withLock { free in
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
        free.withLock { $0.cells[index].append(cell.address) }
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
}
