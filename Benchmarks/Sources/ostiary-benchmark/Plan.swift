import ArgumentParser

/// What is measured.
enum Stage: String, ExpressibleByArgument, CaseIterable {
    /// Signatures, items, starts, memory.
    case calls
    /// The sheet, fingers, and the idle daemon.
    case desktop
}

/// How much is measured.
struct Plan: Codable, Equatable {
    /// Alternations of all rows: what disturbs the machine for a moment then disturbs all of them.
    let blocks: Int
    /// Calls of a row in one block.
    let calls: Int
    /// Starts of the daemon.
    let starts: Int
    /// Questions in a sheet, for the passcode and for a finger, and sign-ins.
    let sheets: Int
    /// How long the idle daemon is watched.
    let idleSeconds: Int
    /// Rights that are stored in the stage of many rights.
    var storedRights = 1000
    /// Items that are stored in the stage of many items.
    var storedItems = 100_000
    /// Items that are added in a row.
    var addedItems = 10_000
    /// Clients of the stage of many clients.
    var clients = 32
    /// Rights of the program that lists them without a pause.
    var busyRights = 10_000
    /// Connections on which it does.
    var busyConnections = 48
    /// Users who are connected to the machine's daemon and ask for nothing.
    var idleUsers = 50
    /// Items of a keyring in which items are made, in the middle of the rows.
    var keyringItems = 1000
    /// Items of a keyring with few.
    var fewItems = 10
    /// Items of a keyring with many.
    var manyItems = 10_000

    static let full = Plan(blocks: 20, calls: 500, starts: 15, sheets: 30, idleSeconds: 60)
    static let quick = Plan(
        blocks: 5, calls: 100, starts: 3, sheets: 5, idleSeconds: 10, storedItems: 10_000, addedItems: 500,
        busyRights: 1000, keyringItems: 200, manyItems: 1000)

    /// The same plan for rows that take a hundred times as long.
    var ofSlowRows: Plan {
        Plan(blocks: blocks, calls: max(calls / 20, 5), starts: starts, sheets: sheets, idleSeconds: idleSeconds)
    }

    /// Calls of one row, with those that warm up.
    var callsOfRow: Int { calls * (blocks + 1) }

    /// Calls in one block of the stage of many clients, over all of them.
    var sharedCalls: Int { max(calls * 4 / clients, 1) * clients }
}
