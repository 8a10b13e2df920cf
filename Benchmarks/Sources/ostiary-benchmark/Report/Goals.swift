extension Goal {
    /// The goals over `figures`; see Documentation/benchmarks.md. If only some rows were measured, without the goals
    /// that need others.
    static func all(_ figures: Figures, isPartial: Bool) -> [Goal] {
        let goals = all(figures)
        return isPartial ? goals.filter { !$0.value.isNaN } : goals
    }

    private static func all(_ figures: Figures) -> [Goal] {
        // A comparison with NaN is never met.
        func median(_ name: FigureName) -> Double { figures[name]?.median ?? .nan }
        let parts = median(.roundTrip) + median(.bareSignature)
        let partsManyRights = median(.roundTripManyRights) + median(.bareSignatureManyRights)
        let findAbove = median(.findItem) - median(.roundTripItems)
        return [
            Goal(
                name: "signature / (round trip + bare signature)", value: median(.authorizedSignature) / parts,
                bound: .atMost, limit: 1.5),
            Goal(
                name: "the same with many rights stored",
                value: median(.authorizedSignatureManyRights) / partsManyRights, bound: .atMost, limit: 1.5),
            Goal(
                name: "ssh-agent / signature", value: median(.agentSignature) / median(.authorizedSignature),
                bound: .atLeast, limit: 6),
            Goal(
                name: "throughput, many clients / one client",
                value: median(.throughputManyClients) / median(.throughputOneClient), bound: .atLeast, limit: 1),
            Goal(
                name: "enclave key signature / right's signature",
                value: median(.keySignature) / median(.authorizedSignature), bound: .atMost, limit: 1.1),
            Goal(name: "find an item, us above the round trip", value: findAbove, bound: .atMost, limit: 60),
            Goal(
                name: "the same with many items / with few",
                value: (median(.findItemManyItems) - median(.roundTripManyItems)) / findAbove, bound: .atMost,
                limit: 1.5),
            Goal(
                name: "secret service / find an item", value: median(.secretServiceFind) / median(.findItem),
                bound: .atLeast, limit: 5),
            Goal(
                name: "add an item / bare commit", value: median(.addItem) / median(.bareCommit), bound: .atMost,
                limit: 2),
            Goal(
                name: "rate of adding, last / first tenth", value: median(.addRateLast) / median(.addRateFirst),
                bound: .atLeast, limit: 0.8),
            Goal(
                name: "idle daemon, resident MB", value: max(median(.idleMemory), median(.idleMemoryAfterRun)),
                bound: .atMost, limit: 40),
            Goal(name: "sheet on the screen, ms", value: median(.sheetVisible), bound: .atMost, limit: 300),
            Goal(
                name: "from a finger's match to the reply, ms", value: median(.fingerMatchToReply), bound: .atMost,
                limit: 5),
            Goal(name: "idle daemon, context switches", value: median(.idleWakeups), bound: .atMost, limit: 0),
        ]
    }
}
