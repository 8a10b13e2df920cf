/// One thing that is measured.
struct Row {
    enum Call {
        case blocking(() throws -> Void)
        case suspending(() async throws -> Void)
    }

    let name: FigureName
    let call: Call

    init(_ name: FigureName, _ call: @escaping () throws -> Void) {
        self.name = name
        self.call = .blocking(call)
    }

    init(suspending name: FigureName, _ call: @escaping () async throws -> Void) {
        self.name = name
        self.call = .suspending(call)
    }

    fileprivate func run(_ count: Int, into samples: inout Samples) async throws {
        switch call {
        case .blocking(let call): try Self.run(count, call, into: &samples)
        case .suspending(let call): for _ in 0..<count { try await samples.time(call) }
        }
    }

    private static func run(_ count: Int, _ call: () throws -> Void, into samples: inout Samples) throws {
        for _ in 0..<count { try samples.time(call) }
    }
}

/// Measures rows in turn, block by block: A B C A B C …
struct Blocks {
    let plan: Plan

    func measure(_ rows: [Row]) async throws -> Figures {
        var samples: [Samples] = []
        for row in rows {
            var warmUp = Samples()
            try await row.run(plan.calls, into: &warmUp)
            samples.append(Samples())
        }
        for _ in 0..<plan.blocks {
            for index in rows.indices { try await rows[index].run(plan.calls, into: &samples[index]) }
        }
        return Dictionary(uniqueKeysWithValues: zip(rows, samples).map { ($0.name, $1.figure(.microseconds)) })
    }
}
