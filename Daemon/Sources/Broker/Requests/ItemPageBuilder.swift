import Auditing
import Authenticators
import Foundation
import OstiaryMessages
import ProtectedObjects
import SecretMemory
import Sessions
import Vault

/// Collects the items of one answer and their data, which becomes the frame's tail.
struct ItemPageBuilder: ~Copyable {
    private var page = WireItemPage()
    /// Items under a rule that are handed over, each with the proof that opened it.
    private(set) var proved: [(item: ReleasedItem, proof: Evaluation)] = []
    /// The same, each with the lease.
    private(set) var leased: [(item: ReleasedItem, held: LeaseTable.Held)] = []
    private var free: [ReleasedItem] = []
    private var data: [ItemData] = []

    var isEmpty: Bool { page.items.isEmpty }
    var count: Int { page.items.count }

    /// The items without a rule whose data is handed over, as the log calls them; nil when there are none.
    var releasedFreely: ReleasedItem? {
        switch free.count {
        case 0: nil
        case 1: free[0]
        default: ReleasedItem(logName: "\(free.count) items")
        }
    }

    /// - Parameters:
    ///   - attributes: nil when they are not to be shown.
    ///   - strength: the label of the weakest way to open the item; nil when it and the rule are not to be shown.
    ///   - proof: nil for an item that asks for nothing, or that a lease opened.
    ///   - held: the lease; nil for none.
    ///   - special: as the log calls it, if not as other items.
    mutating func add(
        _ record: ItemRecord, _ attributes: ItemAttributes?, strength: String?,
        data: consuming SecretBytes? = nil, by proof: Evaluation? = nil, under held: LeaseTable.Held? = nil,
        as special: ReleasedItem? = nil
    ) {
        let released = { special ?? ReleasedItem(logName: record.logName) }
        if let proof { proved.append((released(), proof)) }
        if let held { leased.append((released(), held)) }
        var item = Self.show(record, attributes, strength: strength)
        if let data = data.take() {
            if proof == nil, held == nil { free.append(released()) }
            item.dataByteCount = UInt32(data.count)
            self.data.append(ItemData(data))
        }
        page.items.append(item)
    }

    /// Adds an item of which nothing is released. Rule and strength lie open in the store, so that they are shown of locked items
    /// too.
    ///
    /// - Parameter attributes: nil for a locked item, and when they are not to be shown.
    mutating func list(
        _ record: ItemRecord, _ lock: WireItemLock, _ attributes: ItemAttributes?, strength: String?
    ) {
        var item = Self.show(record, attributes, strength: strength)
        item.lock = lock
        page.items.append(item)
    }

    private static func show(_ record: ItemRecord, _ attributes: ItemAttributes?, strength: String?) -> WireItem {
        .with {
            $0.itemID = record.id.bytes
            $0.itemClass = record.itemClass.name
            $0.hasData_p = record.payload != nil
            $0.keyID = record.keyID?.bytes ?? Data()
            if let attributes {
                $0.attributes = attributes.wire
                $0.shownAccessControl = attributes.shownAccessControl
            }
            if let strength {
                $0.accessControl = record.accessControl
                $0.strength = strength
            }
        }
    }

    consuming func reply(next: UInt64) -> Reply {
        page.next = next
        return Reply(.items(page), tail: tail)
    }

    /// All data, in one piece of memory that is allocated once.
    private var tail: SecretBytes {
        var tail = SecretBytes(zeroed: data.reduce(0) { $0 + $1.bytes.count })
        var offset = 0
        for item in data {
            unsafe tail.withUnsafeMutableBytes { whole in
                unsafe item.bytes.withUnsafeBytes { part in
                    let place = unsafe UnsafeMutableRawBufferPointer(rebasing: whole[offset..<offset + part.count])
                    unsafe place.copyMemory(from: part)
                }
            }
            offset += item.bytes.count
        }
        return tail
    }
}

/// An item that is handed over, as the log calls it.
struct ReleasedItem {
    let logName: String
    /// For the private half of an SSH key, what the door says that it signs: the daemon does not see the bytes.
    var claimedUse: String?
}

/// `SecretBytes` in a class, so that an array can hold it.
private final class ItemData: Sendable {
    let bytes: SecretBytes
    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}
