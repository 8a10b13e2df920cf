public import Foundation

// A user's own store on its way into the machine's. Since protocol 9.

/// One part of the store, as `ostiaryd --export-store` writes it (`Documentation/formats/migration.md`); its secret is the tail. Answered by
/// ``WireDone``, the last part by ``WireImportOutcome``.
public struct WireImportStoreRequest: WireMessage, FieldList {
    /// The kind that asks whether the machine's store still has a copy. The head is its ``WireImportOutcome/copy``. Answered by
    /// ``WireDone``, or refused with the cause `migrate.other-copy`.
    public static let lookForCopy: UInt32 = 5

    /// 1 the beginning, 2 a registration, 3 an item, 4 the end; ``lookForCopy``.
    public var kind: UInt32 = 0
    public var head = Data()
    /// For the beginning, which asks the owner.
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&kind)
        coder.field(&head)
        coder.field(&question)
    }
}

public struct WireImportOutcome: WireMessage, FieldList {
    public var items: UInt32 = 0
    public var registrations: UInt32 = 0
    /// Items whose rule cannot be kept in the machine's store.
    public var leftItems: UInt32 = 0
    /// The id of the user's part of the machine's store, which this copy made (16 bytes).
    public var copy = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&items)
        coder.field(&registrations)
        coder.field(&leftItems)
        coder.field(&copy)
    }
}
