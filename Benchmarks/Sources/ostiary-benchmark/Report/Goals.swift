extension Goal {
    /// The goals over the figures of the pinned pass and of the free one; see Documentation/benchmarks.md. If only some rows were
    /// measured, without the goals that need others.
    static func all(_ figures: Figures, free: Figures, isPartial: Bool) -> [Goal] {
        let goals = pinned(figures) + self.free(free)
        return isPartial ? goals.filter { !$0.value.isNaN } : goals
    }

    /// The goals of system mode. The passes have nothing else.
    static func system(_ figures: Figures) -> [Goal] {
        func median(_ name: FigureName) -> Double { figures[name]?.median ?? .nan }
        return [
            Goal(
                name: "signature, system mode / user mode",
                value: median(.systemModeSignature) / median(.userModeSignature), bound: .atMost, limit: 1.15),
            Goal(
                name: "sudo, from a finger's match to the answer, ms", value: median(.sudoFinger), bound: .atMost,
                limit: 300),
            Goal(
                name: "idle daemon of many users, resident MB", value: median(.manyUsersMemory), bound: .atMost,
                limit: 80),
            Goal(
                name: "the same, context switches for users", value: median(.manyUsersWakeups), bound: .atMost, limit: 0
            ),
        ]
    }

    /// The goals of doors. The passes have nothing else.
    static func doors(_ figures: Figures) -> [Goal] { doorKeys(figures) + keyrings(figures) + otherDoors(figures) }

    private static func doorKeys(_ figures: Figures) -> [Goal] {
        func median(_ name: FigureName) -> Double { figures[name]?.median ?? .nan }
        return [
            Goal(
                name: "signature through the agent / enclave key",
                value: median(.doorSignature) / median(.keySignature),
                bound: .atMost, limit: 2),
            Goal(
                name: "ssh-agent / signature through the agent",
                value: median(.agentSignature) / median(.doorSignature),
                bound: .atLeast, limit: 4),
            Goal(
                name: "C_Sign / enclave key", value: median(.tokenSignature) / median(.keySignature), bound: .atMost,
                limit: 2),
            Goal(
                name: "p11-kit's remoting / C_Sign", value: median(.remotingSignature) / median(.tokenSignature),
                bound: .atLeast, limit: 3),
            Goal(
                name: "question gone after its client, p99, ms",
                value: figures[.doorQuestionEnd]?.p99 ?? .nan, bound: .atMost, limit: 200),
        ]
    }

    private static func keyrings(_ figures: Figures) -> [Goal] {
        func median(_ name: FigureName) -> Double { figures[name]?.median ?? .nan }
        return [
            Goal(
                name: "GetSecret / (echo + find item)",
                value: median(.getSecret) / (median(.busEcho) + median(.findFreeItem)), bound: .atMost, limit: 1.3),
            Goal(
                name: "gnome-keyring / GetSecret", value: median(.keyringGet) / median(.getSecret), bound: .atLeast,
                limit: 4),
            Goal(
                name: "SearchItems, many items / few", value: median(.searchMany) / median(.searchFew), bound: .atMost,
                limit: 1.5),
            Goal(
                name: "CreateItem / (echo + add item)",
                value: median(.createItem) / (median(.busEchoCreate) + median(.addFreeItem)), bound: .atMost, limit: 1.5
            ),
            Goal(
                name: "gnome-keyring / CreateItem", value: median(.keyringCreate) / median(.createItem),
                bound: .atLeast, limit: 20),
            Goal(
                name: "question gone after Dismiss, p99, ms",
                value: figures[.dismissedQuestionEnd]?.p99 ?? .nan, bound: .atMost, limit: 200),
        ]
    }

    private static func otherDoors(_ figures: Figures) -> [Goal] {
        func median(_ name: FigureName) -> Double { figures[name]?.median ?? .nan }
        return [
            Goal(
                name: "git-credential: ostiary / libsecret",
                value: median(.gitCredential) / median(.libsecretCredential), bound: .atMost, limit: 0.7),
            Goal(
                name: "docker-credential: ostiary / secretservice",
                value: median(.dockerCredential) / median(.secretServiceDocker), bound: .atMost, limit: 0.7),
            Goal(
                name: "idle door, resident MB", value: figures[.idleDoorMemory]?.p99 ?? .nan, bound: .atMost, limit: 12),
            Goal(
                name: "idle door, context switches", value: figures[.idleDoorWakeups]?.p99 ?? .nan, bound: .atMost,
                limit: 0),
        ]
    }

    /// Goals that need both processors: several clients at once, and another program that is busy itself.
    private static func free(_ figures: Figures) -> [Goal] {
        func median(_ name: FigureName) -> Double { figures[name]?.median ?? .nan }
        return [
            Goal(
                name: "free: throughput, many clients / one client",
                value: median(.throughputManyClients) / median(.throughputOneClient), bound: .atLeast, limit: 1.8),
            Goal(
                name: "free: find beside a busy program, p99, ms",
                value: (figures[.findItemBesideBusy]?.p99 ?? .nan) / 1000, bound: .atMost, limit: 5),
        ]
    }

    private static func pinned(_ figures: Figures) -> [Goal] {
        // A comparison with NaN is never met.
        func median(_ name: FigureName) -> Double { figures[name]?.median ?? .nan }
        let parts = median(.roundTrip) + median(.bareSignature)
        let partsManyRights = median(.roundTripManyRights) + median(.bareSignatureManyRights)
        let findAbove = median(.findItem) - median(.roundTripItems)
        return [
            Goal(
                name: "signature / (round trip + bare signature)", value: median(.authorizedSignature) / parts,
                bound: .atMost, limit: 1.3),
            Goal(
                name: "the same with many rights stored",
                value: median(.authorizedSignatureManyRights) / partsManyRights, bound: .atMost, limit: 1.3),
            Goal(
                name: "ssh-agent / signature", value: median(.agentSignature) / median(.authorizedSignature),
                bound: .atLeast, limit: 6),
            Goal(
                name: "throughput, many clients / one client",
                value: median(.throughputManyClients) / median(.throughputOneClient), bound: .atLeast, limit: 1),
            Goal(
                name: "enclave key signature / right's signature",
                value: median(.keySignature) / median(.authorizedSignature), bound: .atMost, limit: 1.1),
            Goal(name: "find an item, us above the round trip", value: findAbove, bound: .atMost, limit: 40),
            Goal(
                name: "the same with many items / with few",
                value: (median(.findItemManyItems) - median(.roundTripManyItems)) / findAbove, bound: .atMost,
                limit: 1.5),
            Goal(name: "first find after a start, ms", value: median(.firstFind), bound: .atMost, limit: 300),
            Goal(name: "doctor, ms", value: median(.doctor), bound: .atMost, limit: 5000),
            Goal(name: "verification of the log, ms", value: median(.logVerification), bound: .atMost, limit: 3000),
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
