import Foundation

/// The stages of keychain items.
extension Subject {
    /// Finding one item among few and among many, beside the floor and the desktop's own service.
    func measureFinding() async throws -> Figures {
        DaemonFolders(path: itemsFolder).useForKeychain()
        let (item, other) = (KeychainItem(), SecretServiceItem())
        try item.add()
        try other.add()
        let floor = try EchoClient(connectingTo: echoSocket)
        var figures = try await Blocks(plan: plan).measure([
            Row(.roundTripItems) { try floor.roundTrip() },
            Row(.findItem) { try item.find() },
            Row(.secretServiceFind) { try other.find() },
        ])
        for number in 1..<plan.storedItems { try KeychainItem(account: "account \(number)").add() }
        figures.merge(
            try await Blocks(plan: plan).measure([
                Row(.roundTripManyItems) { try floor.roundTrip() },
                Row(.findItemManyItems) { try item.find() },
            ])
        ) { $1 }
        let busy = try RunningBusyProgram(asking: DaemonFolders(path: itemsFolder), plan: plan, copiedTo: folder)
        figures.merge(try await Blocks(plan: plan).measure([Row(.findItemBesideBusy) { try item.find() }])) { $1 }
        try busy.end()
        return figures
    }

    /// Adding, each durable when it returns, beside SQLite alone; then many in a row.
    func measureAdding() async throws -> Figures {
        DaemonFolders(path: addingFolder).useForKeychain()
        let database = try BareDatabase(in: addingFolder)
        var number = 0
        func add() throws {
            number += 1
            try KeychainItem(account: "added \(number)").add()
        }
        let adding = Plan(blocks: plan.blocks, calls: plan.calls / 20, starts: 0, sheets: 0, idleSeconds: 0)
        var figures = try await Blocks(plan: adding).measure([
            Row(.bareCommit) { try database.commit() }, Row(.addItem) { try add() },
        ])
        let rates = try (0..<10).map { _ in
            let begin = MonotonicClock.now()
            for _ in 0..<plan.addedItems / 10 { try add() }
            return Double(plan.addedItems / 10) / (Double(MonotonicClock.now() - begin) / 1e9)
        }
        figures[.addRateFirst] = Figure([rates[0]], unit: .perSecond)
        figures[.addRateLast] = Figure([rates[9]], unit: .perSecond)
        return figures
    }
}
